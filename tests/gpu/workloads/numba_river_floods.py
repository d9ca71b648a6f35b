# SPDX-License-Identifier: Apache-2.0
"""Numba: where a river goes when it rains, on a map of its valley: water flows from each cell to its lower neighbours with
inertia, in steps of time that must be the shorter the deeper the deepest water is (after Bates, Horritt and Fewtrell).

Wrong: the deepest water is read after each step of time, from which the host tells the next one's length; so is a gauge.
fix: a kernel of one thread tells the length, and notes the gauge; these come to the host behind 20 steps (sync-bound).
fix2: one kernel makes the flows of both directions, not two; all is read as before (launch-bound or gpu-bound).
useless: the deepest water is read into pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20, multiple=20)
numpy, numba, cuda = fixable.load_numba()

float32 = numpy.float32
SIZE, TIMES, LOOK_EVERY, GAUGE = 2560, 4, 20, 1280
THREADS = (64, 4)
BLOCKS = (SIZE // THREADS[0], SIZE // THREADS[1])
COLUMNS, LINES = 256, 40  # of a block that looks for the deepest water, and of these blocks
CELL, GRAVITY, ROUGH, DRY, NONE, ONE, LEFT = [float32(x) for x in (10.0, 9.81, 0.035 ** 2, 1e-3, 0.0, 1.0, 0.9995)]
SEVEN_THIRDS, COURANT, SHALLOW, LONGEST = [float32(x) for x in (7.0 / 3.0, 0.6, 0.05, 10.0)]


@cuda.jit(device=True)
def larger(one, other):
    return one if one > other else other


@cuda.jit(device=True)
def flow(old, ground_here, water_here, ground_there, water_there, time):
    """The flow from here to there, by the one before."""
    top_here, top_there = ground_here + water_here, ground_there + water_there
    deep = larger(top_here, top_there) - larger(ground_here, ground_there)
    if deep < DRY:
        return NONE
    pushed = old + GRAVITY * deep * time * (top_here - top_there) / CELL
    return pushed / (ONE + GRAVITY * time * ROUGH * abs(old) / deep ** SEVEN_THIRDS)


@cuda.jit
def flow_east(ground, water, east, pace):
    x, y = cuda.grid(2)
    if x < SIZE - 1:
        east[y, x] = flow(east[y, x], ground[y, x], water[y, x], ground[y, x + 1], water[y, x + 1], pace[0])


@cuda.jit
def flow_south(ground, water, south, pace):
    x, y = cuda.grid(2)
    if y < SIZE - 1:
        south[y, x] = flow(south[y, x], ground[y, x], water[y, x], ground[y + 1, x], water[y + 1, x], pace[0])


@cuda.jit
def flow_both(ground, water, east, south, pace):
    x, y = cuda.grid(2)
    if x < SIZE - 1:
        east[y, x] = flow(east[y, x], ground[y, x], water[y, x], ground[y, x + 1], water[y, x + 1], pace[0])
    if y < SIZE - 1:
        south[y, x] = flow(south[y, x], ground[y, x], water[y, x], ground[y + 1, x], water[y + 1, x], pace[0])


@cuda.jit
def fill(water, east, south, pace, rain, deepest):
    """What flows in and out of each cell, the rain, and what seeps away."""
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        deepest[0] = NONE
    more = -east[y, x] - south[y, x]
    if x > 0:
        more += east[y, x - 1]
    if y > 0:
        more += south[y - 1, x]
    water[y, x] = larger(NONE, LEFT * (water[y, x] + pace[0] * (more / CELL + rain)))


@cuda.jit
def look(water, deepest):
    """The deepest water; a thread goes through a part of a column, and a block takes the most of its threads."""
    shared = cuda.shared.array(COLUMNS, numba.float32)
    at, x = cuda.threadIdx.x, cuda.blockIdx.x * COLUMNS + cuda.threadIdx.x
    most = NONE
    for y in range(cuda.blockIdx.y, SIZE, LINES):
        most = larger(most, water[y, x])
    shared[at] = most
    cuda.syncthreads()
    half = COLUMNS // 2
    while half > 0:
        if at < half:
            shared[at] = larger(shared[at], shared[at + half])
        cuda.syncthreads()
        half //= 2
    if at == 0:
        cuda.atomic.max(deepest, 0, shared[0])


@cuda.jit
def choose(water, deepest, pace, log, number, at):
    """The length of the next step of time, and the gauge."""
    log[0, number] = water[at, at]
    log[1, number] = pace[0]
    length = COURANT * CELL / math.sqrt(GRAVITY * larger(SHALLOW, deepest[0]))
    pace[0] = length if length < LONGEST else LONGEST


def valley():
    """The height of the ground: hills, and a river's bed that winds through them, in metres."""
    y, x = numpy.meshgrid(*[numpy.linspace(0.0, 1.0, SIZE, dtype=numpy.float32)] * 2, indexing="ij")
    hills = 6.0 * numpy.sin(17.0 * x + 5.0 * y) * numpy.cos(13.0 * y) + 2.0 * numpy.sin(61.0 * x) * numpy.sin(53.0 * y)
    bed = numpy.exp(-numpy.square((y - x + 0.08 * numpy.sin(12.0 * x)) / 0.02))
    return (40.0 - 20.0 * (x + y) + hills * (1.0 - bed) - 8.0 * bed).astype(numpy.float32)


def make(variant):
    ground = cuda.to_device(valley())
    water, east, south = [cuda.to_device(numpy.zeros((SIZE, SIZE), dtype=numpy.float32)) for _ in range(3)]
    pace, deepest = cuda.to_device(numpy.array([LONGEST], dtype=numpy.float32)), cuda.to_device(numpy.zeros(1, numpy.float32))
    log = cuda.to_device(numpy.zeros((2, LOOK_EVERY * TIMES), dtype=numpy.float32))
    landing = cuda.pinned_array(1, numpy.float32) if variant == "useless" else numpy.zeros(1, numpy.float32)
    length, clock, turn, river = numpy.array([LONGEST], dtype=numpy.float32), [0.0], [0], []

    def advance(rain):
        if variant == "fix2":
            flow_both[BLOCKS, THREADS](ground, water, east, south, pace)
        else:
            flow_east[BLOCKS, THREADS](ground, water, east, pace)
            flow_south[BLOCKS, THREADS](ground, water, south, pace)
        fill[BLOCKS, THREADS](water, east, south, pace, rain, deepest)
        look[(SIZE // COLUMNS, LINES), COLUMNS](water, deepest)

    def step():
        rain = float32(2e-5 * (1.0 + math.sin(0.02 * turn[0])))
        for number in range(TIMES):
            advance(rain)
            if variant == "fix":
                choose[1, 1](water, deepest, pace, log, turn[0] % LOOK_EVERY * TIMES + number, GAUGE)
                continue
            clock[0] += float(length[0])
            deepest.copy_to_host(landing)  # cause: wait,copy
            length[0] = min(LONGEST, COURANT * CELL / math.sqrt(GRAVITY * max(SHALLOW, landing[0])))
            pace.copy_to_device(length)  # cause: wait,copy
            river.append(float(water[GAUGE, GAUGE]))  # cause: wait,copy
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            if variant == "fix":
                levels, lengths = log.copy_to_host()
                river[:] = levels.tolist()
                clock[0] += float(lengths.sum())
            del river[:-LOOK_EVERY * TIMES]

    def values():
        return [clock[0], float(length[0])] + river + water.copy_to_host()[::64, ::64].ravel().tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
