# SPDX-License-Identifier: Apache-2.0
"""CuPy: smart meters of houses where old people live alone tell half-hourly how much power is used; a day that is like no other
day of the year may mean that somebody needs help. Each of the last 1536 windows of a day, standardised, is compared with all
windows of the year, and its distance from the nearest one is kept (the matrix profile).

Wrong: other programs shall have memory, too, so the pool is emptied behind each house: the arrays of 107 MB go back to the
driver, which waits for the GPU, and are taken from it anew for the next house.
fix: the pool is not emptied (alloc-bound).
useless: the profiles, which are read every 48 houses, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=15)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

HOUSES, HALF_HOURS, DAY, RECENT, EVERY, NEVER = 24, 17520, 48, 1536, 48, 1000.0
WINDOWS = HALF_HOURS - DAY + 1


def year(random):
    """How much power a house uses: habits by the hour, which are not the same each day, and the kettle."""
    clock, day = numpy.arange(HALF_HOURS) % DAY, numpy.arange(HALF_HOURS) // DAY
    wakes, dines = 13.0 + random.normal(0.0, 1.0, day[-1] + 1), 37.0 + random.normal(0.0, 1.5, day[-1] + 1)
    use = 0.1 + 0.8 * numpy.exp(-0.5 * ((clock - wakes[day]) / 2.0) ** 2)
    use += 1.1 * numpy.exp(-0.5 * ((clock - dines[day]) / 3.0) ** 2)
    return use + 0.5 * (random.random(HALF_HOURS) < 0.06) + random.gamma(2.0, 0.05, HALF_HOURS)


def standardised(use):
    """All windows of a day, each with a mean of zero and a spread of one, (WINDOWS, DAY)."""
    windows = numpy.lib.stride_tricks.sliding_window_view(use, DAY)
    windows = windows - windows.mean(axis=1, keepdims=True)
    return (windows / windows.std(axis=1, keepdims=True)).astype(numpy.float32)


def make(variant):
    random = numpy.random.default_rng(20)
    houses = [cupy.asarray(standardised(year(random))) for _ in range(HOUSES)]
    at = cupy.arange(WINDOWS, dtype=cupy.int32)
    itself = (cupy.abs(at[-RECENT:, None] - at[None, :]) < DAY).astype(cupy.float32) * NEVER
    profiles = cupy.zeros((HOUSES, RECENT), dtype=cupy.float32)
    landing = cupyx.empty_pinned((HOUSES, RECENT), dtype=numpy.float32) if variant == "useless" else None
    pool = cupy.get_default_memory_pool()
    turn, usual = [0], [0.0, 0.0]

    def compare(windows, number):
        """Squares of distances of the last windows from all of the year, but for those that overlap; of those, the least."""
        alike = windows[-RECENT:] @ windows.T  # cause: alloc
        apart = 2.0 - alike * (2.0 / DAY) + itself  # cause: alloc
        profiles[number] = cupy.sqrt(apart.min(axis=1))  # cause: alloc

    def step():
        number = turn[0] % HOUSES
        turn[0] += 1
        compare(houses[number], number)  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        if turn[0] % EVERY == 0:
            found = profiles.get(out=landing) if variant == "useless" else profiles.get()
            usual[0] += 0.2 * (float(found.mean()) - usual[0])
            usual[1] += 0.2 * (float(found.max()) - usual[1])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual + [float(profiles.mean())])


run.main(make)
