# SPDX-License-Identifier: Apache-2.0
"""CuPy: a bank asks how much each client could owe it from an interest rate swap, at 240 dates to come: 131,072 courses of the
rate are made once; for each of nine clients the swap is valued at each date of each course, and what is above zero is averaged
over the courses. The risk desk looks at the profiles of the last 36 clients.

Wrong: each client's numbers have a memory pool of their own, with a limit, so that none takes too much; it is made anew each
time and goes back to the driver behind it, so each step takes its large arrays from the driver and gives them back.
fix: one pool with the same limit is made before the loop, and kept (alloc-bound).
useless: the profiles come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=9, multiple=36)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

DATES, COURSES, CLIENTS, KEPT, YEARS, LIMIT = 240, 131072, 9, 36, 20.0, 4 << 30
WAVER, BACK = 0.22, 0.08  # of the logarithm of the rate, in a year


def courses():
    """By which factor the rate has grown at each date of each course, (DATES, COURSES)."""
    luck, pace = cupy.random.RandomState(20), YEARS / DATES
    grown = cupy.empty((DATES, COURSES), dtype=cupy.float32)
    now = cupy.zeros(COURSES, dtype=cupy.float32)
    for date in range(DATES):
        now = (1.0 - BACK * pace) * now + WAVER * pace ** 0.5 * luck.standard_normal(COURSES, dtype=cupy.float32)
        cupy.exp(now, out=grown[date])
    return grown


def clients(random):
    """The rate now, the rate that a client pays, and the million it is for."""
    return list(zip(random.uniform(0.02, 0.04, CLIENTS).tolist(), random.uniform(0.02, 0.04, CLIENTS).tolist(),
                    random.uniform(5.0, 80.0, CLIENTS).tolist()))


def make(variant):
    grown, asked = courses(), clients(numpy.random.default_rng(20))
    spent = cupy.asarray(-numpy.linspace(YEARS, 0.0, DATES, endpoint=False), dtype=cupy.float32)[:, None]  # minus years left
    profiles = cupy.zeros((KEPT, DATES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((KEPT, DATES), dtype=numpy.float32) if variant == "useless" else None
    cupy.get_default_memory_pool().free_all_blocks()
    turn, usual = [0], numpy.zeros(DATES)

    def new_pool():
        pool = cupy.cuda.MemoryPool()
        pool.set_limit(size=LIMIT)
        return pool

    kept_pool = new_pool()

    def owed(rate_now, fixed, millions):
        """What the client owes at each date, by the mean."""
        rate = grown * rate_now  # cause: alloc
        discount = cupy.exp(rate * spent)  # cause: alloc
        annuity = (1.0 - discount) / rate  # cause: alloc
        value = (rate - fixed) * annuity  # cause: alloc
        above = cupy.maximum(value, 0.0)  # cause: alloc
        return above.mean(axis=1) * millions  # cause: alloc

    def step():
        pool = kept_pool if variant == "fix" else new_pool()
        with cupy.cuda.using_allocator(pool.malloc):
            profiles[turn[0] % KEPT] = owed(*asked[turn[0] % CLIENTS])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        turn[0] += 1
        if turn[0] % KEPT == 0:
            told = profiles.get(out=landing) if variant == "useless" else profiles.get()
            usual[:] = told.mean(axis=0)

    def values():
        """What is owed at each quarter of the time, and at most."""
        mean = profiles.get().mean(axis=0)
        return [float(part.mean()) for part in numpy.split(mean, 4)] + [float(mean.max()), float(usual.mean())]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
