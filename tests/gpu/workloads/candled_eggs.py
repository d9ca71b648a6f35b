# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: a hatchery holds eggs before a lamp on the tenth day, and a camera sees which live: 192 eggs a step, each as
it is and mirrored. A vision transformer makes 384 numbers of a picture, and the egg is of the kind whose mean, from eggs that
were opened, is nearest: alive, dead early, dead late, or clear. The pictures of a day lie on the GPU.

Wrong: nothing; the GPU is busy with large products of matrices in bfloat16 (gpu-bound).
fix: a step is one CUDA graph (launch-bound); gains little.
useless: the shares of the kinds, at which one looks every 20 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
torch, timm = fixable.load_torch("timm")

EGGS, SIZE, TRAYS, KINDS, LOOK, STRICT = 192, 224, 4, 4, 20, 5.0


def eggs(count, kind):
    """Pictures of eggs (count, 3, SIZE, SIZE) of kinds: a bright shape, with a dark spot of another size and place for each."""
    line = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    down, right = line[:, None], line[None, :]
    wide = 0.55 + 0.08 * torch.rand(count, 1, 1, device="cuda")
    shape = torch.sigmoid(20.0 * (1.0 - (down / 0.8) ** 2 - (right / wide) ** 2))
    size = torch.tensor([0.35, 0.12, 0.55, 0.0], device="cuda")[kind][:, None, None] + 1e-3
    at = 0.4 * torch.rand(2, count, 1, 1, device="cuda") - 0.2
    spot = torch.exp(-((down - at[0]) ** 2 + (right - at[1]) ** 2) / (size * size))
    light = shape * (1.0 - 0.8 * spot) + 0.05 * torch.randn(count, SIZE, SIZE, device="cuda")
    colors = torch.tensor([1.0, 0.6, 0.35], device="cuda")[:, None, None]
    return (255.0 * light[:, None] * colors).clamp(0.0, 255.0).to(torch.uint8)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = timm.create_model("vit_small_patch16_224", pretrained=False, num_classes=0).cuda().eval().bfloat16()
    opened = torch.arange(KINDS, device="cuda").repeat_interleave(EGGS // KINDS)
    known = eggs(EGGS, opened)
    trays = [eggs(EGGS, torch.randint(KINDS, (EGGS,), device="cuda")) for _ in range(TRAYS)]
    tray = torch.zeros_like(known)
    shares = torch.full((KINDS + 1,), 0.25, device="cuda")  # of the kinds, and how sure the best one is
    landing = torch.empty(KINDS + 1, pin_memory=True) if variant == "useless" else None
    turn, usual = [0], [0.0] * (KINDS + 1)

    def described(pictures):
        """What the model says of each picture, from both sides."""
        pictures = pictures.to(torch.bfloat16).div_(127.5).sub_(1.0)
        return model(pictures).float() + model(pictures.flip(3)).float()

    numbers = described(known)
    center = numbers.mean(dim=0)
    means = torch.nn.functional.normalize((numbers - center).view(KINDS, -1, numbers.shape[1]).mean(dim=1), dim=1)

    def judge():
        numbers = torch.nn.functional.normalize(described(tray) - center, dim=1)
        likely = torch.softmax(STRICT * (numbers @ means.t()), dim=1)
        told = torch.cat((likely.mean(dim=0), likely.amax(dim=1).mean().view(1)))
        shares.mul_(0.95).add_(told, alpha=0.05)

    graph = None
    if variant == "fix":
        tray.copy_(known)
        graph, _ = fixable.capture(torch, judge)
        shares.fill_(0.25)

    def look():
        if variant == "useless":
            landing.copy_(shares, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            usual[:] = landing.tolist()
        else:
            usual[:] = shares.tolist()

    @torch.no_grad()
    def step():
        tray.copy_(trays[turn[0] % TRAYS])
        turn[0] += 1
        if graph:
            graph.replay()
        else:
            judge()
        if turn[0] % LOOK == 0:
            look()

    return fixable.Work(step, torch.cuda.synchronize, shares.tolist)


run.main(make)
