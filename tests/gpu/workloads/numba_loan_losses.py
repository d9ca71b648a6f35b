# SPDX-License-Identifier: Apache-2.0
"""Numba: a bank has lent money for 8.4 million houses, and its supervisors want to know what it would lose in bad times: for each
quarter of three years they have prescribed the prices of houses and the wages of sixteen regions, and the rate of interest. What
the loss is to be expected of each loan is computed step by step, and added up by region.

Wrong: each function makes the array for what it gives; Numba has no pool, so that each comes from the driver, and goes back to
it, for which the GPU must be done.
fix: the arrays are made before the first quarter, and used again (alloc-bound).
useless: the sums come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

LOANS, REGIONS, QUARTERS, THREADS, SUMS = 1 << 23, 16, 12, 256, 1024
BLOCKS, EACH, SHARE = LOANS // THREADS, LOANS // REGIONS, LOANS // SUMS  # EACH: loans of a region; SHARE: those of a sum
float32 = numba.float32
NOUGHT, ONE, BY_RATIO, BY_BURDEN, SAFE, FORCED, KEEPS = (
    numpy.float32(number) for number in (0.0, 1.0, 3.5, 6.0, 8.5, 0.75, 0.05))


@cuda.jit
def worth_now(worth, prices, quarter, out):
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = worth[loan] * prices[quarter, loan // EACH]


@cuda.jit
def ratio_of(debt, worth, out):
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = debt[loan] / worth[loan]


@cuda.jit
def burden_of(debt, income, wages, rates, quarter, out):
    """Which share of their income people pay for the house."""
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = debt[loan] * rates[quarter] / (income[loan] * wages[quarter, loan // EACH])


@cuda.jit
def chance_of(ratio, burden, out):
    """How likely it is that a loan is not paid back."""
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = ONE / (ONE + math.exp(SAFE - BY_RATIO * ratio[loan] - BY_BURDEN * burden[loan]))


@cuda.jit
def share_lost(debt, worth, out):
    """Which share of a loan is lost when the house is sold in haste."""
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = max((debt[loan] - FORCED * worth[loan]) / debt[loan], KEEPS)


@cuda.jit
def expected(debt, chance, share, out):
    loan = cuda.grid(1)
    if loan < LOANS:
        out[loan] = debt[loan] * chance[loan] * share[loan]


@cuda.jit
def added(losses, sums):
    """Each block adds up SHARE loans."""
    part = cuda.shared.array(THREADS, float32)
    at = cuda.threadIdx.x
    start = cuda.blockIdx.x * SHARE
    total = NOUGHT
    for number in range(at, SHARE, THREADS):
        total += losses[start + number]
    part[at] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if at < half:
            part[at] += part[at + half]
        cuda.syncthreads()
        half //= 2
    if at == 0:
        sums[cuda.blockIdx.x] = part[0]


def book(random):
    """Worth of each house, debt and income of a year, in thousands."""
    worth = (250.0 * numpy.exp(0.4 * random.standard_normal(LOANS, dtype=numpy.float32))).astype(numpy.float32)
    debt = worth * (0.2 + 0.75 * random.random(LOANS, dtype=numpy.float32))
    income = (0.12 * debt + 30.0 * (1.0 + random.random(LOANS, dtype=numpy.float32))).astype(numpy.float32)
    return [cuda.to_device(array.astype(numpy.float32)) for array in (worth, debt, income)]


def bad_times(random):
    """Prices and wages of the regions by quarter, of those of today, and interest and repayment."""
    fall = numpy.linspace(0.0, 1.0, QUARTERS)[:, None]
    prices = 1.0 - fall * random.uniform(0.15, 0.40, REGIONS)
    wages = 1.0 - fall * random.uniform(0.02, 0.12, REGIONS)
    rates = numpy.linspace(0.05, 0.09, QUARTERS)
    return [cuda.to_device(array.astype(numpy.float32)) for array in (prices, wages, rates)]


def make(variant):
    random = numpy.random.default_rng(20)
    worth, debt, income = book(random)
    prices, wages, rates = bad_times(random)
    landing = cuda.pinned_array(SUMS, numpy.float32) if variant == "useless" else numpy.zeros(SUMS, numpy.float32)
    made, turn, lost = {}, [0], numpy.zeros((QUARTERS, REGIONS))

    def array(name, size=LOANS):
        if variant != "fix":
            return cuda.device_array(size, numpy.float32)  # cause: alloc
        if name not in made:
            made[name] = cuda.device_array(size, numpy.float32)
        return made[name]

    def applied(kernel, name, *inputs):
        out = array(name)  # cause: alloc
        kernel[BLOCKS, THREADS](*inputs, out)
        return out

    def losses_in(quarter):
        now = applied(worth_now, "now", worth, prices, quarter)  # cause: alloc
        ratio = applied(ratio_of, "ratio", debt, now)  # cause: alloc
        burden = applied(burden_of, "burden", debt, income, wages, rates, quarter)  # cause: alloc
        chance = applied(chance_of, "chance", ratio, burden)  # cause: alloc
        share = applied(share_lost, "share", debt, now)  # cause: alloc
        return applied(expected, "loss", debt, chance, share)  # cause: alloc

    def step():
        quarter = turn[0] % QUARTERS
        turn[0] += 1
        losses = losses_in(numpy.int32(quarter))  # cause: alloc
        sums = array("sums", SUMS)  # cause: alloc
        added[SUMS, THREADS](losses, sums)
        sums.copy_to_host(landing)
        lost[quarter] = landing.reshape(REGIONS, SUMS // REGIONS).sum(axis=1, dtype=numpy.float64)

    return fixable.Work(step, cuda.synchronize, lambda: (lost / 1e6).sum(axis=1).tolist())


run.main(make)
