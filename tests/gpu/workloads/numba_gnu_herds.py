# SPDX-License-Identifier: Apache-2.0
"""Numba: half a million gnus cross a savannah: each one goes where those around it go and where the grass is better, not too
near to others. A table of the land's cells tells which gnus are there. Functions for parts of a step make the arrays they need.

Wrong: Numba keeps no memory: five arrays a step are allocated by the driver, and given back to it, which waits for the GPU.
fix: the arrays are made once, and used again; what is new of herd and grass goes where the old was (alloc-bound).
useless: the ways of some gnus, which are looked at every 20 steps, come to pinned memory.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=1800, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, numba, cuda = fixable.load_numba()

int32, float32 = numba.int32, numba.float32
GNUS, WIDE, LONG, ROOM, SPOTS, THREADS, LOOKED = 524288, 512, 256, 16, 4, 256, 16384  # a cell is as large as a gnu sees
CELLS, SQUARE = WIDE * LONG, (64, 4)
NOUGHT, ONE, TINY, FINE, ERROR = (numpy.float32(number) for number in (0.0, 1.0, 1e-6, SPOTS, 0.3 * 2.0 ** -23))
SPEED, ALONG, AWAY, BETTER, GROWS, EATEN = (numpy.float32(number) for number in (0.06, 0.2, 0.1, 0.1, 0.01, 0.005))


@cuda.jit
def clear(counts):
    counts[cuda.grid(1)] = 0


@cuda.jit
def gather(herd, counts, table):
    """Writes down for each cell the places and ways of the gnus there."""
    gnu = cuda.grid(1)
    cell = (int32(herd[1, gnu]) & (LONG - 1)) * WIDE + (int32(herd[0, gnu]) & (WIDE - 1))
    place = cuda.atomic.add(counts, cell, 1)
    if place < ROOM:
        for part in range(4):
            table[part, cell, place] = herd[part, gnu]


@cuda.jit
def graze(before, counts, after):
    x, y = cuda.grid(2)
    grass, gnus = before[y, x], counts[y // SPOTS * WIDE + x // SPOTS]
    after[y, x] = grass + GROWS * (ONE - grass) - EATEN * float32(min(gnus, ROOM)) * grass


@cuda.jit
def look_around(herd, counts, table, grass, wishes):
    gnu = cuda.grid(1)
    x, y = herd[0, gnu], herd[1, gnu]
    along_x, along_y, away_x, away_y, seen = NOUGHT, NOUGHT, NOUGHT, NOUGHT, TINY
    for number in range(9):
        cell = ((int32(y) + number // 3 - 1) & (LONG - 1)) * WIDE + ((int32(x) + number % 3 - 1) & (WIDE - 1))
        for place in range(min(counts[cell], ROOM)):
            right, down = table[0, cell, place] - x, table[1, cell, place] - y
            far = right * right + down * down
            if far < ONE:
                away_x, away_y = away_x - (ONE - far) * right, away_y - (ONE - far) * down
                along_x, along_y, seen = along_x + table[2, cell, place], along_y + table[3, cell, place], seen + ONE
    last_x, last_y = WIDE * SPOTS - 1, LONG * SPOTS - 1
    at_x, at_y = int32(x * FINE) & last_x, int32(y * FINE) & last_y
    more_x = grass[at_y, (at_x + 1) & last_x] - grass[at_y, (at_x - 1) & last_x]
    more_y = grass[(at_y + 1) & last_y, at_x] - grass[(at_y - 1) & last_y, at_x]
    wishes[0, gnu] = ALONG * along_x / seen + AWAY * away_x + BETTER * more_x
    wishes[1, gnu] = ALONG * along_y / seen + AWAY * away_y + BETTER * more_y


@cuda.jit
def walk(herd, wishes, today, later):
    gnu = cuda.grid(1)
    way = cuda.local.array(2, float32)
    length = TINY
    for axis in range(2):
        dice = ((gnu * 2 + axis) * 2654435761 + today * 362437 + 12345) & 0xFFFFFFFF
        dice = ((dice ^ (dice >> 16)) * 73244475) & 0xFFFFFFFF
        way[axis] = herd[2 + axis, gnu] + wishes[axis, gnu] + ERROR * float32((dice >> 8) - 8388608)
        length += way[axis] * way[axis]
    length = math.sqrt(length)
    for axis in range(2):
        size = float32(LONG) if axis == 1 else float32(WIDE)
        later[2 + axis, gnu] = way[axis] / length
        place = herd[axis, gnu] + SPEED * way[axis] / length
        later[axis, gnu] = place - size if place >= size else place + size if place < NOUGHT else place


def make(variant):
    random = numpy.random.default_rng(20)
    places = random.random((2, GNUS), dtype=numpy.float32) * numpy.float32([[WIDE], [LONG]])
    ways = random.standard_normal((2, GNUS), dtype=numpy.float32) + numpy.float32([[0.8], [0.3]])
    herd = cuda.to_device(numpy.concatenate((places, ways / numpy.sqrt(numpy.square(ways).sum(axis=0)))))
    grass = cuda.to_device(random.random((LONG * SPOTS, WIDE * SPOTS), dtype=numpy.float32))
    now, kept, turn, told = [herd, grass], {"herd": herd, "grass": grass}, [0], [0.0, 0.0]
    landing = (cuda.pinned_array if variant == "useless" else numpy.zeros)((2, LOOKED), numpy.float32)

    def array(name, shape, kind=numpy.float32):
        if variant != "fix":
            return cuda.device_array(shape, kind)  # cause: alloc
        if name not in kept:
            kept[name] = cuda.device_array(shape, kind)
        return kept[name]

    def grazed(herd, grass):
        """Which gnus are in each cell, how many they are, and what they leave of the grass."""
        counts, table = array("counts", CELLS, numpy.int32), array("table", (4, CELLS, ROOM))  # cause: alloc
        clear[CELLS // THREADS, THREADS](counts)
        gather[GNUS // THREADS, THREADS](herd, counts, table)
        after = array("grass", grass.shape)  # cause: alloc
        graze[(WIDE * SPOTS // SQUARE[0], LONG * SPOTS // SQUARE[1]), SQUARE](grass, counts, after)
        return counts, table, after

    def moved(herd, grass):
        counts, table, grass = grazed(herd, grass)  # cause: alloc
        wishes, later = array("wishes", (2, GNUS)), array("herd", (4, GNUS))  # cause: alloc
        look_around[GNUS // THREADS, THREADS](herd, counts, table, grass, wishes)
        walk[GNUS // THREADS, THREADS](herd, wishes, turn[0], later)
        return later, grass

    def step():
        now[:] = moved(*now)  # cause: alloc
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            for axis in range(2):
                now[0][2 + axis, :LOOKED].copy_to_host(landing[axis])
            told[:] = [math.hypot(*landing.mean(axis=1).tolist()), float(landing.std())]

    return fixable.Work(step, cuda.synchronize, lambda: list(told))


run.main(make)
