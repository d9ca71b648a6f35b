# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm, torchvision: four robots pick parts from bins. A camera over each bin gives a picture in colours and one of
distances; both are made smaller, a ResNet-18 from timm (its first three stages) looks at them, and a small head tells how good a
grip would be at each place; the best place of each bin is written down. Looks were recorded, and are gone through again.

Wrong: the looks lie in ordinary memory; "non_blocking" does not help there, the host waits for each copy, and the GPU has nothing
to do before it.
fix: the looks lie in pinned memory (copy-bound).
fix2: the next look is copied by another stream, behind the launches for this one (copy-bound).
fix3: what is done with a look is one CUDA graph; the copies are as before (launch-bound).
useless: the four channels of a look are put into an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10, settle={"fix2": 8})
torch, timm, vf = fixable.load_torch("timm", "torchvision.transforms.v2.functional")
nn = torch.nn

BINS, LOOKS, HIGH, WIDE, SMALL, EVERY = 4, 8, 1080, 1920, [720, 1280], 25


def recorded():
    """Looks as colours (bytes) and distances (millimetres), on the host: parts that lie in bins, and noise."""
    found = []
    for _ in range(LOOKS):
        coarse = torch.rand(BINS, 4, 27, 48, device="cuda")
        fine = nn.functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)
        colour = (230.0 * fine[:, :3] + 20.0 * torch.rand(BINS, 3, HIGH, WIDE, device="cuda")).to(torch.uint8)
        far = (600.0 + 300.0 * fine[:, 3:] + 5.0 * torch.rand(BINS, 1, HIGH, WIDE, device="cuda")).to(torch.int16)
        found.append((colour.cpu(), far.cpu()))
    return found


class Gripper(nn.Module):
    """How good a grip is at each place, 16 pixels wide."""

    def __init__(self):
        super().__init__()
        self.seen = timm.create_model("resnet18", pretrained=False, features_only=True, in_chans=4, out_indices=(3,))
        self.told = nn.Sequential(nn.Conv2d(256, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 1, 1))

    def forward(self, picture):
        return self.told(self.seen(picture)[0])


def make(variant):
    fixable.seed(torch)
    looks = recorded()
    if variant == "fix":
        looks = [tuple(part.pin_memory() for part in look) for look in looks]
    model = Gripper().cuda().eval().half().to(memory_format=torch.channels_last)
    there = [tuple(torch.empty_like(part, device="cuda") for part in looks[0]) for _ in range(2)]  # fix2 needs two places
    usual, picks = torch.zeros(BINS, device="cuda"), torch.zeros(2, BINS, device="cuda")
    kept = torch.empty(BINS, 4, *SMALL, device="cuda") if variant == "useless" else None
    side, used, turn, told = torch.cuda.Stream(), [torch.cuda.Event(), torch.cuda.Event()], [0], []

    def fill(place, number):
        for own, part in zip(place, looks[number % LOOKS]):
            own.copy_(part, non_blocking=True)  # cause: wait,copy

    @torch.no_grad()
    def grip(colour, far):
        """The best place in each bin, and how good it is."""
        light = vf.resize(colour.float(), SMALL, antialias=True).mul_(1.0 / 255.0).sub_(0.5)
        near = vf.resize(far.float(), SMALL, antialias=True).mul_(-1.0 / 300.0).add_(2.5)
        picture = torch.cat((light, near), 1) if kept is None else torch.cat((light, near), 1, out=kept)
        good = model(picture.to(torch.float16, memory_format=torch.channels_last)).float().flatten(1)
        best, where = good.max(dim=1)
        usual.lerp_(best, 0.05)
        picks[0].copy_(best)
        picks[1].copy_(where)

    if variant == "fix3":
        graph, _ = fixable.capture(torch, lambda: grip(*there[0]))
        usual.zero_()
    if variant == "fix2":
        fill(there[0], 0)

    def filled_before(number):
        """Grips by what was copied in the last step, and copies what is needed in the next one."""
        main, own = torch.cuda.current_stream(), number % 2
        main.wait_stream(side)
        grip(*there[own])
        used[own].record(main)
        side.wait_event(used[1 - own])
        with torch.cuda.stream(side):
            fill(there[1 - own], number + 1)

    def step():
        if variant == "fix2":
            filled_before(turn[0])
        else:
            fill(there[0], turn[0])  # cause: wait,copy
            if variant == "fix3":
                graph.replay()
            else:
                grip(*there[0])
        turn[0] += 1
        if turn[0] % EVERY == 0:
            told[:] = picks[1].tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
