# SPDX-License-Identifier: Apache-2.0
"""CuPy with cupyx.scipy.sparse: a web shop wants to show what goes with a good that is looked at. Which goods were bought
together is a sparse matrix with 1.2 million rows of 32 goods each; from the goods that are looked at a walk goes on to others,
and starts anew now and then. Where it is found most often is told after twelve rounds, for another shopper in each step.

Wrong: after each round the host reads by how much the chances have changed, to stop early, which it never does; the GPU has
nothing to do until the next round is launched.
fix: all twelve rounds are made, and the host does not look (sync-bound).
useless: the usual chances, which are read once in 20 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
cupy, cupyx, numpy, sparse = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.sparse")

GOODS, TIES, SHOPPERS, SEEN, ROUNDS, AGAIN, EVEN, READ, SHELVES = 1200000, 32, 40, 6, 12, 0.15, 1e-12, 20, 16


def bought_together():
    """The chance to go from a good (a column) to another one (a row), at most one tie to each 32nd of the goods."""
    luck = cupy.random.RandomState(20)
    part = GOODS // TIES
    columns = luck.randint(0, part, (GOODS, TIES), dtype=numpy.int32) + part * cupy.arange(TIES, dtype=numpy.int32)
    often = luck.random_sample((GOODS, TIES), dtype=numpy.float32) + numpy.float32(0.1)
    left = cupy.bincount(columns.ravel(), weights=often.ravel(), minlength=GOODS).astype(numpy.float32)
    chances = often / cupy.maximum(left, numpy.float32(1e-6))[columns]
    starts = cupy.arange(0, GOODS * TIES + 1, TIES, dtype=numpy.int32)
    return sparse.csr_matrix((chances.ravel(), columns.ravel(), starts), shape=(GOODS, GOODS))


def looked_at():
    """Where each shopper's walk begins: the goods that were looked at, the last one the most."""
    luck = numpy.random.default_rng(20)
    for _ in range(SHOPPERS):
        begin = numpy.zeros(GOODS, dtype=numpy.float32)
        begin[luck.choice(GOODS, SEEN, replace=False)] = numpy.arange(1.0, SEEN + 1.0) / (0.5 * SEEN * (SEEN + 1.0))
        yield cupy.asarray(begin)


def make(variant):
    ties = bought_together()
    begins = list(looked_at())
    go_on = cupy.ElementwiseKernel(
        "float32 reached, float32 begin, float32 again", "float32 chance",
        "chance = (1.0f - again) * reached + again * begin", "go_on")
    differ = cupy.ReductionKernel(
        "float32 later, float32 sooner", "float32 most", "fabsf(later - sooner)", "max(a, b)", "most = a", "0.0f", "differ")
    usual, turn, told = cupy.zeros(SHELVES, dtype=numpy.float32), [0], [0.0]
    landing = cupyx.empty_pinned(SHELVES, dtype=numpy.float32) if variant == "useless" else None

    def walk(begin):
        """The chances to be at each good, from where it begins."""
        chances = begin
        for _ in range(ROUNDS):
            before, chances = chances, go_on(ties @ chances, begin, numpy.float32(AGAIN))
            changed = differ(chances, before)
            if variant != "fix" and float(changed) < EVEN:  # cause: wait,copy
                break
        return chances, changed

    def step():
        chances, changed = walk(begins[turn[0] % SHOPPERS])  # cause: wait,copy
        turn[0] += 1
        best = chances.reshape(SHELVES, GOODS // SHELVES).max(axis=1)
        cupy.add(usual, numpy.float32(0.05) * (best + changed - usual), out=usual)
        if turn[0] % READ == 0:
            told[0] = float((usual.get(out=landing) if variant == "useless" else usual.get()).mean())

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: [1000.0 * x for x in usual.get().tolist() + told])


run.main(make)
