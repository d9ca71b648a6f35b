# SPDX-License-Identifier: Apache-2.0
"""PyTorch with timm: X-ray films of welded pipes are scanned, and a small ResNet tells of each piece of the seam whether there
are pores, slag, cracks, undercut or a lack of fusion in it. A film of 256 x 3072 points is made even, the seam is found, and 24
pieces along it are cut out, with what is dark and bright there put between 0 and 255.

Wrong: NumPy makes the pieces of each film between two calls of the net, and the GPU has nothing to do meanwhile.
fix: the pieces of all films are cut before the loop (host-bound).
fix2: the net is one CUDA graph; pieces are cut as before (launch-bound).
useless: pieces are written to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, timm, numpy = fixable.load_torch("timm", "numpy")

HIGH, SIDE, PIECES, FILMS, KINDS, REACH, EVERY = 256, 128, 24, 8, 6, 32, 25
WIDE = SIDE * PIECES


def scanned():
    """Films of 12 bits: a seam that winds, which lets less through than the pipe, with grain, and with some faults in it."""
    random = numpy.random.default_rng(20)
    down, along = numpy.arange(HIGH, dtype=numpy.float32)[:, None], numpy.arange(WIDE, dtype=numpy.float32)
    for number in range(FILMS):
        middle = 128.0 + 30.0 * numpy.sin(along / 400.0 + number)
        thick = 1.0 + 0.45 * numpy.exp(-numpy.square((down - middle) / 28.0)) + 0.1 * numpy.cos(along / 900.0)
        for _ in range(40):
            place, size = random.integers(0, WIDE), random.uniform(1.5, 5.0)
            row = middle[place] + random.uniform(-20.0, 20.0)
            left, right = max(place - 20, 0), min(place + 20, WIDE)
            away = numpy.square(down - row) + numpy.square(along[left:right] - place)
            thick[:, left:right] -= 0.25 * numpy.exp(-away / (size * size))
        grain = random.standard_normal((HIGH, WIDE), dtype=numpy.float32)
        yield (3600.0 * numpy.exp(-1.1 * thick) + 12.0 * grain).clip(0.0, 4095.0).astype(numpy.uint16)


def running_mean(film):
    """The mean of the points beside each one, to both sides along the film."""
    wide = numpy.pad(film, ((0, 0), (REACH + 1, REACH)), mode="edge")
    sums = numpy.cumsum(wide, axis=1, dtype=numpy.float64)
    return ((sums[:, 2 * REACH + 1:] - sums[:, :-2 * REACH - 1]) / (2 * REACH + 1)).astype(numpy.float32)


def cut(film, pieces):
    """The pieces along the seam, which are written to `pieces`, (PIECES, 1, SIDE, SIDE) of 8 bits."""
    density = numpy.log10(4096.0 / (film.astype(numpy.float32) + 1.0))
    uneven = running_mean(density)
    for number in range(PIECES):
        at = slice(number * SIDE, (number + 1) * SIDE)
        profile = numpy.convolve(density[:, at].mean(axis=1), numpy.full(31, 1.0 / 31.0), mode="valid")
        top = min(max(int(profile.argmax()) + 15 - SIDE // 2, 0), HIGH - SIDE)
        piece = density[top:top + SIDE, at] - uneven[top:top + SIDE, at]
        dark, bright = numpy.percentile(piece, (1.0, 99.0))
        pieces[number, 0] = ((piece - dark) * (255.0 / (bright - dark))).clip(0.0, 255.0).astype(numpy.uint8)
    return pieces


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    films, turn, told = list(scanned()), [0], []
    net = timm.create_model("resnet18", pretrained=False, num_classes=KINDS, in_chans=1).eval().cuda().half()
    given = torch.full((PIECES, 1, SIDE, SIDE), 128, dtype=torch.uint8, device="cuda")
    usual = torch.zeros(KINDS + 1, device="cuda")
    place = torch.zeros(PIECES, 1, SIDE, SIDE, dtype=torch.uint8, pin_memory=variant == "useless").numpy()
    ready = [cut(film, numpy.empty_like(place)) for film in films] if variant == "fix" else None

    @torch.no_grad()
    def look():
        """Which faults the pieces have, as usual averages, and how sure it is of the worst piece."""
        sure = net(given.half().sub_(127.5).div_(64.0)).float().softmax(dim=1)
        usual.lerp_(torch.cat((sure.mean(dim=0), sure[:, 1:].sum(dim=1).amax().view(1))), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, look)
        usual.zero_()

    def step():
        number = turn[0] % FILMS
        turn[0] += 1
        pieces = ready[number] if variant == "fix" else cut(films[number], place)  # cause: loader
        given.copy_(torch.from_numpy(pieces))  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            look()
        if turn[0] % EVERY == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
