# SPDX-License-Identifier: Apache-2.0
"""Numba: asteroids that are too faint for one picture are found by 32 pictures of a night, which are added up as if each of them
had gone along with an asteroid that moves by a certain speed; 96 speeds are tried in turn, six a step. For each point the sky's
best significance (of 3 by 3 points) is kept, and which speed it is from. Every 20 steps the points beyond 12 sigma are counted.

Wrong: the sums, how many pictures they are of, and the significances of each speed are new arrays of 16.8 MB, for which Numba
asks the driver; old ones go back to it, which waits for the GPU.
fix: the three arrays are made once, before the loop (alloc-bound).
useless: the count comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

PICTURES, SIZE, SPEEDS, EACH, COUNTED = 32, 2048, 96, 6, 20
ASTEROIDS, BRIGHT, SURE = 60, 1.2, 12.0  # BRIGHT: of one picture's noise, at a point
THREADS = (64, 4)
BLOCKS = (SIZE // THREADS[0], SIZE // THREADS[1])


@cuda.jit
def add_moving(pictures, moves, speed, sums, seen):
    """Adds up the pictures as they are seen from what moves."""
    x, y = cuda.grid(2)
    if x < sums.shape[1] and y < sums.shape[0]:
        total = numpy.float32(0.0)
        number = numpy.float32(0.0)
        for k in range(pictures.shape[0]):
            right = x + moves[speed, k, 0]
            down = y + moves[speed, k, 1]
            if right >= 0 and right < sums.shape[1] and down >= 0 and down < sums.shape[0]:
                total += pictures[k, down, right]
                number += numpy.float32(1.0)
        sums[y, x] = total
        seen[y, x] = number


@cuda.jit
def significance(sums, seen, sigmas):
    """By how many sigmas 3 by 3 points are brighter than the sky."""
    x, y = cuda.grid(2)
    if x < sums.shape[1] and y < sums.shape[0]:
        total = numpy.float32(0.0)
        number = numpy.float32(0.0)
        for down in range(max(y - 1, 0), min(y + 2, sums.shape[0])):
            for right in range(max(x - 1, 0), min(x + 2, sums.shape[1])):
                total += sums[down, right]
                number += seen[down, right]
        if number > numpy.float32(0.5):
            sigmas[y, x] = total / math.sqrt(number)
        else:
            sigmas[y, x] = numpy.float32(0.0)


@cuda.jit
def keep_best(sigmas, speed, best, which):
    x, y = cuda.grid(2)
    if x < best.shape[1] and y < best.shape[0]:
        if sigmas[y, x] > best[y, x]:
            best[y, x] = sigmas[y, x]
            which[y, x] = speed


@cuda.jit
def count_sure(best, sure, tally):
    x, y = cuda.grid(2)
    if x < best.shape[1] and y < best.shape[0]:
        if best[y, x] > sure:
            cuda.atomic.add(tally, 0, 1)


def night():
    """The pictures, of noise and asteroids, and for each speed by how many points it moves until each picture."""
    random = numpy.random.default_rng(20)
    pictures = random.standard_normal((PICTURES, SIZE, SIZE), dtype=numpy.float32)
    ways = random.uniform(0.0, 2.0 * math.pi, SPEEDS)
    fast = random.uniform(20.0, 90.0, SPEEDS)  # points in a night
    hours = numpy.linspace(0.0, 1.0, PICTURES)
    moves = numpy.stack((numpy.cos(ways) * fast, numpy.sin(ways) * fast), axis=1)[:, None, :] * hours[None, :, None]
    moves = numpy.rint(moves).astype(numpy.int32)
    for number in range(ASTEROIDS):
        x, y = random.integers(100, SIZE - 100, 2)
        for picture, (right, down) in zip(pictures, moves[number % SPEEDS]):
            picture[y + down - 1:y + down + 2, x + right - 1:x + right + 2] += numpy.float32(BRIGHT)
    return pictures, moves


def make(variant):
    pictures, moves = night()
    pictures, moves = cuda.to_device(pictures), cuda.to_device(moves)
    best = cuda.to_device(numpy.zeros((SIZE, SIZE), dtype=numpy.float32))
    which = cuda.to_device(numpy.zeros((SIZE, SIZE), dtype=numpy.int32))
    tally = cuda.to_device(numpy.zeros(1, dtype=numpy.int32))
    landing = cuda.pinned_array(1, dtype=numpy.int32) if variant == "useless" else numpy.zeros(1, dtype=numpy.int32)
    ready = [cuda.device_array((SIZE, SIZE), dtype=numpy.float32) for _ in range(3)] if variant == "fix" else None
    sure = numpy.float32(SURE)
    count_sure[BLOCKS, THREADS](best, sure, tally)  # compiled here; there is nothing to count yet
    turn, counted, found = [0], [0], [0]

    def search(speed):
        if variant == "fix":
            sums, seen, sigmas = ready
        else:
            sums = cuda.device_array((SIZE, SIZE), dtype=numpy.float32)  # cause: alloc
            seen = cuda.device_array((SIZE, SIZE), dtype=numpy.float32)  # cause: alloc
            sigmas = cuda.device_array((SIZE, SIZE), dtype=numpy.float32)  # cause: alloc
        add_moving[BLOCKS, THREADS](pictures, moves, speed, sums, seen)
        significance[BLOCKS, THREADS](sums, seen, sigmas)
        keep_best[BLOCKS, THREADS](sigmas, speed, best, which)

    def step():
        for k in range(EACH):
            search(numpy.int32((turn[0] * EACH + k) % SPEEDS))  # cause: alloc
        turn[0] += 1
        if turn[0] % COUNTED == 0:
            count_sure[BLOCKS, THREADS](best, sure, tally)  # the tally goes on from the last one
            tally.copy_to_host(landing)
            found[0], counted[0] = int(landing[0]) - counted[0], int(landing[0])

    def values():
        """How many points are beyond 12 sigma, the best one's sigmas and speed, and the sigmas by the mean."""
        sigmas, speeds = best.copy_to_host(), which.copy_to_host()
        at = int(sigmas.argmax())
        return [found[0] / 100.0, float(sigmas.flat[at]), speeds.flat[at] / 10.0, float(sigmas.mean(dtype=numpy.float64))]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
