# SPDX-License-Identifier: Apache-2.0
"""Numba: a slime mould of eight million grains looks for ways. Each grain smells the trail ahead, to its left and to its right,
turns to where it is strongest, goes on, and leaves some of its own; the trail spreads and fades on a dish of 4096 by 4096 cells.
The trail in each 64th cell of each 64th row is written down every 25 steps.

Wrong: each step makes its arrays anew (the grains' places and ways, the counts and the trail), and the old ones are given back;
Numba takes them from the driver each time, and giving them back waits for the GPU.
fix: two sets of arrays are made before the loop and take turns (alloc-bound).
useless: the cells that are written down come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=900, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

SIZE, CELLS, GRAINS, EVERY, APART, DOTS = 4096, 4096 ** 2, 1 << 23, 25, 64, 64
BLOCK, BLOCKS = 256, 2112
AHEAD, ASIDE, TURN, FADE, LEFT = 9.0, 0.6, 0.4, 0.92, 0.2
float32 = numba.float32


@cuda.jit
def clear(counts):
    for at in range(cuda.grid(1), CELLS, cuda.gridsize(1)):
        counts[at] = 0


@cuda.jit(device=True)
def cell_at(x, y):
    return (int(y) & (SIZE - 1)) * SIZE + (int(x) & (SIZE - 1))


@cuda.jit(device=True)
def smelt(trail, x, y, way):
    """The trail where a grain would be in a while, the dish being round in both directions."""
    seen_x = x + float32(AHEAD) * math.cos(way) + float32(SIZE)
    seen_y = y + float32(AHEAD) * math.sin(way) + float32(SIZE)
    return trail[cell_at(seen_x, seen_y)]


@cuda.jit(device=True)
def chance(at, turn):
    """A number from 0 to 1 for each grain and step."""
    mixed = (at * 747796405 + turn * 2891336453) & 0xFFFFFFFF
    mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
    mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
    return float32((mixed >> 8) & 0xFFFFFF) / float32(16777216.0)


@cuda.jit(device=True)
def within(x):
    if x >= float32(SIZE):
        return x - float32(SIZE)
    return x + float32(SIZE) if x < float32(0.0) else x


@cuda.jit
def crawl(trail, xs, ys, ways, new_xs, new_ys, new_ways, counts, turn):
    for at in range(cuda.grid(1), GRAINS, cuda.gridsize(1)):
        x, y, way = xs[at], ys[at], ways[at]
        ahead = smelt(trail, x, y, way)
        left, right = smelt(trail, x, y, way + float32(ASIDE)), smelt(trail, x, y, way - float32(ASIDE))
        luck = chance(at, turn)
        if left > ahead and right > ahead:
            way += float32(TURN) if luck < float32(0.5) else float32(-TURN)
        elif left > right:
            way += float32(TURN) * luck
        elif right > left:
            way -= float32(TURN) * luck
        x, y = within(x + math.cos(way)), within(y + math.sin(way))
        new_xs[at], new_ys[at], new_ways[at] = x, y, way
        cuda.atomic.add(counts, cell_at(x, y), 1)


@cuda.jit
def spread(trail, counts, new_trail):
    for at in range(cuda.grid(1), CELLS, cuda.gridsize(1)):
        row, column = at // SIZE, at % SIZE
        total = float32(0.0)
        for down in range(-1, 2):
            start = ((row + down) & (SIZE - 1)) * SIZE
            for along in range(-1, 2):
                total += trail[start + ((column + along) & (SIZE - 1))]
        new_trail[at] = float32(FADE / 9.0) * total + float32(LEFT) * float32(counts[at])


@cuda.jit
def look(trail, dots):
    at = cuda.grid(1)
    if at < DOTS * DOTS:
        dots[at] = trail[(at // DOTS) * APART * SIZE + (at % DOTS) * APART]


def arrays():
    """The counts and the trail, then the grains' places and ways."""
    counts = cuda.device_array(CELLS, dtype=numpy.int32)  # cause: alloc
    trail = cuda.device_array(CELLS, dtype=numpy.float32)  # cause: alloc
    xs = cuda.device_array(GRAINS, dtype=numpy.float32)  # cause: alloc
    ys = cuda.device_array(GRAINS, dtype=numpy.float32)  # cause: alloc
    ways = cuda.device_array(GRAINS, dtype=numpy.float32)  # cause: alloc
    return counts, trail, xs, ys, ways


def start():
    """The first of these: grains on a disc that look inward, and no trail."""
    random = numpy.random.default_rng(20)
    angles = 2.0 * math.pi * random.random(GRAINS, dtype=numpy.float32)
    away = 0.45 * SIZE * numpy.sqrt(random.random(GRAINS, dtype=numpy.float32))
    parts = (SIZE / 2 + away * numpy.cos(angles), SIZE / 2 + away * numpy.sin(angles), angles + math.pi)
    counts, trail = numpy.zeros(CELLS, dtype=numpy.int32), numpy.zeros(CELLS, dtype=numpy.float32)
    return tuple(cuda.to_device(part) for part in (counts, trail, *(part.astype(numpy.float32) for part in parts)))


def make(variant):
    now, turn, grid = [start()], [0], (BLOCKS, BLOCK)
    kept = [arrays(), arrays()] if variant == "fix" else None
    dots = cuda.to_device(numpy.zeros(DOTS * DOTS, dtype=numpy.float32))
    felt = (cuda.pinned_array if variant == "useless" else numpy.empty)(DOTS * DOTS, dtype=numpy.float32)
    felt[:] = 0.0

    def go_on(old, new):
        _, trail, *grains = old
        counts, new_trail, *new_grains = new
        clear[grid](counts)
        crawl[grid](trail, *grains, *new_grains, counts, turn[0])
        spread[grid](trail, counts, new_trail)

    def step():
        new = kept[turn[0] % 2] if kept else arrays()  # cause: alloc
        go_on(now[0], new)
        now[0] = new  # cause: alloc
        turn[0] += 1
        if turn[0] % EVERY == 0:
            look[DOTS * DOTS // BLOCK, BLOCK](new[1], dots)
            dots.copy_to_host(felt)

    return fixable.Work(step, cuda.synchronize, lambda: [float(felt.mean()), float(felt.std()), float(felt.max())])


run.main(make)
