# SPDX-License-Identifier: Apache-2.0
"""Numba: 256 trucks of an open pit tell the pressures of their four struts, 65536 times in a shift each. From these come the load
of a truck and how its frame is twisted; both are compared with their mean of three seconds, and how much they jump tells where
the haul road is bad. A step is a shift; jolts and loads of 256 pieces of the road are told.

Wrong: the five arrays between the kernels, of 67 MB each, are taken from the driver anew for each shift, and given back.
fix: these arrays are made once, before the loop (alloc-bound).
useless: the pieces of the road, which are read once in 25 shifts, come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

TRUCKS, SAMPLES, STRUTS, SHIFTS, THREADS, HALF, PIECES, NOISE, CYCLE, READ = 256, 65536, 4, 3, 256, 16, 256, 65536, 4096, 25
STRETCHES, BETWEEN = SAMPLES // THREADS, 5  # of a truck, of THREADS samples each; arrays between the kernels
float32, int16 = numba.float32, numba.int16


@cuda.jit
def drive(shift, noise, holes, pressures):
    """Made-up pressures of each strut: empty and loaded in turns, and the road's holes."""
    at, truck, strut = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    loaded = ((at + 37 * truck) // CYCLE) % 2
    piece = (at // THREADS + 11 * truck) % PIECES
    luck = noise[(at * 7 + truck * 977 + strut * 8191 + shift * 3571) % NOISE]
    swing = math.sin(float32(0.31) * float32(at % 1024) + float32(strut))
    weight, shakes = float32(1500.0) * float32(loaded), float32(20.0) + holes[piece] * swing
    pressures[strut, truck, at] = int16(float32(700.0) + weight + shakes * luck)


@cuda.jit
def weigh(pressures, load):
    """The load of a truck, in tonnes."""
    at, truck = cuda.grid(1), cuda.blockIdx.y
    front = float32(pressures[0, truck, at]) + float32(pressures[1, truck, at])
    rear = float32(pressures[2, truck, at]) + float32(pressures[3, truck, at])
    load[truck, at] = float32(0.02) * front + float32(0.035) * rear - float32(50.0)


@cuda.jit
def twist(pressures, rack):
    """How the frame is twisted: left in front and right behind against the others."""
    at, truck = cuda.grid(1), cuda.blockIdx.y
    one = float32(pressures[0, truck, at]) + float32(pressures[3, truck, at])
    other = float32(pressures[1, truck, at]) + float32(pressures[2, truck, at])
    rack[truck, at] = float32(0.02) * (one - other)


@cuda.jit
def smooth(given, even):
    """The mean of the samples about each one."""
    at, truck = cuda.grid(1), cuda.blockIdx.y
    first = at - HALF if at > HALF else 0
    behind = at + HALF + 1 if at + HALF < SAMPLES else SAMPLES
    total = float32(0.0)
    for near in range(first, behind):
        total += given[truck, near]
    even[truck, at] = total / float32(behind - first)


@cuda.jit
def jolt(load, even, rack, level, jolts):
    """How much load and twist are off their means."""
    at, truck = cuda.grid(1), cuda.blockIdx.y
    up, turned = load[truck, at] - even[truck, at], rack[truck, at] - level[truck, at]
    jolts[truck, at] = math.sqrt(up * up + float32(0.5) * turned * turned)


@cuda.jit
def by_stretch(jolts, even, stretches):
    """Sums of a stretch: a block of threads for each."""
    sums = cuda.shared.array((2, THREADS), float32)
    own, truck = cuda.threadIdx.x, cuda.blockIdx.y
    at = cuda.blockIdx.x * THREADS + own
    sums[0, own], sums[1, own] = jolts[truck, at], even[truck, at]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            sums[0, own] += sums[0, own + half]
            sums[1, own] += sums[1, own + half]
        cuda.syncthreads()
        half //= 2
    if own < 2:
        stretches[own, truck, cuda.blockIdx.x] = sums[own, 0] / float32(THREADS)


@cuda.jit
def by_piece(stretches, usual):
    """The mean of each piece of the road, by all trucks that have gone there, and its usual one."""
    sums = cuda.shared.array(TRUCKS, float32)
    truck, piece, kind = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockIdx.y
    sums[truck] = stretches[kind, truck, (piece - 11 * truck) % PIECES]
    cuda.syncthreads()
    half = TRUCKS // 2
    while half > 0:
        if truck < half:
            sums[truck] += sums[truck + half]
        cuda.syncthreads()
        half //= 2
    if truck == 0:
        usual[kind, piece] += float32(0.05) * (sums[0] / float32(TRUCKS) - usual[kind, piece])


def shifts():
    """Pressures of some shifts, on the GPU."""
    random = numpy.random.default_rng(20)
    noise = cuda.to_device(random.standard_normal(NOISE).astype(numpy.float32))
    for shift in range(SHIFTS):
        holes = cuda.to_device(random.uniform(0.0, 120.0, PIECES).astype(numpy.float32))
        pressures = cuda.device_array((STRUTS, TRUCKS, SAMPLES), dtype=numpy.int16)
        drive[(STRETCHES, TRUCKS, STRUTS), THREADS](shift, noise, holes, pressures)
        yield pressures


def make(variant):
    driven = list(shifts())
    stretches = cuda.device_array((2, TRUCKS, STRETCHES), dtype=numpy.float32)
    usual = cuda.to_device(numpy.zeros((2, PIECES), dtype=numpy.float32))
    told = cuda.pinned_array((2, PIECES), dtype=numpy.float32) if variant == "useless" else numpy.empty((2, PIECES), numpy.float32)
    grid, turn = (STRETCHES, TRUCKS), [0]

    def between():
        """The arrays between the kernels."""
        return [cuda.device_array((TRUCKS, SAMPLES), dtype=numpy.float32) for _ in range(BETWEEN)]  # cause: alloc

    kept = between() if variant == "fix" else None

    def told_by(pressures):
        """The kernels of a shift."""
        load, rack, even, level, jolts = kept or between()  # cause: alloc
        weigh[grid, THREADS](pressures, load)
        twist[grid, THREADS](pressures, rack)
        smooth[grid, THREADS](load, even)
        smooth[grid, THREADS](rack, level)
        jolt[grid, THREADS](load, even, rack, level, jolts)
        by_stretch[grid, THREADS](jolts, even, stretches)
        by_piece[(PIECES, 2), TRUCKS](stretches, usual)

    def step():
        told_by(driven[turn[0] % SHIFTS])  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            usual.copy_to_host(told)

    return fixable.Work(step, cuda.synchronize, lambda: usual.copy_to_host().reshape(-1).tolist())


run.main(make)
