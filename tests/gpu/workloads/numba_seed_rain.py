# SPDX-License-Identifier: Apache-2.0
"""Numba: how a forest comes back on 17 million squares of burnt land, year by year. Wind strews the seeds of trees over the land,
along rows and then along columns; seedlings come up where soil is good and the neighbours' crowns leave light, and trees grow,
and die more often in warm years. How much wood stands on 64 plots is written down each year.

Wrong: each year has arrays of its own for what is worked out on the way, which are taken from the driver and given back to it; to
give them back waits for the GPU.
fix: these arrays are made once before the loop (alloc-bound).
useless: what is written down, which is read once in 25 years, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

SIZE, FAR, NEAR, PLOTS, YEARS, LOGGED, ON_THE_WAY = 4096, 8, 3, 64, 50, 25, 5
THREADS = (32, 8)
float32 = numba.float32


@cuda.jit
def strew_rows(wood, share, across):
    """Seeds that fall on a square from trees of its row."""
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        total = float32(0.0)
        for far in range(-FAR, FAR + 1):
            total += share[far + FAR] * wood[y, min(max(x + far, 0), SIZE - 1)]
        across[y, x] = total


@cuda.jit
def strew_columns(across, share, seeds):
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        total = float32(0.0)
        for far in range(-FAR, FAR + 1):
            total += share[far + FAR] * across[min(max(y + far, 0), SIZE - 1), x]
        seeds[y, x] = total


@cuda.jit
def crowns_rows(wood, over):
    """What crowns of its row cover of a square."""
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        total = float32(0.0)
        for far in range(-NEAR, NEAR + 1):
            total += wood[y, min(max(x + far, 0), SIZE - 1)]
        over[y, x] = total


@cuda.jit
def crowns_columns(over, shade):
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        total = float32(0.0)
        for far in range(-NEAR, NEAR + 1):
            total += over[min(max(y + far, 0), SIZE - 1), x]
        shade[y, x] = float32(0.02) * total


@cuda.jit
def sprout(seeds, shade, soil, sprouts):
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        sprouts[y, x] = float32(0.2) * soil[y, x] * seeds[y, x] * math.exp(-shade[y, x])


@cuda.jit
def grow(wood, sprouts, shade, soil, warm):
    """A year's growth and death."""
    x, y = cuda.grid(2)
    if x < SIZE and y < SIZE:
        here = wood[y, x]
        gain = float32(0.3) * here * soil[y, x] / (float32(1.0) + here + shade[y, x])
        wood[y, x] = here + gain + sprouts[y, x] - float32(0.1) * warm * here


@cuda.jit
def write_down(wood, places, log, row):
    at = cuda.grid(1)
    if at < PLOTS:
        log[row, at] = wood[places[at, 0], places[at, 1]]


def land():
    """How good the soil is, and the wood that fire has left in some places."""
    luck = numpy.random.default_rng(20)
    coarse = luck.uniform(0.3, 1.0, (SIZE // 32, SIZE // 32)).astype(numpy.float32)
    soil = numpy.repeat(numpy.repeat(coarse, 32, axis=0), 32, axis=1)
    left = (luck.uniform(0.0, 1.0, (SIZE // 64, SIZE // 64)) < 0.3).astype(numpy.float32)
    wood = numpy.repeat(numpy.repeat(left, 64, axis=0), 64, axis=1) * luck.random((SIZE, SIZE), dtype=numpy.float32)
    return soil, wood, luck.integers(SIZE, size=(PLOTS, 2)).astype(numpy.int32), luck.uniform(0.5, 1.5, YEARS)


def make(variant):
    soil, wood, places, warmth = land()
    soil, wood, places = cuda.to_device(soil), cuda.to_device(wood), cuda.to_device(places)
    share = numpy.exp(-numpy.abs(numpy.arange(-FAR, FAR + 1)) / 3.0)
    share = cuda.to_device((share / share.sum()).astype(numpy.float32))
    log = cuda.to_device(numpy.zeros((LOGGED, PLOTS), dtype=numpy.float32))
    host_array = cuda.pinned_array if variant == "useless" else numpy.empty
    read = host_array((LOGGED, PLOTS), dtype=numpy.float32)
    read[:] = 0.0
    grid, turn = ((SIZE // THREADS[0], SIZE // THREADS[1]), THREADS), [0]

    def own_arrays():
        return [cuda.device_array((SIZE, SIZE), dtype=numpy.float32) for _ in range(ON_THE_WAY)]  # cause: alloc

    arrays = own_arrays()

    def step():
        if variant != "fix":
            arrays[:] = own_arrays()  # cause: alloc
        across, seeds, over, shade, sprouts = arrays
        strew_rows[grid](wood, share, across)
        strew_columns[grid](across, share, seeds)
        crowns_rows[grid](wood, over)
        crowns_columns[grid](over, shade)
        sprout[grid](seeds, shade, soil, sprouts)
        grow[grid](wood, sprouts, shade, soil, numpy.float32(warmth[turn[0] % YEARS]))
        write_down[1, PLOTS](wood, places, log, turn[0] % LOGGED)
        turn[0] += 1
        if turn[0] % LOGGED == 0:
            log.copy_to_host(read)

    return fixable.Work(step, cuda.synchronize, lambda: read.mean(axis=0).tolist())


run.main(make)
