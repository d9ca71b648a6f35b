# SPDX-License-Identifier: Apache-2.0
"""CuPy: a weaving mill looks for torn threads, knots and stains in its cloth: cameras above the loom write lines of pixels straight
to the GPU's memory; each piece of cloth is evened out, its weave is taken away, and what is left is a map of faults.

Wrong: the map comes to the host as float32 in a new NumPy array for each piece; the way there takes longer than the search.
fix: the map comes to pinned memory that is allocated once (copy-bound).
fix2: the GPU rounds the map to bytes before it goes to pageable memory, as the mill's archive does anyhow (copy-bound).
useless: the arrays of a piece on the GPU are allocated once.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

LINES, PIXELS, PIECES, WARP, WEFT, NEAR, GRAIN, LOUD, SHOWN = 2048, 4096, 4, 8, 6, 3, 16.0, 5.0, 32
FAULTS = ((300, 900, 6, 600), (1200, 3000, 40, 40), (1700, 500, 400, 5))  # line, pixel, and how far they go

WEIGH = cupy.ElementwiseKernel(
    "float32 smooth, float32 mean, float32 deviation", "float32 strange",
    "float far = fabsf(smooth - mean) / deviation; strange = fminf(far, 15.9375f);", "weigh_the_cloth")


def pieces():
    """What the cameras write: bytes, with the weave, the lamp's unevenness, noise and some faults; each (LINES, PIXELS)."""
    random = numpy.random.default_rng(20)
    weave = numpy.zeros((LINES, PIXELS), dtype=numpy.float32)
    weave += 14.0 * numpy.sin(2.0 * numpy.pi * numpy.arange(PIXELS) / WARP)
    weave += 11.0 * numpy.sin(2.0 * numpy.pi * numpy.arange(LINES)[:, None] / WEFT)
    for number in range(PIECES):
        piece = 128.0 + weave + 9.0 * random.standard_normal((LINES, PIXELS), dtype=numpy.float32)
        for line, pixel, down, across in FAULTS[:number]:
            piece[line:line + down, pixel:pixel + across] -= 25.0
        yield numpy.clip(piece * lamp(), 0.0, 255.0).astype(numpy.uint8)


def lamp():
    """How bright the lamp is at each pixel of a line."""
    return (0.75 + 0.25 * numpy.sin(numpy.linspace(0.0, numpy.pi, PIXELS))).astype(numpy.float32)


def make(variant):
    cloth = [cupy.asarray(piece) for piece in pieces()]
    bright = cupy.asarray(1.0 / lamp())
    places = None
    if variant == "useless":
        places = {name: cupy.empty((LINES, PIXELS), dtype=cupy.float32) for name in ("even", "flat", "map")}
    landing = cupyx.empty_pinned((LINES, PIXELS), dtype=numpy.float32) if variant == "fix" else None
    turn, loud, usual = [0], [], [0.0, 0.0, 0.0]

    def place(name):
        """An array that is there already, or None: a new one."""
        return places[name] if places else None

    def without_weave(even):
        """The weave repeats itself: what a pixel has more than the mean of those one thread away on all four sides."""
        flat = cupy.multiply(even, 4.0, out=place("flat"))
        flat -= cupy.roll(even, WARP, axis=1)
        flat -= cupy.roll(even, -WARP, axis=1)
        flat -= cupy.roll(even, WEFT, axis=0)
        flat -= cupy.roll(even, -WEFT, axis=0)
        return flat

    def smooth(flat):
        """Sums of NEAR x NEAR pixels."""
        lines = sum(flat[:, number:PIXELS - NEAR + 1 + number] for number in range(NEAR))
        inner = sum(lines[number:LINES - NEAR + 1 + number] for number in range(NEAR))
        flat[...] = 0.0
        flat[NEAR // 2:-(NEAR // 2), NEAR // 2:-(NEAR // 2)] = inner
        return flat

    def searched(piece):
        """The map of faults: by how many deviations each pixel is away from what is usual."""
        even = cupy.multiply(piece, bright, out=place("even"))
        left = smooth(without_weave(even))
        mean = left.mean(dtype=cupy.float32)
        deviation = left.std(dtype=cupy.float32)
        return WEIGH(left, mean, deviation, places["map"]) if places else WEIGH(left, mean, deviation)

    def brought(strange):
        """The map on the host."""
        if variant == "fix":
            return strange.get(out=landing)
        if variant == "fix2":
            return cupy.rint(strange * GRAIN).astype(cupy.uint8).get()
        return strange.get()  # cause: copy

    def show(faults):
        """The weaver sees the map in small."""
        small = faults[::SHOWN, ::SHOWN].astype(numpy.float32)
        if variant == "fix2":
            small /= GRAIN
        usual[0] += 0.05 * (float(small.mean()) - usual[0])
        usual[1] += 0.05 * (float(small.std()) - usual[1])

    def step():
        strange = searched(cloth[turn[0] % PIECES])
        turn[0] += 1
        loud.append(cupy.count_nonzero(strange > LOUD))
        show(brought(strange))  # cause: copy
        if turn[0] % LOOK_EVERY == 0:
            usual[2] += 0.2 * (float(cupy.stack(loud).mean()) - usual[2])
            loud.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
