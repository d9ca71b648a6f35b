# SPDX-License-Identifier: Apache-2.0
"""Numba: how much water the fields of a province lose hour by hour is told to its farmers, who water them by that: from the
height of the ground (4608 by 4608 points), leaves and weather come the warmth and dryness of the air, the sun's energy
and what evaporates (by Penman and Monteith), and the water in the soil of each of 324 farms.

Wrong: the four arrays between the kernels, of 85 MB each, are taken from the driver anew every hour, and go back to it
(alloc-bound).
fix: they are made once (alloc-bound).
useless: the water of the farms, which is read every 40 hours, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

SIZE, FARM, FARMS, READ = 4608, 256, 324, 40
BLOCK, GRID = (32, 8), (SIZE // 32, SIZE // 8)
ONE, ZERO, KELVIN, MOST = numpy.float32(1.0), numpy.float32(0.0), numpy.float32(273.0), numpy.float32(120.0)
LAPSE, ES, EA, EB = numpy.float32(0.0065), numpy.float32(0.6108), numpy.float32(17.27), numpy.float32(237.3)
ALBEDO, BLUE = numpy.float32(0.77), numpy.float32(2.04e-10)
SLOPE, LESS = numpy.float32(0.05), numpy.float32(0.1)
RADIANT, GAMMA, AERO, DRAG = numpy.float32(0.408), numpy.float32(0.066), numpy.float32(37.0), numpy.float32(0.34)
CURVE, CROP, STRESS = numpy.float32(4098.0), numpy.float32(0.5), numpy.float32(0.02)


@cuda.jit
def warmth(ground, mean, heat):
    x, y = cuda.grid(2)
    heat[y, x] = mean - LAPSE * ground[y, x]


@cuda.jit
def dryness(heat, humid, lack):
    x, y = cuda.grid(2)
    t = heat[y, x]
    lack[y, x] = ES * math.exp(EA * t / (t + EB)) * (ONE - humid)


@cuda.jit
def sunlight(ground, heat, sun, energy):
    """What slopes to the south take in, less what the ground gives off."""
    x, y = cuda.grid(2)
    below = ground[min(y + 1, SIZE - 1), x]
    faced = max(ZERO, ONE + SLOPE * (ground[y, x] - below))
    t = heat[y, x] + KELVIN
    energy[y, x] = ALBEDO * sun * faced - BLUE * t * t * t * t * LESS


@cuda.jit
def evaporation(heat, lack, energy, leaves, water, wind, loss):
    x, y = cuda.grid(2)
    t = heat[y, x]
    steep = CURVE * ES * math.exp(EA * t / (t + EB)) / ((t + EB) * (t + EB))
    drawn = RADIANT * steep * energy[y, x] + GAMMA * AERO / (t + KELVIN) * wind * lack[y, x]
    drawn = drawn / (steep + GAMMA * (ONE + DRAG * wind)) * (CROP + leaves[y, x])
    loss[y, x] = max(ZERO, drawn) * min(ONE, STRESS * water[y, x])


@cuda.jit
def soil(loss, rain, water):
    x, y = cuda.grid(2)
    water[y, x] = min(MOST, max(ZERO, water[y, x] + rain - loss[y, x]))


@cuda.jit
def farms(water, told):
    """The mean of each farm, by a block; a thread sums a column."""
    sums = cuda.shared.array(FARM, numba.float32)
    x = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * FARM, cuda.blockIdx.x * FARM
    total = ZERO
    for y in range(FARM):
        total += water[top + y, left + x]
    sums[x] = total
    cuda.syncthreads()
    if x == 0:
        total = ZERO
        for k in range(FARM):
            total += sums[k]
        told[cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x] = total / numpy.float32(FARM * FARM)


def province():
    """Heights of the ground in metres, leaves, and water in the soil in millimetres."""
    random = numpy.random.default_rng(20)
    down, right = numpy.linspace(0.0, 9.0, SIZE)[:, None], numpy.linspace(0.0, 7.0, SIZE)
    ground = 300.0 + 200.0 * numpy.sin(down) * numpy.cos(right) + 40.0 * numpy.sin(9.0 * down + 5.0 * right)
    leaves = random.random((SIZE, SIZE), dtype=numpy.float32) * numpy.float32(0.6)
    return [cuda.to_device(a.astype(numpy.float32)) for a in (ground, leaves, numpy.full((SIZE, SIZE), 60.0))]


def make(variant):
    ground, leaves, water = province()
    told = cuda.to_device(numpy.zeros(FARMS, dtype=numpy.float32))
    room = lambda: cuda.device_array((SIZE, SIZE), dtype=numpy.float32)  # cause: alloc
    kept = [room() for _ in range(4)] if variant == "fix" else None
    landing = cuda.pinned_array(FARMS, dtype=numpy.float32) if variant == "useless" else numpy.zeros(FARMS, dtype=numpy.float32)
    turn = [0]

    def hour(mean, humid, sun, wind, rain):
        heat, lack, energy, loss = kept or [room() for _ in range(4)]  # cause: alloc
        warmth[GRID, BLOCK](ground, mean, heat)
        dryness[GRID, BLOCK](heat, humid, lack)
        sunlight[GRID, BLOCK](ground, heat, sun, energy)
        evaporation[GRID, BLOCK](heat, lack, energy, leaves, water, wind, loss)
        soil[GRID, BLOCK](loss, rain, water)
        farms[(18, 18), FARM](water, told)  # cause: alloc

    def step():
        day = 2.0 * math.pi * (turn[0] % 24) / 24.0
        high = max(0.0, -math.cos(day))
        weather = (18.0 - 6.0 * math.cos(day), 0.7 - 0.2 * high, 2.6 * high, 2.0 + high, 0.12)
        hour(*[numpy.float32(number) for number in weather])  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            told.copy_to_host(landing)

    return fixable.Work(step, cuda.synchronize, lambda: told.copy_to_host()[:64].tolist())


run.main(make)
