# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: a telescope that looks for supernovae takes a field again and again, and subtracts an older picture.
What is left at 48 places of a field may be a new star or a flaw: three stamps of each place (new, old, difference) are cut out,
brought to one scale by their median and spread, and judged by a ResNet-18. The chances of a night are averaged on the device.

Wrong: stamps are cut and scaled by NumPy, one after another, before each call of the network, and the GPU waits.
fix: the stamps of each field are cut and scaled before the night's loop (host-bound).
fix2: the network, and what is done with its answer, are one CUDA graph (launch-bound).
useless: the stamps come to the same array on the device each time.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

FIELDS, SIZE, STARS, PLACES, HALF, SIDE, LOOK = 4, 1024, 1500, 48, 31, 63, 50


def star(bright, width):
    away = numpy.arange(-7, 8, dtype=numpy.float32)
    return bright * numpy.exp(-(away[:, None] ** 2 + away ** 2) / (2.0 * width * width))


def field_of(random):
    """The new picture, the old one and their difference, and the places to look at (the first half of them are new stars)."""
    new = 100.0 + 5.0 * random.standard_normal((SIZE, SIZE), dtype=numpy.float32)
    old = 100.0 + 3.0 * random.standard_normal((SIZE, SIZE), dtype=numpy.float32)
    for row, column in random.integers(8, SIZE - 8, (STARS, 2)):
        light = star(20.0 + 40.0 * random.pareto(2.0), 1.8)
        new[row - 7:row + 8, column - 7:column + 8] += light
        old[row - 7:row + 8, column - 7:column + 8] += light
    places = random.integers(HALF + 1, SIZE - HALF - 1, (PLACES, 2))
    for k, (row, column) in enumerate(places):
        if k < PLACES // 2:
            new[row - 7:row + 8, column - 7:column + 8] += star(60.0, 1.8)
        else:
            new[row, column - 7:column + 8] += 200.0  # a trace of a cosmic ray
    return (new, old, new - old), [(int(row), int(column)) for row, column in places]


def stamps_of(pictures, places):
    """The stamps of all places, (PLACES, 3, SIDE, SIDE), each of them on one scale."""
    stamps = numpy.empty((PLACES, 3, SIDE, SIDE), dtype=numpy.float32)
    for k, (row, column) in enumerate(places):
        for n, picture in enumerate(pictures):
            cut = picture[row - HALF:row + HALF + 1, column - HALF:column + HALF + 1]
            cut = cut - numpy.median(cut)  # cause: loader
            spread = 1.4826 * numpy.median(numpy.abs(cut)) + 1e-6  # cause: loader
            stamps[k, n] = numpy.arcsinh(cut / spread)  # cause: loader
    return stamps


def network(stamps):
    """A ResNet-18 whose normalisation knows how bright stamps are."""
    net = torchvision.models.resnet18(weights=None, num_classes=2).cuda()
    for part in net.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    net.train()
    net(stamps)
    return net.eval()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    fields = [field_of(random) for _ in range(FIELDS)]
    arrived = torch.from_numpy(stamps_of(*fields[0])).cuda()
    net = network(arrived)
    night = torch.zeros(PLACES, device="cuda")
    ready = [stamps_of(*field) for field in fields] if variant == "fix" else None
    turn, seen = [0], []

    def judge(stamps):
        chance = net(stamps).softmax(dim=1)[:, 1]
        night.lerp_(chance, 0.05)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: judge(arrived))
        night.zero_()

    @torch.no_grad()
    def step():
        number = turn[0] % FIELDS
        turn[0] += 1
        stamps = torch.from_numpy(ready[number] if ready else stamps_of(*fields[number]))  # cause: loader
        if variant == "fix2":
            arrived.copy_(stamps)
            graph.replay()
        elif variant == "useless":
            arrived.copy_(stamps)
            judge(arrived)
        else:
            judge(stamps.cuda())  # cause: delayed
        if turn[0] % LOOK == 0:
            seen.append(night.max().item())

    def values():
        """The chances of new stars and of flaws, by the mean, and of some places."""
        return [night[:PLACES // 2].mean().item(), night[PLACES // 2:].mean().item()] + night[:6].tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
