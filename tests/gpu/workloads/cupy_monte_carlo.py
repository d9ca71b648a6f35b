# SPDX-License-Identifier: Apache-2.0
"""CuPy: the price of an option with a barrier by Monte Carlo; the device is synchronized after each operation, "to be sure".

Wrong: nothing overlaps: the host launches, then waits, then launches.
fix: no waits but for the price, every 50 days (sync-bound).
useless: the price is read by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=10000, warm_up=50, multiple=50)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PATHS, DAYS = 1 << 21, 50
START, STRIKE, BARRIER = numpy.float32(100.0), numpy.float32(101.0), numpy.float32(80.0)
DRIFT, SPREAD = numpy.float32(0.0001), numpy.float32(0.012)


def make(variant):
    random = cupy.random.RandomState(20)
    price = cupy.full(PATHS, START, dtype=cupy.float32)
    alive = cupy.ones(PATHS, dtype=cupy.bool_)
    landing = cupyx.empty_pinned((1,), dtype=numpy.float32) if variant == "useless" else numpy.zeros(1, numpy.float32)
    day, found = [0], []

    def sure():
        if variant != "fix":
            cupy.cuda.Device().synchronize()  # cause: wait

    def step():
        noise = random.standard_normal(PATHS, dtype=cupy.float32)
        sure()
        noise *= SPREAD
        sure()
        noise += DRIFT
        sure()
        growth = cupy.exp(noise)
        sure()
        cupy.multiply(price, growth, out=price)
        sure()
        above = price > BARRIER
        sure()
        cupy.logical_and(alive, above, out=alive)
        sure()
        day[0] += 1
        if day[0] % DAYS == 0:
            payoff = cupy.where(alive, cupy.maximum(price - STRIKE, 0), 0).mean(dtype=cupy.float32, keepdims=True)
            payoff.get(out=landing)
            found[:] = [float(landing[0])]
            price.fill(START)
            alive.fill(True)

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(found))


run.main(make)
