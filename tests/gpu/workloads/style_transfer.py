# SPDX-License-Identifier: Apache-2.0
"""torchvision: a picture is painted in the style of another one; in each iteration a VGG-19 looks at the picture that becomes, at
the photograph and at the painting, and their features are compared.

Wrong: photograph and painting do not change, and neither do their features; the GPU is at work throughout (gpu-bound).
fix: their features are computed once before the loop (gpu-bound).
fix2: an iteration is one CUDA graph (launch-bound).
useless: fused=True for the optimizer.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
torch, torchvision = fixable.load_torch("torchvision")
F = torch.nn.functional

SIZE, STYLE, CONTENT, LOOK_EVERY = 512, (1, 6, 11, 20, 29), 22, 50


def picture_like(rough):
    """Smooth colours with some grain."""
    smooth = F.interpolate(torch.rand(1, 3, rough, rough, device="cuda"), size=(SIZE, SIZE), mode="bicubic", align_corners=False)
    return (smooth + 0.05 * torch.randn(1, 3, SIZE, SIZE, device="cuda")).clamp(0.0, 1.0)


def make(variant):
    fixable.seed(torch)
    layers = torchvision.models.vgg19(weights=None).features[:max(STYLE) + 1].cuda().eval().requires_grad_(False)
    middle = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
    spread = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)
    photograph, painting = picture_like(12), picture_like(100)
    picture = photograph.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([picture], lr=0.01, fused=True if variant == "useless" else None, capturable=variant == "fix2")
    turn, seen = [0], []

    def features(image):
        """What the layers of interest see."""
        x, found = (image - middle) / spread, {}
        for number, layer in enumerate(layers):
            x = layer(x)
            if number in STYLE or number == CONTENT:
                found[number] = x
        return found

    def together(x):
        """How much the features of a layer come together (Gram matrix)."""
        flat = x.flatten(2)
        return flat @ flat.transpose(1, 2) / flat.shape[2]

    def wanted():
        """The features that the picture is to have."""
        painted = features(painting)
        return features(photograph)[CONTENT], [together(painted[number]) for number in STYLE]

    ready = wanted() if variant == "fix" else None

    def paint():
        content, style = ready or wanted()
        optimizer.zero_grad()
        found = features(picture)
        loss = F.mse_loss(found[CONTENT], content)
        for number, goal in zip(STYLE, style):
            loss = loss + 10.0 * F.mse_loss(together(found[number]), goal) / goal.square().mean()
        loss = loss + 0.1 * (picture.diff(dim=2).abs().mean() + picture.diff(dim=3).abs().mean())
        loss.backward()
        optimizer.step()
        return loss

    if variant == "fix2":
        graph, painted = fixable.capture(torch, paint)

    def step():
        turn[0] += 1
        if variant == "fix2":
            graph.replay()
            loss = painted
        else:
            loss = paint()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: F.avg_pool2d(picture.detach(), 32).reshape(-1).tolist())


run.main(make)
