# SPDX-License-Identifier: Apache-2.0
"""CuPy: shops on the web show two forms of a page by chance, and ask a firm which of them sells more: what each visitor spent is
weighed anew 64 times (Bayesian bootstrap), and the answer is how likely the new page is the better one, by how many buy and
by how much they spend. The shops pay by the memory that their questions take, which the allocator writes down.

Wrong: for the bill, somebody wrote an allocator that takes each array from the driver and writes down its bytes; what is let go
goes back to the driver at once, which waits for the GPU.
fix: the allocator writes down the same bytes, and takes them from a memory pool (alloc-bound).
fix2: weights are made where they are drawn, and all sums are one product of matrices, so there are few arrays (alloc-bound).
useless: the answers come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

RESAMPLED, SHOPS = 64, 5
VISITORS = (98000, 131000, 84000, 117000, 105000)  # of each page, at each shop


def spent_by(random, visitors, share, mean):
    """What each visitor spent; most of them nothing."""
    buys = random.random(visitors) < share
    return (buys * random.gamma(1.5, mean / 1.5, visitors)).astype(numpy.float32)


def questions():
    """The old and the new page's visitors of each shop."""
    random = numpy.random.default_rng(20)
    for shop, visitors in enumerate(VISITORS):
        old = spent_by(random, visitors, 0.040, 55.0)
        new = spent_by(random, visitors - 3000, 0.040 + 0.0004 * shop, 55.0 + 0.4 * shop)
        yield cupy.asarray(old), cupy.asarray(new)


def from_driver(size):
    return cupy.cuda.MemoryPointer(cupy.cuda.Memory(size), 0)  # cause: alloc


def make(variant):
    asked = list(questions())
    luck = cupy.random.RandomState(20)
    taken_from = cupy.cuda.MemoryPool().malloc if variant == "fix" else from_driver
    landing = cupyx.empty_pinned(4, dtype=numpy.float32) if variant == "useless" else None
    turn, billed, usual = [0], [0], [0.0, 0.0, 0.0, 0.0]

    def allocate(size):
        billed[0] += size
        return taken_from(size)  # cause: alloc

    def weighed(spent):
        """The share of visitors who buy, and the mean of what one spends, as each set of weights has it."""
        drawn = luck.random_sample((RESAMPLED, spent.size), dtype=cupy.float32)  # cause: alloc
        weights = -cupy.log(1.0 - drawn)  # cause: alloc
        weights = weights / weights.sum(axis=1, keepdims=True)  # cause: alloc
        buys = (spent > 0.0).astype(cupy.float32)  # cause: alloc
        return (weights * buys).sum(axis=1), (weights * spent).sum(axis=1)  # cause: alloc

    def weighed_at_once(spent):
        weights = luck.random_sample((RESAMPLED, spent.size), dtype=cupy.float32)
        cupy.subtract(1.0, weights, out=weights)
        cupy.log(weights, out=weights)
        told = cupy.stack(((spent > 0.0).astype(cupy.float32), spent, cupy.ones_like(spent)), axis=1)
        sums = weights @ told
        return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2]

    weigh = weighed_at_once if variant == "fix2" else weighed

    def compare(old, new):
        """How likely the new page is better, by how many buy and by what they spend, and how much of each there is more."""
        old_share, old_mean = weigh(old)  # cause: alloc
        new_share, new_mean = weigh(new)  # cause: alloc
        both = cupy.stack((new_share / old_share, new_mean / old_mean))  # cause: alloc
        likely = (both > 1.0).mean(axis=1, dtype=cupy.float32)  # cause: alloc
        return cupy.concatenate((likely, both.mean(axis=1)))  # cause: alloc

    def step():
        found = compare(*asked[turn[0] % SHOPS])  # cause: alloc
        turn[0] += 1
        answer = found.get(out=landing) if variant == "useless" else found.get()
        for k, number in enumerate(answer.tolist()):
            usual[k] += 0.05 * (number - usual[k])

    def loop(steps):
        with cupy.cuda.using_allocator(allocate):
            for _ in range(steps):
                step()  # cause: alloc

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(usual))


run.main(make)
