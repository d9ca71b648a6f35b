# SPDX-License-Identifier: Apache-2.0
"""CuPy: carbon monoxide burns on a crystal of platinum, and it is computed how waves, seen by microscope, die away. On 4096 by 4096
places it is told how much of the surface CO and oxygen cover, and how far its atoms have moved to the other order, on which more
oxygen stays; CO spreads to the neighbours. The rate of burning is noted for each row of places, four steps of time at once.

Wrong: CuPy's memory pool is off, so that other programs find memory on the GPU; each field that is computed is taken from the
driver, and given back to it, which waits for the GPU.
fix: fields are from a pool, which keeps its memory (alloc-bound).
useless: the rates, which are read once in 20 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, TIMES, READ, STEP = 4096, 4, 20, numpy.float32(0.01)

spread = cupy.ElementwiseKernel(
    "raw float32 field, int32 wide", "float32 into",
    """
    int row = i / wide, column = i % wide;
    int up = row > 0 ? row - 1 : wide - 1, down = row < wide - 1 ? row + 1 : 0;
    int left = column > 0 ? column - 1 : wide - 1, right = column < wide - 1 ? column + 1 : 0;
    into = field[up * wide + column] + field[down * wide + column] + field[row * wide + left] + field[row * wide + right]
        - 4.0f * field[i];
    """, "spread")
burn = cupy.ElementwiseKernel(
    "float32 co, float32 oxygen", "float32 rate", "rate = 40.0f * co * oxygen", "burn")
new_co = cupy.ElementwiseKernel(
    "float32 co, float32 rate, float32 into, float32 step", "float32 later",
    "later = fminf(fmaxf(co + step * (3.2f * (1.0f - co * co * co) - 2.5f * co - rate + 2.0f * into), 0.0f), 1.0f)", "new_co")
new_oxygen = cupy.ElementwiseKernel(
    "float32 co, float32 oxygen, float32 order, float32 rate, float32 step", "float32 later",
    """
    float room = fmaxf(1.0f - co - oxygen, 0.0f), sticks = 0.6f * order + 0.4f * (1.0f - order);
    later = fminf(fmaxf(oxygen + step * (26.0f * sticks * room * room - rate), 0.0f), 1.0f);
    """, "new_oxygen")
new_order = cupy.ElementwiseKernel(
    "float32 co, float32 order, float32 step", "float32 later",
    "later = order + step * (1.0f / (1.0f + expf((0.3f - co) / 0.05f)) - order)", "new_order")


def crystal():
    """How much CO and oxygen there is at first, and the order of the atoms: stripes of them, and some chance."""
    chance = cupy.random.RandomState(20)
    down = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)[:, None]
    right = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)
    waves = 0.5 + 0.5 * cupy.sin(2.0 * numpy.pi * (6.0 * down + 0.5 * cupy.sin(12.0 * right)))
    some = chance.random_sample((SIZE, SIZE), dtype=cupy.float32)
    fields = (0.3 * waves + 0.1 * some, 0.4 * (1.0 - waves) + 0.05 * some, 0.2 + 0.4 * waves)
    return [cupy.ascontiguousarray(field, dtype=cupy.float32) for field in fields]


def make(variant):
    fields = crystal()
    cupy.get_default_memory_pool().free_all_blocks()
    rates = cupy.zeros((TIMES, SIZE), dtype=cupy.float32)
    landing = cupyx.empty_pinned((TIMES, SIZE), dtype=numpy.float32) if variant == "useless" else None
    keeps, turn, told = cupy.cuda.MemoryPool(), [0], [0.0]
    allocator = keeps.malloc if variant == "fix" else None  # None: each array is from the driver

    def advance(number):
        """A step of time."""
        co, oxygen, order = fields
        into = spread(co, numpy.int32(SIZE), size=SIZE * SIZE).reshape(SIZE, SIZE)  # cause: alloc
        rate = burn(co, oxygen)  # cause: alloc
        rate.mean(axis=1, out=rates[number])
        fields[0] = new_co(co, rate, into, STEP)  # cause: alloc
        fields[1] = new_oxygen(co, oxygen, order, rate, STEP)  # cause: alloc
        fields[2] = new_order(co, order, STEP)  # cause: alloc

    def step():
        with cupy.cuda.using_allocator(allocator):
            for number in range(TIMES):
                advance(number)  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            read = rates.get(out=landing) if variant == "useless" else rates.get()
            told[0] += 0.1 * (float(read.mean()) - told[0])

    def values():
        """The rates of some rows, and how much of the surface is covered."""
        return [float(x) for x in rates.get()[0, ::256]] + [float(field.mean()) for field in fields]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
