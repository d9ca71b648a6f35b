# SPDX-License-Identifier: Apache-2.0
"""Numba: planets are looked for that pass in front of their stars: the brightness of each star is freed from its own slow
changes, and then folded by eight thousand periods, to see whether it is lower in a short part of one (box least squares).

Wrong: NumPy takes the slow changes out of a curve by a running median, for which the GPU waits; and the host waits for the GPU.
fix: the curves of all stars are made flat before the loop, and used in turns (host-bound).
fix2: what was found stays on the device, and is read every 20 stars, so that the next curve is made meanwhile (sync-bound).
fix3: the median is taken at each eighth point only, and a line drawn between these points (host-bound).
useless: the curves and what is found lie in pinned memory.
"""
import math

import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=300, warm_up=TOGETHER, multiple=TOGETHER)
numpy, numba, cuda = fixable.load_numba()

POINTS, PERIODS, BINS, LONGEST, STARS, AROUND, COARSE = 4096, 8192, 128, 8, 20, 41, 8
SHORTEST_DAYS, LONGEST_DAYS, DAYS = 0.8, 12.0, 80.0
int32, float32 = numba.int32, numba.float32


@cuda.jit
def fold(times, flux, weights, rates, power):
    """How well a box fits to the curve; a block for each period, a thread for each bin of it."""
    depth = cuda.shared.array(BINS, float32)
    heavy = cuda.shared.array(BINS, float32)
    period, bin_ = cuda.blockIdx.x, cuda.threadIdx.x
    depth[bin_] = float32(0.0)
    heavy[bin_] = float32(0.0)
    cuda.syncthreads()
    rate = rates[period]
    for i in range(bin_, POINTS, BINS):
        turns = times[i] * rate
        at = int32((turns - math.floor(turns)) * float32(BINS)) % int32(BINS)
        cuda.atomic.add(depth, at, flux[i] * weights[i])
        cuda.atomic.add(heavy, at, weights[i])
    cuda.syncthreads()
    low, weight, best = float32(0.0), float32(0.0), float32(0.0)
    for k in range(LONGEST):
        at = (bin_ + int32(k)) % int32(BINS)
        low += depth[at]
        weight += heavy[at]
        if low < float32(0.0) and weight > float32(0.0) and weight < float32(0.5):
            fits = low * low / (weight * (float32(1.0) - weight))
            if fits > best:
                best = fits
    cuda.syncthreads()
    depth[bin_] = best
    cuda.syncthreads()
    half = int32(BINS // 2)
    while half > 0:
        if bin_ < half and depth[bin_ + half] > depth[bin_]:
            depth[bin_] = depth[bin_ + half]
        cuda.syncthreads()
        half //= int32(2)
    if bin_ == 0:
        power[period] = depth[0]


def sky(random):
    """(times, curves of stars): they get brighter and darker slowly, and have planets and noise."""
    times = numpy.sort(random.uniform(0.0, DAYS, POINTS)).astype(numpy.float32)
    curves = []
    for _ in range(STARS):
        period, start = random.uniform(1.0, 10.0), random.uniform(0.0, 1.0)
        spots = 0.01 * numpy.sin(2.0 * numpy.pi * times / random.uniform(8.0, 20.0)) + 0.003 * numpy.sin(times)
        passes = (times / period + start) % 1.0 < 0.03
        curves.append(1.0 + spots - 0.002 * passes + 0.0005 * random.standard_normal(POINTS))
    return times, curves


def make(variant):
    random = numpy.random.default_rng(20)
    times, curves = sky(random)
    rates = 1.0 / numpy.geomspace(SHORTEST_DAYS, LONGEST_DAYS, PERIODS)
    times_there, rates_there = cuda.to_device(times), cuda.to_device(rates.astype(numpy.float32))
    if variant == "useless":
        places = [cuda.pinned_array(POINTS, numpy.float32) for _ in range(2)]
        landing = cuda.pinned_array(PERIODS, numpy.float32)
    else:
        landing = numpy.zeros(PERIODS, numpy.float32)
    turn, best, pending = [0], [0.0] * STARS, []

    def slow_changes(curve):
        longer = numpy.pad(curve, AROUND, mode="edge")  # cause: loader
        windows = numpy.lib.stride_tricks.sliding_window_view(longer, 2 * AROUND + 1)  # cause: loader
        if variant == "fix3":
            middle = numpy.median(windows[::COARSE], axis=1)
            return numpy.interp(numpy.arange(POINTS), numpy.arange(0, POINTS, COARSE), middle)
        return numpy.median(windows, axis=1)  # cause: loader

    def flat(curve):
        """(how far a curve is from what the star does by itself, what each point weighs)"""
        flux = curve / slow_changes(curve) - 1.0  # cause: loader
        weights = numpy.ones(POINTS)
        for _ in range(3):
            off = flux - numpy.average(flux, weights=weights)
            weights = (off < 3.0 * numpy.sqrt(numpy.average(off * off, weights=weights))).astype(float)  # a flare is too bright
        flux -= numpy.average(flux, weights=weights)
        return flux.astype(numpy.float32), (weights / weights.sum()).astype(numpy.float32)

    made = [flat(curve) for curve in curves] if variant == "fix" else None

    def found(number, power):
        power.copy_to_host(landing)  # cause: wait
        best[number] = float(landing.max())

    def step():
        number = turn[0] % STARS
        turn[0] += 1
        parts = made[number] if made else flat(curves[number])  # cause: loader
        if variant == "useless":
            for place, part in zip(places, parts):
                place[:] = part
            parts = places
        flux, weights = [cuda.to_device(part) for part in parts]  # cause: delayed
        power = cuda.device_array(PERIODS, numpy.float32)
        fold[PERIODS, BINS](times_there, flux, weights, rates_there, power)
        if variant != "fix2":
            found(number, power)  # cause: wait
            return
        pending.append((number, power))
        if len(pending) == TOGETHER:
            for one in pending:
                found(*one)
            pending.clear()

    return fixable.Work(step, cuda.synchronize, lambda: [1e6 * power for power in best])


run.main(make)
