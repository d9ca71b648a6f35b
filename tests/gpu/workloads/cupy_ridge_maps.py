# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: hiking maps get their ridges and valleys from heights that were measured from the air, in sheets of 6144 by
6144 heights. A height is compared with the mean of its near and of its wide surroundings (uniform_filter), and with how much
the land rises about it (maximum_filter, minimum_filter); for each of 96 by 96 squares it is told how much of it is ridge, and
how much valley.

Wrong: the sheets lie in pinned memory, but each is copied on the stream of the kernels, so that these wait for their own sheet,
and nothing is copied while they run.
fix: the next sheet is copied on another stream while the kernels work at this one (copy-bound).
useless: the squares of a sheet, which are read once in 20 sheets, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

SIZE, SHEETS, SQUARES, NEAR, WIDE, ABOUT, READ = 6144, 6, 96, 5, 15, 7, 20


def sheets():
    """Heights in metres in pinned memory: hills of some sizes, and rough ground."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    down = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)[:, None]
    right = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)
    for _ in range(SHEETS):
        heights = 0.3 * chance.standard_normal((SIZE, SIZE), dtype=cupy.float32)
        for many in (3.0, 11.0, 40.0, 160.0):
            turned = float(luck.uniform(0.0, 3.0))
            heights += 200.0 / many * cupy.sin(6.28 * many * (right + turned * down)) * cupy.cos(6.28 * many * (down - right))
        sheet = cupyx.empty_pinned((SIZE, SIZE), dtype=numpy.float32)
        sheet[...] = cupy.asnumpy(heights.astype(cupy.float32))
        yield sheet


def make(variant):
    pinned = list(sheets())
    cupy.get_default_memory_pool().free_all_blocks()
    places = [cupy.zeros((SIZE, SIZE), dtype=cupy.float32) for _ in range(2)]  # used in turns
    squares = cupy.zeros((SHEETS, 2, SQUARES, SQUARES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((2, SQUARES, SQUARES), dtype=numpy.float32) if variant == "useless" else None
    tell = cupy.ElementwiseKernel(
        "float32 height, float32 near, float32 wide, float32 top, float32 bottom", "float32 ridge, float32 valley",
        """
        float up = (0.5f * (near + height) - wide) / (top - bottom + 0.5f);
        ridge = fminf(fmaxf(4.0f * up, 0.0f), 1.0f);
        valley = fminf(fmaxf(-4.0f * up, 0.0f), 1.0f);
        """, "ridges_and_valleys")
    here, ahead = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    arrived, free = ([cupy.cuda.Event(disable_timing=True) for _ in places] for _ in range(2))
    turn, told = [0], [0.0, 0.0]

    def survey(heights, found):
        """How much of each square is ridge, and how much valley."""
        near = ndimage.uniform_filter(heights, NEAR, mode="nearest")
        wide = ndimage.uniform_filter(heights, WIDE, mode="nearest")
        top = ndimage.maximum_filter(heights, ABOUT, mode="nearest")
        bottom = ndimage.minimum_filter(heights, ABOUT, mode="nearest")
        side = SIZE // SQUARES
        for number, shares in enumerate(tell(heights, near, wide, top, bottom)):
            shares.reshape(SQUARES, side, SQUARES, side).mean(axis=(1, 3), out=found[number])

    def bring(number):
        """Copies a sheet on the other stream, as soon as the one that was in its place is done."""
        ahead.wait_event(free[number % 2])
        places[number % 2].set(pinned[number % SHEETS], stream=ahead)
        arrived[number % 2].record(ahead)

    if variant == "fix":
        here.synchronize()
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix":
            bring(number + 1)
            here.wait_event(arrived[number % 2])
        else:
            places[number % 2].set(pinned[number % SHEETS], stream=here)  # cause: copy
        survey(places[number % 2], squares[number % SHEETS])
        if variant == "fix":
            free[number % 2].record(here)
        turn[0] += 1
        if turn[0] % READ == 0:
            shares = squares[number % SHEETS].get(out=landing).mean(axis=(1, 2))
            told[:] = [mean + 0.1 * (float(share) - mean) for mean, share in zip(told, shares)]

    def values():
        """How much of each sheet is ridge and valley."""
        return [float(share) for share in squares.get().mean(axis=(2, 3)).reshape(-1)] + told

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
