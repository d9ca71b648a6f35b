# SPDX-License-Identifier: Apache-2.0
"""CuPy: projections of a tomograph are turned into what the rays have met; each goes there and back by way of pinned memory, whose
pool is emptied behind it by free_all_blocks(), since pinned memory is scarce.

Wrong: the driver pins memory anew for each projection and gives it back, which takes longer than all the rest.
fix: the pool of pinned memory keeps its blocks (alloc-bound).
useless: one ElementwiseKernel does what six kernels did.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, HALF, VIEWS = 2048, 1024, 4


def views(random, dark, flat):
    """A ball with a hole in it, that wanders from left to right, as the detector counts it."""
    rows, columns = numpy.mgrid[0:SIZE, 0:SIZE].astype(numpy.float32) / SIZE - 0.5
    made = []
    for number in range(VIEWS):
        beside = columns - 0.1 * number + 0.15
        ball = numpy.sqrt(numpy.maximum(0.09 - rows * rows - beside * beside, 0.0))
        hole = numpy.sqrt(numpy.maximum(0.01 - rows * rows - (beside - 0.1) ** 2, 0.0))
        counts = dark + (flat - dark) * numpy.exp(-6.0 * (ball - hole)) + random.normal(0.0, 20.0, (SIZE, SIZE))
        made.append(counts.clip(0, 65535).astype(numpy.uint16))
    return made


def make(variant):
    random = numpy.random.default_rng(20)
    dark_counts = random.uniform(90.0, 110.0, (SIZE, SIZE)).astype(numpy.float32)
    flat_counts = random.uniform(20000.0, 30000.0, (SIZE, SIZE)).astype(numpy.float32)
    seen_by_detector = views(random, dark_counts, flat_counts)
    dark, span = cupy.asarray(dark_counts), cupy.asarray(flat_counts - dark_counts)
    raw = cupy.empty((SIZE, SIZE), dtype=cupy.uint16)
    columns = cupy.zeros(SIZE, dtype=cupy.float32)
    pool = cupy.get_default_pinned_memory_pool()
    in_one = cupy.ElementwiseKernel("uint16 counts, float32 dark, float32 span", "float32 met",
                                    "met = -logf(fmaxf(((float)counts - dark) / span, 1e-3f))", "what_was_met")
    turn, seen = [0], []

    def met():
        """What lay in the way of each ray."""
        if variant == "useless":
            return in_one(raw, dark, span)
        light = (raw.astype(cupy.float32) - dark) / span
        return -cupy.log(cupy.maximum(light, 1e-3))

    def step():
        there = cupyx.empty_pinned((SIZE, SIZE), numpy.uint16)  # cause: alloc
        there[...] = seen_by_detector[turn[0] % VIEWS]
        turn[0] += 1
        raw.set(there)
        found = met()
        columns.__iadd__(0.05 * (found.mean(axis=0) - columns))
        found -= 0.1 * columns  # rings come from columns that see too much or too little
        small = 0.25 * (found[::2, ::2] + found[::2, 1::2] + found[1::2, ::2] + found[1::2, 1::2])
        back = cupyx.empty_pinned((HALF, HALF), numpy.float32)  # cause: alloc
        small.get(out=back)
        seen[:] = back[::64, ::64].reshape(-1).tolist()
        del there, back
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(seen))


run.main(make)
