# SPDX-License-Identifier: Apache-2.0
"""CuPy: a bank reckons what it costs that other banks may fail (credit valuation adjustment): rates of interest and of dollars go
131072 ways through 120 months, the same ones for all; on each way the bank has swaps and forwards with another bank, which it
values month by month, less what that bank has to leave with it as a margin, and which is called for two months late.

Wrong: as others use the GPU too, memory is given back behind each bank (free_all_blocks), so that for the next one the same
arrays of 63 MB come from the driver anew; that takes longer than to compute with them.
fix: memory is kept in the pool (alloc-bound).
useless: the charges, which are read every 40 banks, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PATHS, DATES, BANKS, TRADES, LATE, READ, RECOVERY = 131072, 120, 8, 3, 2, 40, 0.4
MONTH = 1.0 / 12.0

swap_value = cupy.ElementwiseKernel(
    "float32 rate, float32 left, float32 notional, float32 agreed", "float32 value",
    "float annuity = fabsf(rate) > 1e-5f ? -expm1f(-rate * left) / rate : left;"
    "value = notional * annuity * (rate - agreed);", "swap_value")
forward_value = cupy.ElementwiseKernel(
    "float32 rate, float32 dollars, float32 left, float32 notional, float32 agreed", "float32 value",
    "value = left > 0.0f ? notional * (dollars - agreed * expf(-rate * left)) : 0.0f;", "forward_value")


def scenarios():
    """Rates of interest (Vasicek's model) and of dollars, (DATES, PATHS)."""
    luck = cupy.random.RandomState(20)
    rates = cupy.empty((DATES, PATHS), dtype=cupy.float32)
    dollars = cupy.empty((DATES, PATHS), dtype=cupy.float32)
    rate, logarithm = cupy.full(PATHS, 0.03, dtype=cupy.float32), cupy.zeros(PATHS, dtype=cupy.float32)
    for date in range(DATES):
        moves = luck.standard_normal((2, PATHS), dtype=cupy.float32)
        rate = rate + 0.15 * MONTH * (0.035 - rate) + 0.011 * MONTH ** 0.5 * moves[0]
        logarithm = logarithm + 0.09 * MONTH ** 0.5 * (0.3 * moves[0] + 0.95 * moves[1])
        rates[date], dollars[date] = rate, cupy.exp(logarithm)
    return rates, dollars


def contracts(random):
    """Of each bank the swaps and one forward, with the years that are left at each month, (DATES, 1), and its chance to fail."""
    months = numpy.arange(DATES, dtype=numpy.float32)[:, None] * MONTH

    def left(years):
        return cupy.asarray(numpy.maximum(years - months, 0.0).astype(numpy.float32))
    for _ in range(BANKS):
        swaps = [(left(random.uniform(4.0, 15.0)), float(random.uniform(5.0, 20.0) * random.choice((-1.0, 1.0))),
                  float(random.uniform(0.028, 0.038))) for _ in range(TRADES)]
        forward = (left(random.uniform(2.0, 9.0)), float(random.uniform(2.0, 6.0)), 1.0)
        hazard = random.uniform(0.008, 0.03)
        fails = numpy.exp(-hazard * months[:, 0]) * hazard * MONTH * numpy.exp(-0.03 * months[:, 0])
        yield swaps, forward, cupy.asarray(fails.astype(numpy.float32)), float(random.uniform(0.1, 0.5))


def make(variant):
    rates, dollars = scenarios()
    banks = list(contracts(numpy.random.default_rng(20)))
    charges = cupy.zeros(BANKS, dtype=cupy.float32)
    landing = cupyx.empty_pinned(BANKS, dtype=numpy.float32) if variant == "useless" else None
    pool, turn, usual = cupy.get_default_memory_pool(), [0], [0.0] * BANKS

    def charge(swaps, forward, fails, allowed):
        """What it costs that a bank may fail: the mean of what it owes then and has not left as a margin."""
        worth = forward_value(rates, dollars, *forward)  # cause: alloc
        for swap in swaps:
            worth = worth + swap_value(rates, *swap)  # cause: alloc
        margin = cupy.zeros_like(worth)  # cause: alloc
        margin[LATE:] = worth[:-LATE]
        margin = margin - cupy.clip(margin, -allowed, allowed)  # cause: alloc
        owed = cupy.maximum(worth - margin, 0.0)  # cause: alloc
        return (1.0 - RECOVERY) * (owed.mean(axis=1) * fails).sum()  # cause: alloc

    def step():
        number = turn[0] % BANKS
        turn[0] += 1
        charges[number] = charge(*banks[number])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        if turn[0] % READ == 0:
            told = charges.get(out=landing) if variant == "useless" else charges.get()
            usual[:] = told.tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual) + [1000.0 * x for x in usual])


run.main(make)
