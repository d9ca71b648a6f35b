# SPDX-License-Identifier: Apache-2.0
"""CuPy: salmon spawn where the gravel of a river is neither too fine nor too coarse. How coarse it is is told from photographs of
banks that have fallen dry, 2048 x 2048 points each: squares of 2, 4, ... 64 points are opened (the least, then the greatest value
of a square), which takes away all stones that are smaller, and what light is left then makes the curve of the sizes.

Wrong: behind each size the memory pool is emptied, so that arrays do not pile up: each goes back to the driver, which waits
for the GPU, and is taken anew for the next size.
fix: the pool keeps what it has (alloc-bound).
useless: the curve comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIDE, SIZES, PHOTOS, STONES = 2048, 6, 4, 4000


def photos():
    """Bright round stones on dark sand, each bank with its own usual size."""
    random = numpy.random.default_rng(20)
    for bank in range(PHOTOS):
        photo = random.uniform(0.0, 0.15, (SIDE, SIDE)).astype(numpy.float32)
        radii = numpy.clip(random.lognormal(2.0 + 0.25 * bank, 0.5, STONES), 2.0, 60.0).astype(int)
        for radius in numpy.sort(radii)[::-1].tolist():
            across = numpy.arange(-radius, radius + 1) / (radius + 0.5)
            dome = 1.0 - 0.6 * (across[:, None] ** 2 + across ** 2)
            down, right = random.integers(radius, SIDE - radius, 2).tolist()
            part = photo[down - radius:down + radius + 1, right - radius:right + radius + 1]
            numpy.copyto(part, (dome * random.uniform(0.5, 1.0)).astype(numpy.float32), where=dome > 0.4)
        yield cupy.asarray(photo)


def doubled(picture, best, far):
    """From the best of squares of `far` points that of squares of twice as many."""
    picture = best(picture[:, :-far], picture[:, far:])  # cause: alloc
    return best(picture[:-far], picture[far:])  # cause: alloc


def light_of(worn, number):
    """The mean light of a picture of least values, of squares of 2, 4, ... points, when it is given its size again."""
    grown = cupy.pad(worn, (2 << number) - 1)  # cause: alloc
    for bits in range(number + 1):
        grown = doubled(grown, cupy.maximum, 1 << bits)  # cause: alloc
    return grown.mean()  # cause: alloc


def median_size(curve):
    """The size of squares, in points, that takes half of the light that all sizes take."""
    taken = (curve[0] - curve) / max(float(curve[0] - curve[-1]), 1e-6)
    return float(2.0 ** numpy.interp(0.5, taken, numpy.arange(len(curve))))


def make(variant):
    banks = list(photos())
    pool = cupy.get_default_memory_pool()
    left = cupy.zeros(SIZES + 1, dtype=cupy.float32)
    landing = cupyx.empty_pinned(SIZES + 1, dtype=numpy.float32) if variant == "useless" else None
    turn, sizes, darkest = [0], [0.0] * PHOTOS, [0.0] * PHOTOS

    def measure(photo):
        """The light of a photograph, and what squares of each size leave of it."""
        left[0] = photo.mean()  # cause: alloc
        worn = photo
        for number in range(SIZES):
            worn = doubled(worn, cupy.minimum, 1 << number)  # cause: alloc
            left[number + 1] = light_of(worn, number)  # cause: alloc
            if variant != "fix":
                pool.free_all_blocks()  # cause: alloc

    def step():
        bank = turn[0] % PHOTOS
        turn[0] += 1
        measure(banks[bank])  # cause: alloc
        curve = left.get(out=landing) if variant == "useless" else left.get()
        sizes[bank], darkest[bank] = median_size(curve), float(curve[-1])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: sizes + darkest)


run.main(make)
