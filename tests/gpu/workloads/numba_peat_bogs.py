# SPDX-License-Identifier: Apache-2.0
"""Numba: a raised bog, 4096 by 4096 cells of half a metre, is to be wet again. From a survey of how deep its water stands it is
told how well the peat lets water through, how much flows to the east and to the south, how deep it stands at the end of
a day, how the surface rises and falls by it, and how much methane and carbon dioxide leave the peat. A step is one of four
surveys; how much deeper the water stands, the methane and the carbon dioxide of 16 parts of each row are told.

Wrong: the seven arrays between the kernels, of 67 MB each, are taken from the driver anew for each survey, and given back.
fix: these arrays are made once, before the loop (alloc-bound).
useless: what is told of the parts, which is read once in 25 steps, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

SIDE, SURVEYS, THREADS, NOISE, READ, BETWEEN, TOLD = 4096, 4, 256, 65536, 25, 7, 3
BLOCKS, float32 = SIDE // THREADS, numba.float32


@cuda.jit
def survey(number, noise, depth):
    """Made-up depths of the water below the surface, in metres: a dome, ditches, hummocks and hollows."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    east, south = float32(at) / float32(SIDE) - float32(0.5), float32(row) / float32(SIDE) - float32(0.5)
    dome = float32(0.1) + float32(0.3) * (east * east + south * south)
    ditch = float32(0.25) if (at + 64 * number) % 512 < 6 else float32(0.0)
    waves = float32(0.04) * math.sin(float32(0.11) * float32(at % 2048)) * math.sin(float32(0.07) * float32(row))
    depth[row, at] = dome + ditch + waves + float32(0.02) * noise[(at * 7 + row * 977 + number * 3571) % NOISE]


@cuda.jit
def lets_through(depth, ease):
    """How well the peat lets water through: moss above does so much better than old peat below."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    ease[row, at] = float32(0.002) + float32(0.8) * math.exp(float32(-9.0) * max(depth[row, at], float32(0.0)))


@cuda.jit
def flow(depth, ease, flows, right, down):
    """What flows to the next cell at the right or below, by the slope of the water."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    there, below = min(at + right, SIDE - 1), min(row + down, SIDE - 1)
    slope = depth[below, there] - depth[row, at] + float32(0.001)
    flows[row, at] = float32(0.5) * (ease[row, at] + ease[below, there]) * slope


@cuda.jit
def balance(depth, east, south, later):
    """How deep the water stands a day later: less flows in than out where it falls, and the air takes its part."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    more = east[row, max(at - 1, 0)] - east[row, at] + south[max(row - 1, 0), at] - south[row, at]
    taken = float32(0.004) / (float32(1.0) + math.exp(float32(12.0) * (depth[row, at] - float32(0.3))))
    later[row, at] = depth[row, at] - float32(0.1) * more + taken


@cuda.jit
def breathe(depth, later, rise):
    """How the surface rises or falls with the water."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    soft = float32(0.3) * math.exp(float32(-3.0) * max(depth[row, at], float32(0.0)))
    rise[row, at] = soft * (depth[row, at] - later[row, at])


@cuda.jit
def breath(later, rise, methane, carbon):
    """Methane comes where peat is wet up to its top, carbon dioxide where it is dry."""
    at, row = cuda.grid(1), cuda.blockIdx.y
    dry = max(later[row, at] + rise[row, at], float32(0.0))
    methane[row, at] = float32(0.2) * math.exp(float32(-14.0) * dry)
    carbon[row, at] = float32(6.0) * (float32(1.0) - math.exp(float32(-4.0) * dry))


@cuda.jit
def by_part(depth, later, methane, carbon, parts):
    """Means of a part of a row: a block of threads for each."""
    sums = cuda.shared.array((TOLD, THREADS), float32)
    own, row = cuda.threadIdx.x, cuda.blockIdx.y
    at = cuda.blockIdx.x * THREADS + own
    sums[0, own], sums[1, own], sums[2, own] = later[row, at] - depth[row, at], methane[row, at], carbon[row, at]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            for kind in range(TOLD):
                sums[kind, own] += sums[kind, own + half]
        cuda.syncthreads()
        half //= 2
    if own < TOLD:
        parts[own, row, cuda.blockIdx.x] = sums[own, 0] / float32(THREADS)


def surveys():
    """Depths of the water of some surveys, on the GPU."""
    luck = numpy.random.default_rng(20)
    noise = cuda.to_device(luck.standard_normal(NOISE).astype(numpy.float32))
    for number in range(SURVEYS):
        depth = cuda.device_array((SIDE, SIDE), dtype=numpy.float32)
        survey[(BLOCKS, SIDE), THREADS](number, noise, depth)
        yield depth


def make(variant):
    surveyed = list(surveys())
    shape = (TOLD, SIDE, BLOCKS)
    parts = [cuda.to_device(numpy.zeros(shape, dtype=numpy.float32)) for _ in range(SURVEYS)]
    told = cuda.pinned_array(shape, dtype=numpy.float32) if variant == "useless" else numpy.empty(shape, dtype=numpy.float32)
    grid, turn = (BLOCKS, SIDE), [0]

    def between():
        """The arrays between the kernels."""
        return [cuda.device_array((SIDE, SIDE), dtype=numpy.float32) for _ in range(BETWEEN)]  # cause: alloc

    kept = between() if variant == "fix" else None

    def tell(depth, found):
        """The kernels of a survey."""
        ease, east, south, later, rise, methane, carbon = kept or between()  # cause: alloc
        lets_through[grid, THREADS](depth, ease)
        flow[grid, THREADS](depth, ease, east, 1, 0)
        flow[grid, THREADS](depth, ease, south, 0, 1)
        balance[grid, THREADS](depth, east, south, later)
        breathe[grid, THREADS](depth, later, rise)
        breath[grid, THREADS](later, rise, methane, carbon)
        by_part[grid, THREADS](depth, later, methane, carbon, found)

    def step():
        number = turn[0] % SURVEYS
        tell(surveyed[number], parts[number])  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            parts[number].copy_to_host(told)

    def values():
        """Means of each survey: how much deeper the water stands, methane and carbon dioxide."""
        return [float(mean) for found in parts for mean in found.copy_to_host().mean(axis=(1, 2), dtype=numpy.float64)]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
