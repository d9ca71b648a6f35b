# SPDX-License-Identifier: Apache-2.0
"""CuPy: k-means over mini-batches of different length; the memory pool is switched off, since others use the GPU as well.

Wrong: each array that an expression makes is allocated by the driver and freed again, which waits for the GPU.
fix: CuPy's memory pool, as it is without being asked (alloc-bound).
useless: the number that is looked at now and then comes by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=20, multiple=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

POINTS, INPUTS, CENTRES = 1 << 18, 16, 32
BATCHES = [70000 + 9000 * (number * 7 % 10) for number in range(10)]


def make(variant):
    random = numpy.random.default_rng(20)
    middles = 4.0 * random.standard_normal((CENTRES, INPUTS), dtype=numpy.float32)
    spread = random.standard_normal((POINTS, INPUTS), dtype=numpy.float32)
    points = cupy.asarray(middles[random.integers(0, CENTRES, POINTS)] + spread)
    centres = cupy.asarray(middles + 0.5)
    numbers = cupy.arange(CENTRES, dtype=cupy.int64)
    landing = cupyx.empty_pinned((1,), dtype=numpy.float32) if variant == "useless" else numpy.zeros(1, numpy.float32)
    allocator = cupy.cuda.MemoryPool().malloc if variant == "fix" else None
    turn, seen = [0], []

    def assign(batch):
        """Which centre is nearest, and how far it is."""
        squared = (centres * centres).sum(axis=1) - 2.0 * (batch @ centres.T)  # cause: alloc
        nearest = squared.argmin(axis=1)  # cause: alloc
        return nearest, squared.min(axis=1) + (batch * batch).sum(axis=1)  # cause: alloc

    def step():
        count = BATCHES[turn[0] % len(BATCHES)]
        start = turn[0] * 4099 % (POINTS - count)
        turn[0] += 1
        batch = points[start:start + count]
        nearest, far = assign(batch)  # cause: alloc
        mine = (nearest[:, None] == numbers).astype(cupy.float32)  # cause: alloc
        counts = mine.sum(axis=0)[:, None]  # cause: alloc
        found = (mine.T @ batch) / cupy.maximum(counts, 1.0)  # cause: alloc
        centres.__iadd__(0.1 * cupy.where(counts > 0.0, found - centres, 0.0))  # cause: alloc
        if turn[0] % 10 == 0:
            far.mean(keepdims=True).get(out=landing)
            seen[:] = [float(landing[0])]

    def loop(steps):
        with cupy.cuda.using_allocator(allocator):
            for _ in range(steps):
                step()  # cause: alloc

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(seen))


run.main(make)
