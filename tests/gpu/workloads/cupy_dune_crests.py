# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: dunes behind a coast are measured by a laser from a plane, strip by strip, 4096 by 4096 heights each. A
strip is smoothed (gaussian_filter), its curvature (laplace) tells where the crests are, and how far heights are off the smooth
land is how rough the sand is; the mean roughness of the crests is told for each of 64 by 64 squares.

Wrong: each strip has a memory pool of its own, which is emptied behind it, so that nothing of a strip is left; so each strip's
arrays are taken from the driver, and given back to it, which waits for the GPU.
fix: all strips share one pool, which keeps its memory (alloc-bound).
useless: the squares of a strip, which are read once in 24 strips, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=12)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

SIZE, STRIPS, SQUARES, BLUR, SHARP, READ = 4096, 6, 64, 4.0, 0.004, 24


def coast():
    """Heights of the strips in metres, two heights a metre: dunes, some higher than others, and rough sand."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    down = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)[:, None]
    right = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)
    for _ in range(STRIPS):
        many, bend, high = luck.uniform(20.0, 40.0), luck.uniform(0.02, 0.06), luck.uniform(3.0, 8.0)
        wave = cupy.sin(2.0 * numpy.pi * many * (right + bend * cupy.sin(9.0 * down)))
        heights = high * cupy.exp(wave) * (0.5 + down) + 0.1 * chance.standard_normal((SIZE, SIZE), dtype=cupy.float32)
        yield cupy.ascontiguousarray(heights, dtype=cupy.float32)


def make(variant):
    strips = list(coast())
    cupy.get_default_memory_pool().free_all_blocks()
    squares = cupy.zeros((STRIPS, SQUARES, SQUARES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((SQUARES, SQUARES), dtype=numpy.float32) if variant == "useless" else None
    on_crests = cupy.ElementwiseKernel(
        "float32 land, float32 height, float32 bent, float32 sharp", "float32 rough",
        "rough = bent < -sharp ? fabsf(height - land) : 0.0f", "on_crests")
    shared, turn, told = cupy.cuda.MemoryPool(), [0], [0.0]

    def survey(heights, found):
        """How rough the sand of the crests is, in each square."""
        land = ndimage.gaussian_filter(heights, BLUR, truncate=2.0)  # cause: alloc
        bent = ndimage.laplace(land)  # cause: alloc
        rough = on_crests(land, heights, bent, numpy.float32(SHARP))  # cause: alloc
        wide = SIZE // SQUARES
        rough.reshape(SQUARES, wide, SQUARES, wide).mean(axis=(1, 3), out=found)

    def step():
        number = turn[0] % STRIPS
        turn[0] += 1
        pool = shared if variant == "fix" else cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc):
            survey(strips[number], squares[number])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        if turn[0] % READ == 0:
            read = squares[number].get(out=landing) if variant == "useless" else squares[number].get()
            told[0] += 0.1 * (float(read.mean()) - told[0])

    def values():
        """The mean roughness of each strip, and its greatest one."""
        found = squares.get()
        return [float(x) for x in found.mean(axis=(1, 2))] + [float(x) for x in found.max(axis=(1, 2))] + told

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
