# SPDX-License-Identifier: Apache-2.0
"""Numba: a smoothing that follows the edges of pictures; the kernel does one row, and Python calls it for each row.

Wrong: a launch for each row, which takes Python many times what the kernel runs.
fix: one kernel of two dimensions for the whole picture (launch-bound).
useless: the host does not wait for each picture.
"""
import fixable

import math

run = fixable.Program(__doc__, steps=1000, warm_up=5)
numpy, numba, cuda = fixable.load_numba()

HEIGHT, WIDTH, REACH, PICTURES = 128, 2048, 3, 4
THREADS = 128
float32 = numba.float32


@cuda.jit(device=True)
def smooth(picture, row, column):
    middle = picture[row, column]
    total, weights = float32(0.0), float32(0.0)
    for down in range(-REACH, REACH + 1):
        for right in range(-REACH, REACH + 1):
            value = picture[min(max(row + down, 0), HEIGHT - 1), min(max(column + right, 0), WIDTH - 1)]
            apart = value - middle
            weight = math.exp(-float32(0.05) * float32(down * down + right * right) - float32(20.0) * apart * apart)
            total += weight * value
            weights += weight
    return total / weights


@cuda.jit
def smooth_row(picture, out, row):
    column = cuda.grid(1)
    if column < WIDTH:
        out[row, column] = smooth(picture, row, column)


@cuda.jit
def smooth_all(picture, out):
    column, row = cuda.grid(2)
    if row < HEIGHT and column < WIDTH:
        out[row, column] = smooth(picture, row, column)


def make(variant):
    random = numpy.random.default_rng(20)
    slope = numpy.linspace(0.0, 3.0, WIDTH, dtype=numpy.float32) % 1.0
    pictures = [cuda.to_device((slope + 0.1 * random.random((HEIGHT, WIDTH), dtype=numpy.float32)).astype(numpy.float32))
                for _ in range(PICTURES)]
    out = cuda.to_device(numpy.zeros((HEIGHT, WIDTH), numpy.float32))
    turn = [0]

    def step():
        picture = pictures[turn[0] % PICTURES]
        turn[0] += 1
        if variant == "fix":
            smooth_all[((WIDTH + THREADS - 1) // THREADS, HEIGHT), (THREADS, 1)](picture, out)
        else:
            for row in range(HEIGHT):
                smooth_row[(WIDTH + THREADS - 1) // THREADS, THREADS](picture, out, row)  # cause: launch
        if variant != "useless":
            cuda.synchronize()

    return fixable.Work(step, cuda.synchronize, lambda: out.copy_to_host()[:64:4, ::32].reshape(-1).tolist())


run.main(make)
