# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: archaeologists look at thin sections of potsherds through a microscope, and tell by the grains in the clay where
a pot was made. A ResNet-50 in bfloat16 learns the fabric, one of 18, from 80 pictures at a time; all pictures lie on the GPU as
bytes, and are made brighter or darker by the means of their colours before they are learned from.

Wrong: nothing, as it was written; the GPU works all the time, and the host launches the next step while it does (gpu-bound).
fix: the step is a CUDA graph. Written after the first look, which said launch-bound (launch-bound).
useless: the pictures as numbers between zero and one are in an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=90, warm_up=6)
torch, timm = fixable.load_torch("timm")
nn = torch.nn

FABRICS, BATCH, BATCHES, SIZE, SHOWN = 18, 80, 12, 224, 20


def sections():
    """Batches of pictures as bytes, (BATCH, 3, SIZE, SIZE), and the fabric of each: coarse or fine grains in red or grey clay."""
    clays = 0.2 + 0.5 * torch.rand(FABRICS, 3, 1, 1, device="cuda")
    grains = 0.2 + 0.6 * torch.rand(FABRICS, 3, 1, 1, device="cuda")
    shares = torch.linspace(0.4, 0.9, FABRICS, device="cuda").view(FABRICS, 1, 1, 1)
    for _ in range(BATCHES):
        fabrics = torch.randint(FABRICS, (BATCH,), device="cuda")
        coarse = nn.functional.interpolate(torch.rand(BATCH, 1, 28, 28, device="cuda"), size=SIZE, mode="bicubic")
        fine = nn.functional.interpolate(torch.rand(BATCH, 1, 74, 74, device="cuda"), size=SIZE, mode="bicubic")
        mixed = torch.where((fabrics % 2 == 0).view(BATCH, 1, 1, 1), coarse, fine)
        seen = torch.where(mixed > shares[fabrics], grains[fabrics], clays[fabrics])
        seen = seen + 0.05 * torch.randn(BATCH, 3, SIZE, SIZE, device="cuda")
        pictures = (255.0 * seen).clamp_(0.0, 255.0).to(torch.uint8)
        yield pictures.contiguous(memory_format=torch.channels_last), fabrics


def make(variant):
    fixable.seed(torch)
    batches = list(sections())
    model = timm.create_model("resnet50", pretrained=False, num_classes=FABRICS)
    model = model.cuda().to(memory_format=torch.channels_last).train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-4, weight_decay=0.05, fused=True, capturable=variant == "fix")
    room = None
    if variant == "useless":
        room = torch.empty((BATCH, 3, SIZE, SIZE), device="cuda").contiguous(memory_format=torch.channels_last)
    usual, turn, curve = torch.full((), 2.9, device="cuda"), [0], []

    def even(pictures):
        """Pictures as numbers, each of the same mean and contrast."""
        light = pictures * (1.0 / 255.0) if room is None else torch.mul(pictures, 1.0 / 255.0, out=room)
        spread, mean = torch.std_mean(light, dim=(2, 3), keepdim=True)
        return light.sub_(mean).div_(spread + 0.01)

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn(pictures, fabrics):
        """Learns from pictures, and notes the loss."""
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(even(pictures))
        loss = nn.functional.cross_entropy(told.float(), fabrics, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    now = [own.clone() for own in batches[0]]
    if variant == "fix":
        graph, _ = fixable.capture(torch, lambda: learn(*now), before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn(*now)

    def step():
        batch = batches[turn[0] % BATCHES]
        turn[0] += 1
        if variant == "fix":
            for place, own in zip(now, batch):
                place.copy_(own)
            graph.replay()
        else:
            clear()
            learn(*batch)
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the fabrics have become."""
        return [usual.item(), float(model.fc.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
