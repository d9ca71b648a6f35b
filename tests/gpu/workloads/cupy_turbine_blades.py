# SPDX-License-Identifier: Apache-2.0
"""CuPy: blades of a turbine are heated by a flash, and a camera films how they cool: where the coating has come off, or a cooling
hole is blocked, heat goes in more slowly. A film is 96 frames of 512 by 512 pixels. The logarithm of each pixel's warmth is put as
a polynomial of the logarithm of time; where that is bent the most tells how deep a flaw lies. A step is a film.

Wrong: behind each film, all memory is given back to the driver, and taken from it anew for the next one: seven arrays of 96 to
101 MB, and three smaller ones.
fix: the memory stays in CuPy's pool (alloc-bound).
useless: what is told about the blades, which is read once in 25 films, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=550, warm_up=16)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

FRAMES, PIXELS, FILMS, POWERS, BEFORE, READ, COUNTS, NOISE = 96, 512 * 512, 4, 6, 4, 25, 40.0, 8.0
SHOWN = FRAMES - BEFORE  # frames behind the flash
CLASSES = 8  # of depths


def films():
    """Counts of the camera, (FRAMES, PIXELS), on the GPU: cold frames, then the flash, then the cooling."""
    chance = cupy.random.RandomState(20)
    for number in range(FILMS):
        place = cupy.arange(PIXELS, dtype=cupy.float32)
        down, right = cupy.floor(place / 512.0), place % 512.0
        cold = 500.0 + 40.0 * cupy.sin(0.01 * down + number)
        loose = (cupy.sin(0.05 * right + number) * cupy.sin(0.04 * down)) > 0.8
        late = 8.0 + 20.0 * cupy.abs(cupy.sin(0.02 * right))
        film = cupy.empty((FRAMES, PIXELS), dtype=cupy.uint16)
        for frame in range(FRAMES):
            since = max(frame - BEFORE + 1, 0)
            warm = COUNTS * 60.0 / since ** 0.5 * (1.0 + 0.6 * loose / (1.0 + cupy.exp(0.3 * (late - since)))) if since else 0.0
            film[frame] = (cold + warm + NOISE * chance.standard_normal(PIXELS, dtype=cupy.float32)).astype(cupy.uint16)
        yield film


def powers():
    """What makes polynomials of logarithms: (POWERS, SHOWN) that fits, and (SHOWN, POWERS) for their values, slopes and bends."""
    time = numpy.log(numpy.arange(1, SHOWN + 1))
    plain = numpy.stack([time ** power for power in range(POWERS)], axis=1)
    slope = numpy.stack([power * time ** max(power - 1, 0) for power in range(POWERS)], axis=1)
    bend = numpy.stack([power * (power - 1) * time ** max(power - 2, 0) for power in range(POWERS)], axis=1)
    return [cupy.asarray(part, dtype=cupy.float32) for part in (numpy.linalg.pinv(plain), plain, slope, bend)]


def make(variant):
    shot = list(films())
    fit, plain, slope, bend = powers()
    kinds = cupy.arange(CLASSES)[:, None]
    usual = cupy.zeros(CLASSES + 2, dtype=cupy.float32)
    told = (cupyx.empty_pinned if variant == "useless" else numpy.empty)((CLASSES + 2,), dtype=numpy.float32)
    pool, turn = cupy.get_default_memory_pool(), [0]
    pool.free_all_blocks()

    def judge(film):
        """How much of the blade has flaws of each depth, how well the polynomials fit, and how steep they are."""
        warmth = film.astype(cupy.float32)  # cause: alloc
        cold = warmth[:BEFORE].mean(axis=0)  # cause: alloc
        above = warmth[BEFORE:] - cold  # cause: alloc
        logs = cupy.log(cupy.maximum(above, 1.0, out=above))  # cause: alloc
        terms = fit @ logs  # cause: alloc
        wanted = plain @ terms  # cause: alloc
        off = cupy.abs(logs - wanted)  # cause: alloc
        steep = slope @ terms
        bent = bend @ terms  # cause: alloc
        bent *= steep < -0.1  # cause: alloc
        deepest = bent[2:-2].argmax(axis=0)
        depths = (deepest * CLASSES // SHOWN == kinds).mean(axis=1, dtype=cupy.float32)
        seen = cupy.concatenate((depths, off.mean().reshape(1), steep.mean().reshape(1)))
        usual[...] += 0.05 * (seen - usual)

    def step():
        judge(shot[turn[0] % FILMS])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            usual.get(out=told)

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual.tolist())


run.main(make)
