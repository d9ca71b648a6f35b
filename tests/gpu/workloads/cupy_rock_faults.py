# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: geologists look for faults in a seismic cube, block by block, 64 by 512 by 512 samples each. Where rock is
whole, neighbouring traces are alike: the power of the mean of 5 by 5 traces is set against the mean of their powers, over nine
samples each (uniform_filter). How much of the rock is broken is told for each of 32 by 32 squares of a block.

Wrong: CuPy's memory pool is switched off, so that other programs may have what is not in use; so each array of a block is taken
from the driver, and given back to it, which waits for the GPU.
fix: a memory pool keeps the memory (alloc-bound).
useless: the squares of a block, which are read once in 24 blocks, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=12)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

DEEP, SIZE, BLOCKS, SQUARES, LONG, BROKEN, READ = 64, 512, 6, 32, 9, 0.55, 24
TRACES = 5  # on either side of the square whose mean is taken


def survey():
    """Blocks of layers that are bent, and thrown along two faults, with noise."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    down = cupy.arange(DEEP, dtype=cupy.float32)[:, None, None]
    along = cupy.arange(SIZE, dtype=cupy.float32)[:, None]
    across = cupy.arange(SIZE, dtype=cupy.float32)
    for _ in range(BLOCKS):
        depth = down + 6.0 * cupy.sin(along / luck.uniform(60.0, 120.0)) + 0.05 * across
        for _ in range(2):
            far = (along - luck.uniform(100.0, 400.0)) + luck.uniform(-0.8, 0.8) * (across - 256.0) + 0.4 * down
            depth = depth + luck.uniform(2.0, 5.0) * (far > 0.0)
        layers = cupy.sin(0.9 * depth) + 0.6 * cupy.sin(0.37 * depth)
        noise = chance.standard_normal((DEEP, SIZE, SIZE), dtype=cupy.float32)
        yield cupy.ascontiguousarray(layers + 0.4 * noise, dtype=cupy.float32)


def make(variant):
    blocks = list(survey())
    cupy.get_default_memory_pool().free_all_blocks()
    squares = cupy.zeros((BLOCKS, SQUARES, SQUARES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((SQUARES, SQUARES), dtype=numpy.float32) if variant == "useless" else None
    unlike = cupy.ElementwiseKernel(
        "float32 mean, float32 power, float32 least", "float32 broken",
        "broken = mean < least * (power + 1e-6f) ? 1.0f : 0.0f", "unlike")
    pool, turn, told = cupy.cuda.MemoryPool(), [0], [0.0]
    allocator = pool.malloc if variant == "fix" else None

    def look(block, found):
        """How much of the rock is broken, in each square."""
        mean = ndimage.uniform_filter(block, (1, TRACES, TRACES))  # cause: alloc
        mean_power = ndimage.uniform_filter(mean * mean, (LONG, 1, 1))  # cause: alloc
        power = ndimage.uniform_filter(block * block, (LONG, TRACES, TRACES))  # cause: alloc
        broken = unlike(mean_power, power, numpy.float32(BROKEN)).mean(axis=0)  # cause: alloc
        wide = SIZE // SQUARES
        broken.reshape(SQUARES, wide, SQUARES, wide).mean(axis=(1, 3), out=found)

    def step():
        number = turn[0] % BLOCKS
        turn[0] += 1
        with cupy.cuda.using_allocator(allocator):
            look(blocks[number], squares[number])  # cause: alloc
        if turn[0] % READ == 0:
            read = squares[number].get(out=landing) if variant == "useless" else squares[number].get()
            told[0] += 0.1 * (float(read.mean()) - told[0])

    def values():
        """How much of each block is broken, and of its worst square."""
        found = squares.get()
        return [float(x) for x in found.mean(axis=(1, 2))] + [float(x) for x in found.max(axis=(1, 2))] + told

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
