# SPDX-License-Identifier: Apache-2.0
"""Numba: where woods are cut is seen by radar from space, through clouds as well: each new picture, 4096 by 4096 points, is
freed of its speckle by the filter of Lee (the mean and the deviation of 7 by 7 points say how much of a point is to be
believed), and the logarithm of its ratio to the usual picture, which follows slowly, tells what has changed.

Wrong: each part gives new arrays of 67 MB, five a step; Numba takes each from the driver, and lets go what is no longer used by
calls that wait for the GPU.
fix: the arrays are made once (alloc-bound).
useless: the line through the picture's middle, which is read every 25 steps, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=30)
numpy, numba, cuda = fixable.load_numba()
float32 = numba.float32

SIDE, SCENES, TOLD, REACH = 4096, 4, 25, 3
SHAPE = (SIDE, SIDE)
NEAR, LOOKS, SLOW, TINY, ZERO, ONE = (numpy.float32(x) for x in (1.0 / 49.0, 0.5, 0.1, 1e-6, 0.0, 1.0))
GRID = ((SIDE // 32, SIDE // 8), (32, 8))  # blocks and threads


@cuda.reduce
def total(one, other):
    return one + other


@cuda.jit
def along_rows(picture, sums, squares):
    """The sums of seven points side by side, and of their squares."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        found = float32(0.0)
        square = float32(0.0)
        for d in range(-REACH, REACH + 1):
            value = picture[row, min(max(col + d, 0), SIDE - 1)]
            found += value
            square += value * value
        sums[row, col] = found
        squares[row, col] = square


@cuda.jit
def lee(picture, sums, squares, clean):
    """The picture without speckle: between a point and the mean of those near to it."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        found = float32(0.0)
        square = float32(0.0)
        for d in range(-REACH, REACH + 1):
            near = min(max(row + d, 0), SIDE - 1)
            found += sums[near, col]
            square += squares[near, col]
        mean = found * NEAR
        spread = max(square * NEAR - mean * mean, TINY)
        belief = max(ZERO, (spread - LOOKS * mean * mean) / (spread * (ONE + LOOKS)))
        clean[row, col] = mean + belief * (picture[row, col] - mean)


@cuda.jit
def compare(clean, before, ratio):
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        ratio[row, col] = abs(math.log((clean[row, col] + TINY) / (before[row, col] + TINY)))


@cuda.jit
def follow(clean, before, after):
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        after[row, col] = before[row, col] + SLOW * (clean[row, col] - before[row, col])


def scenes():
    """Radar pictures of woods and fields with the speckle of two looks; some woods are missing in each."""
    random = numpy.random.default_rng(20)
    plots = random.uniform(0.3, 1.5, (SIDE // 64, SIDE // 64)).astype(numpy.float32)
    for _ in range(SCENES):
        now = numpy.where(random.random(plots.shape) < 0.05, numpy.float32(0.4), numpy.float32(1.0)) * plots
        speckle = random.standard_exponential(SHAPE, dtype=numpy.float32)
        speckle += random.standard_exponential(SHAPE, dtype=numpy.float32)
        yield speckle * now.repeat(64, axis=0).repeat(64, axis=1) * numpy.float32(0.5)


def make(variant):
    pictures = [cuda.to_device(one) for one in scenes()]
    before = [cuda.to_device(numpy.full(SHAPE, 0.9, dtype=numpy.float32))]
    names = ("sums", "squares", "clean", "ratio", "after") if variant == "fix" else ()
    kept = {name: cuda.device_array(SHAPE, dtype=numpy.float32) for name in names}
    landing = cuda.pinned_array(SIDE, dtype=numpy.float32) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    def array(name):
        return kept[name] if kept else cuda.device_array(SHAPE, dtype=numpy.float32)  # cause: alloc

    def cleaned(picture):
        sums, squares, clean = array("sums"), array("squares"), array("clean")  # cause: alloc
        along_rows[GRID](picture, sums, squares)
        lee[GRID](picture, sums, squares, clean)
        return clean  # cause: alloc

    def tell(ratio, usually):
        """How much has changed by the mean, and how bright the land's middle is."""
        line = usually[SIDE // 2]
        line = line.copy_to_host() if landing is None else line.copy_to_host(landing)
        usual[0] += 0.2 * (float(total(ratio.reshape(SIDE * SIDE))) / (SIDE * SIDE) - usual[0])
        usual[1] += 0.2 * (float(line.mean()) - usual[1])

    def step():
        clean, old = cleaned(pictures[turn[0] % SCENES]), before[0]  # cause: alloc
        ratio, after = array("ratio"), array("after")  # cause: alloc
        compare[GRID](clean, old, ratio)
        follow[GRID](clean, old, after)
        before[0] = after
        if kept:
            kept["after"] = old
        turn[0] += 1
        if turn[0] % TOLD == 0:
            tell(ratio, after)
        del clean, old, ratio, after  # cause: alloc

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
