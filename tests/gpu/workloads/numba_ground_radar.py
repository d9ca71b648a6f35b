# SPDX-License-Identifier: Apache-2.0
"""Numba: what a radar would hear that is drawn over the ground above pipes and stones: the waves' electric and magnetic fields
are carried on in turns, in a box of 37.7 million cells with sand, clay, metal and water (finite differences, after Yee).

Wrong: nothing: each of the two kernels goes through more than a gigabyte, and the host is far ahead; what the antenna hears is
noted on the device, and read behind each 50 steps (gpu-bound).
useless: it is read into pinned memory.
"""
import math

import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=1000, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, cuda = fixable.load_numba()[::2]

DEEP, LONG, WIDE, EACH, THREADS, EDGE, AIR = 256, 384, 384, 2, (64, 4, 1), 16, 48
BLOCKS = WIDE // THREADS[0], LONG // THREADS[1], DEEP
SENDER, RECEIVER = (AIR, LONG // 2, WIDE // 2 - 6), (AIR, LONG // 2, WIDE // 2 + 6)
EMPTY, SAND, CLAY, METAL, WATER = range(5)
DENSE, LOSSY = (1.0, 4.0, 9.0, 1.0, 30.0), (0.0, 0.004, 0.02, 50.0, 0.05)  # of materials; per time step
COURANT, PERIOD, DELAY = 0.5, 24.0, 36
HALF = numpy.float32(COURANT)


@cuda.jit
def magnetic(electric, field):
    """H by the curl of E."""
    x, y, z = cuda.grid(3)
    if x >= WIDE - 1 or y >= LONG - 1 or z >= DEEP - 1:
        return
    ex, ey, ez = electric[0, z, y, x], electric[1, z, y, x], electric[2, z, y, x]
    field[0, z, y, x] -= HALF * ((electric[2, z, y + 1, x] - ez) - (electric[1, z + 1, y, x] - ey))
    field[1, z, y, x] -= HALF * ((electric[0, z + 1, y, x] - ex) - (electric[2, z, y, x + 1] - ez))
    field[2, z, y, x] -= HALF * ((electric[1, z, y, x + 1] - ey) - (electric[0, z, y + 1, x] - ex))


@cuda.jit
def electric_of(field, electric, kinds, keeps, gains, pulse, trace, number):
    """E by the curl of H and by what is there; what the sender sends, along y, and what the receiver hears."""
    x, y, z = cuda.grid(3)
    if x < 1 or y < 1 or z < 1 or x >= WIDE or y >= LONG or z >= DEEP:
        return
    kind = kinds[z, y, x]
    keep, gain = keeps[kind], gains[kind]
    hx, hy, hz = field[0, z, y, x], field[1, z, y, x], field[2, z, y, x]
    ex = keep * electric[0, z, y, x] + gain * ((hz - field[2, z, y - 1, x]) - (hy - field[1, z - 1, y, x]))
    ey = keep * electric[1, z, y, x] + gain * ((hx - field[0, z - 1, y, x]) - (hz - field[2, z, y, x - 1]))
    ez = keep * electric[2, z, y, x] + gain * ((hy - field[1, z, y, x - 1]) - (hx - field[0, z, y - 1, x]))
    if z == SENDER[0] and y == SENDER[1] and x == SENDER[2]:
        ey += pulse
    if z == RECEIVER[0] and y == RECEIVER[1] and x == RECEIVER[2]:
        trace[number] = ey
    electric[0, z, y, x], electric[1, z, y, x], electric[2, z, y, x] = ex, ey, ez


def ground(random):
    """What is in each cell; near the box's walls all is the lossier the nearer, in three shells, to swallow the waves."""
    kinds = numpy.full((DEEP, LONG, WIDE), SAND, dtype=numpy.uint8)
    z, y, x = numpy.ogrid[:DEEP, :LONG, :WIDE]
    kinds[:AIR] = EMPTY
    clay = DEEP * 0.7 + 12.0 * numpy.sin(x / 60.0) * numpy.cos(y / 45.0)
    kinds[z > clay] = CLAY
    for _ in range(40):
        down, along, aside, size = random.uniform((AIR + 20, 30, 30, 4), (DEEP - 30, LONG - 30, WIDE - 30, 14))
        part = tuple(slice(int(at - size), int(at + size) + 1) for at in (down, along, aside))
        near = (z[part[0]] - down) ** 2 + (y[:, part[1]] - along) ** 2 + (x[:, :, part[2]] - aside) ** 2 < size * size
        kinds[part][near] = WATER if random.random() < 0.3 else EMPTY
    kinds[((z - 110) ** 2 + (x - WIDE // 2) ** 2 < 36) & (y >= 0)] = METAL  # a pipe
    near = [numpy.minimum(at, size - 1 - at) for at, size in ((z, DEEP), (y, LONG), (x, WIDE))]
    far = numpy.minimum(numpy.minimum(near[0], near[1]), near[2])
    shells = (EDGE - far + 4) // 5
    return numpy.where(shells > 0, 5 + numpy.minimum(shells, 3), kinds).astype(numpy.uint8)


def materials():
    """How much of E is kept in a time step, and how much comes of H, for each kind and the shells."""
    dense = numpy.array(DENSE + (4.0,) * 4)
    lost = 0.5 * numpy.array(LOSSY + (0.01, 0.03, 0.08, 0.16))
    return [cuda.to_device(a.astype(numpy.float32)) for a in ((1.0 - lost) / (1.0 + lost), COURANT / dense / (1.0 + lost))]


def make(variant):
    kinds = cuda.to_device(ground(numpy.random.default_rng(20)))
    nothing = numpy.zeros((3, DEEP, LONG, WIDE), dtype=numpy.float32)
    electric, field = cuda.to_device(nothing), cuda.to_device(nothing)
    keeps, gains = materials()
    trace = cuda.to_device(numpy.zeros(LOOK_EVERY * EACH, dtype=numpy.float32))
    landing = (cuda.pinned_array if variant == "useless" else numpy.zeros)(LOOK_EVERY * EACH, dtype=numpy.float32)
    turn, heard = [0], [0.0]

    def pulse_at(time):
        """A wavelet after Ricker, once in a while."""
        a = (math.pi * (time % (LOOK_EVERY * EACH) - DELAY) / PERIOD) ** 2
        return numpy.float32((1.0 - 2.0 * a) * math.exp(-a))

    def look():
        trace.copy_to_host(landing)
        heard[0] += 0.2 * (math.sqrt(float(numpy.square(landing).mean())) - heard[0])

    def step():
        for _ in range(EACH):
            magnetic[BLOCKS, THREADS](electric, field)
            number = turn[0] % (LOOK_EVERY * EACH)
            electric_of[BLOCKS, THREADS](field, electric, kinds, keeps, gains, pulse_at(turn[0]), trace, number)
            turn[0] += 1
        if turn[0] % (LOOK_EVERY * EACH) == 0:
            look()

    return fixable.Work(step, cuda.synchronize, lambda: list(heard))


run.main(make)
