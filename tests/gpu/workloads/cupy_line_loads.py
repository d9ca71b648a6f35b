# SPDX-License-Identifier: Apache-2.0
"""CuPy: whether the lines of a power grid may become too hot tomorrow, with wind and sun that nobody knows for sure: for each of
five regions, what 384 nodes of the grid give or take is drawn some ten thousand times, and what then flows on each of 1536
lines is a product with a matrix (distribution factors); the same is looked at with one line out of order.

Wrong: another program is to have the memory that is not in use: before each region, what lies idle in the pool is given back if
it is more than 256 MB, which it always is; the driver frees it all, and allocates it anew.
fix: the pool keeps its memory (alloc-bound).
useless: the answers come to pinned memory.
"""
import fixable

REGIONS = 5

run = fixable.Program(__doc__, steps=600, warm_up=10, multiple=REGIONS)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

NODES, LINES, SURE, IDLE = 384, 1536, 3.5, 256 << 20
DRAWN = (9216, 13312, 10240, 12288, 11264)  # for each region


class Region:
    """A region's grid: `factors` (LINES, NODES), how its nodes' powers go together (NODES, NODES), their `usual` powers
    (NODES, 1), what the lines can bear (LINES, 1), which line is out of order, and where its power goes then (LINES, 1)."""

    def __init__(self, random, drawn):
        factors = random.standard_normal((LINES, NODES)) * 0.1 * (random.random((LINES, NODES)) < 0.3)
        together = 0.2 * random.standard_normal((NODES, NODES)) / NODES ** 0.5 + numpy.diag(random.uniform(0.3, 1.0, NODES))
        usual = random.standard_normal((NODES, 1))
        spread = numpy.sqrt(numpy.square(factors @ together).sum(axis=1, keepdims=True))
        bears = numpy.abs(factors @ usual) + SURE * spread + 0.01
        self.out = int(random.integers(LINES))
        shares = random.uniform(-0.1, 0.1, (LINES, 1))
        shares[self.out] = -1.0
        self.factors, self.together, self.usual, self.bears, self.shares = (
            cupy.asarray(part, dtype=cupy.float32) for part in (factors, together, usual, bears, shares))
        self.drawn = drawn


def powers(region, luck):
    """What the nodes give or take, (NODES, drawn)."""
    chance = luck.standard_normal((NODES, region.drawn), dtype=cupy.float32)  # cause: alloc
    return region.together @ chance + region.usual  # cause: alloc


def loads(region, luck):
    """How much of what it can bear each line has, with all lines and with one out of order: (LINES, drawn) each."""
    flows = region.factors @ powers(region, luck)  # cause: alloc
    others = flows + region.shares * flows[region.out]  # cause: alloc
    return cupy.abs(flows) / region.bears, cupy.abs(others) / region.bears  # cause: alloc


def risks(region, luck):
    """How likely any line becomes too hot, the same with one line out of order, the mean load, and how much is too much."""
    load, later = loads(region, luck)  # cause: alloc
    hot = (load > 1.0).any(axis=0)  # cause: alloc
    hotter = (cupy.maximum(load, later) > 1.0).any(axis=0)  # cause: alloc
    excess = cupy.maximum(later - 1.0, 0.0).sum(axis=0)  # cause: alloc
    means = (hot.mean(dtype=cupy.float32), hotter.mean(dtype=cupy.float32), load.mean(), 100.0 * excess.mean())  # cause: alloc
    return cupy.stack(means)  # cause: alloc


def make(variant):
    random = numpy.random.default_rng(20)
    regions = [Region(random, drawn) for drawn in DRAWN]
    luck, pool = cupy.random.RandomState(20), cupy.get_default_memory_pool()
    landing = cupyx.empty_pinned(4, dtype=numpy.float32) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0, 0.0, 0.0]

    def make_room():
        """For the other program."""
        if variant != "fix" and pool.free_bytes() > IDLE:
            pool.free_all_blocks()  # cause: alloc

    def step():
        make_room()  # cause: alloc
        found = risks(regions[turn[0] % REGIONS], luck)  # cause: alloc
        turn[0] += 1
        answer = found.get(out=landing) if variant == "useless" else found.get()
        for place, number in enumerate(answer.tolist()):
            usual[place] += 0.05 * (number - usual[place])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
