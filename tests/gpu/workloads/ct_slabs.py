# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small U-Net marks tumours in scans of the chest (CT): a scan lies on the host, goes to the GPU in slabs of sixteen
pictures, and how likely each point is a tumour comes back to the host, where doctors may look at it.

Wrong: the scan is in pageable memory, and .cpu() takes the chances to new pageable memory; both copies take several times as
long as the network, and nothing else goes on meanwhile.
fix: scans lie in pinned memory, and the chances come to places in pinned memory; they are still waited for (copy-bound).
fix2: half precision is copied, in memory of the same kind: half the bytes there, and half of them back (copy-bound).
fix3: the chances of a slab are fetched on a stream of their own, and only when the next slab's network runs (copy-bound).
useless: the network, with all that is around it, is one CUDA graph.
"""
import fixable

SLABS, SCANS = 6, 2

run = fixable.Program(__doc__, steps=300, warm_up=SCANS * SLABS, multiple=SCANS * SLABS)
torch = fixable.load_torch()
nn = torch.nn
F = torch.nn.functional

SIDE, DEEP, WIDTH, AIR = 512, 16, 16, -1000.0


class Block(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.down = Block(1, WIDTH), Block(WIDTH, 2 * WIDTH)
        self.deep, self.up = Block(2 * WIDTH, 2 * WIDTH), Block(3 * WIDTH, WIDTH)
        self.last = nn.Conv2d(WIDTH, 1, 1)

    def forward(self, x):
        fine = self.first(x)
        coarse = self.deep(self.down(F.max_pool2d(fine, 2)))
        return self.last(self.up(torch.cat((fine, F.interpolate(coarse, scale_factor=2.0)), dim=1)))


def scans():
    """Round bodies with some denser places, in the scanner's unit, as slabs (DEEP, SIDE, SIDE)."""
    y, x = torch.meshgrid(torch.linspace(-1.0, 1.0, SIDE), torch.linspace(-1.0, 1.0, SIDE), indexing="ij")
    body = torch.where(x * x + 1.6 * y * y < 0.8, 40.0, AIR)
    for _ in range(SCANS):
        slabs = []
        for _ in range(SLABS):
            at = torch.rand(3, 2) - 0.5
            lumps = sum(torch.exp(-80.0 * ((x - a) ** 2 + (y - b) ** 2)) for a, b in at.tolist())
            slabs.append(body + 200.0 * lumps + 30.0 * torch.randn(DEEP, SIDE, SIDE))
        yield slabs


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = UNet().cuda().half().eval().to(memory_format=torch.channels_last)
    stored = list(scans())
    if variant == "fix":
        stored = [[slab.pin_memory() for slab in slabs] for slabs in stored]
    elif variant == "fix2":
        stored = [[slab.half() for slab in slabs] for slabs in stored]
    landing = torch.empty(SLABS, DEEP, SIDE, SIDE, pin_memory=True) if variant == "fix" else None
    turn, shown, volumes = [0], [None] * SLABS, [0.0]  # doctors look at what is shown
    stream, before = torch.cuda.Stream(), []

    def likely(slab):
        there = (slab.float().clamp(AIR, 400.0) / 500.0).unsqueeze(1)
        chance = torch.sigmoid(model(there.half()).squeeze(1).float())
        return (chance.half() if variant == "fix2" else chance), chance.mean()

    if variant == "useless":
        place = stored[0][0].cuda()
        graph, marked = fixable.capture(torch, lambda: likely(place))

    def fetched(chance, number):
        if variant == "fix":
            return landing[number].copy_(chance)
        return chance.cpu()  # cause: copy

    def fetch_on_the_side():
        """What was marked in the slab before, while the GPU has this one's network to run."""
        if before:
            number, chance, made = before.pop()
            stream.wait_event(made)
            with torch.cuda.stream(stream):
                shown[number] = chance.cpu()

    @torch.no_grad()
    def step():
        number = turn[0] % SLABS
        slab = stored[turn[0] // SLABS % SCANS][number]
        turn[0] += 1
        if variant == "useless":
            place.copy_(slab)
            graph.replay()
            chance, share = marked
        else:
            chance, share = likely(slab.to("cuda", non_blocking=variant == "fix"))  # cause: copy
        if variant == "fix3":
            fetch_on_the_side()
            chance.record_stream(stream)
            before.append((number, chance, torch.cuda.current_stream().record_event()))
        else:
            shown[number] = fetched(chance, number)  # cause: copy
        if number == SLABS - 1:
            volumes[0] = share.item()

    def wait():
        fetch_on_the_side()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: volumes + fixable.sample_of(torch, shown[0][0, SIDE // 2, :64]))


run.main(make)
