# SPDX-License-Identifier: Apache-2.0
"""Numba: a heat equation is solved on device arrays, and after each iteration the largest change is copied to the host.

Wrong: the host waits for one number at each iteration, and launches the next one only then.
fix: the change is looked at every 100 iterations (sync-bound).
useless: the number is copied to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=30000, warm_up=100, multiple=100)
numpy, numba, cuda = fixable.load_numba()

SIZE, TOGETHER = 2048, 100
THREADS = (32, 8)
BLOCKS = (SIZE // THREADS[0], SIZE // THREADS[1])
float32 = numba.float32


@cuda.jit
def clear(largest):
    largest[0] = 0.0


@cuda.jit
def relax(old, new, largest):
    part = cuda.shared.array(256, float32)
    x, y = cuda.grid(2)
    at = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    change = float32(0.0)
    if 0 < x < SIZE - 1 and 0 < y < SIZE - 1:
        value = float32(0.25) * (old[y, x - 1] + old[y, x + 1] + old[y - 1, x] + old[y + 1, x])
        change = abs(value - old[y, x])
        new[y, x] = value
    part[at] = change
    cuda.syncthreads()
    half = 128
    while half > 0:
        if at < half:
            part[at] = max(part[at], part[at + half])
        cuda.syncthreads()
        half //= 2
    if at == 0:
        cuda.atomic.max(largest, 0, part[0])


def make(variant):
    start = numpy.zeros((SIZE, SIZE), numpy.float32)
    start[0, :] = 1.0
    start[:, -1] = numpy.linspace(1.0, 0.0, SIZE, dtype=numpy.float32)
    fields = [cuda.to_device(start), cuda.to_device(start)]
    largest = cuda.to_device(numpy.zeros(1, numpy.float32))
    landing = cuda.pinned_array(1, numpy.float32) if variant == "useless" else numpy.zeros(1, numpy.float32)
    turn, changes = [0], []

    def step():
        clear[1, 1](largest)
        relax[BLOCKS, THREADS](fields[0], fields[1], largest)
        fields.reverse()
        turn[0] += 1
        if variant != "fix" or turn[0] % TOGETHER == 0:
            largest.copy_to_host(landing)  # cause: wait,copy
            changes[:] = [float(landing[0])]
            if math.isnan(changes[0]):
                raise RuntimeError("the solution is lost at iteration %d" % turn[0])

    return fixable.Work(step, cuda.synchronize, lambda: changes + fields[0].copy_to_host()[1:65, 1000].tolist())


run.main(make)
