# SPDX-License-Identifier: Apache-2.0
"""Numba: a field of 4096 mirrors throws the sun's light at the receiver of a tower, where it makes steam. For each moment of a
day, 256 rays from each mirror are followed: which are lost behind other mirrors, and where the others meet the receiver, so that
no part of it becomes too hot.

Wrong: each function makes the arrays for what it gives; Numba asks the driver for each, and gives them back in bunches, for
which the GPU must be done.
fix: the arrays are made before the day begins (alloc-bound).
useless: the picture of the receiver is looked at every 60 moments instead of every 20.
"""
import math

import fixable

LOOK_EVERY, LOOK_SELDOM = 20, 60

run = fixable.Program(__doc__, steps=2400, warm_up=LOOK_SELDOM, multiple=LOOK_SELDOM)
numpy, numba, cuda = fixable.load_numba()

int32, float32 = numba.int32, numba.float32
ACROSS, RAYS, THREADS, PIXELS, SQUARE, DAY = 64, 256, 256, 128, (32, 8), 480
MIRRORS = ACROSS * ACROSS
NOUGHT, ONE, TWO, HALF, TOWER, LARGE, WIDE, ROUGH, NINTH, HASH = (
    numpy.float32(number) for number in (0.0, 1.0, 2.0, 0.5, 110.0, 3.0, 2.6, 0.004, 1.0 / 9.0, 2.0 ** -24))
RECEIVER, FINE = numpy.float32(8.0), numpy.float32(PIXELS / 16.0)  # from its middle to its edge; pixels in a metre


@cuda.jit(device=True)
def dice(number):
    """A number from 0 to 1 that looks like chance."""
    mixed = (number * 2654435761 + 97531) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 739982445) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 12)) * 695872825) & 0xFFFFFFFF
    return float32((mixed ^ (mixed >> 15)) >> 8) * HASH


@cuda.jit
def aim(mirrors, sun_x, sun_y, sun_z, upright):
    """Turns each mirror halfway between sun and receiver."""
    mirror = cuda.grid(1)
    x, y = mirrors[0, mirror], mirrors[1, mirror]
    far = math.sqrt(x * x + y * y + TOWER * TOWER)
    a, b, c = sun_x - x / far, sun_y - y / far, sun_z + TOWER / far
    length = math.sqrt(a * a + b * b + c * c)
    upright[0, mirror], upright[1, mirror], upright[2, mirror] = a / length, b / length, c / length


@cuda.jit
def start(mirrors, upright, points):
    """Where on its mirror each ray is thrown back; a block has a mirror."""
    mirror, ray = cuda.blockIdx.x, cuda.threadIdx.x
    right = (float32(ray % 16) + HALF) * (LARGE / float32(16.0)) - HALF * LARGE
    up = (float32(ray // 16) + HALF) * (LARGE / float32(16.0)) - HALF * LARGE
    a, b, c = upright[0, mirror], upright[1, mirror], upright[2, mirror]
    flat = math.sqrt(a * a + b * b) + float32(1e-6)
    points[0, mirror, ray] = mirrors[0, mirror] - right * b / flat - up * a * c / flat
    points[1, mirror, ray] = mirrors[1, mirror] + right * a / flat - up * b * c / flat
    points[2, mirror, ray] = up * flat


@cuda.jit(device=True)
def passes(x, y, z, a, b, c, other_x, other_y):
    """Whether a way from x, y, z along a, b, c leaves another mirror aside."""
    to_x, to_y = other_x - x, other_y - y
    along = to_x * a + to_y * b - z * c
    if along <= NOUGHT:
        return True
    return to_x * to_x + to_y * to_y + z * z - along * along > WIDE


@cuda.jit
def shade(mirrors, points, sun_x, sun_y, sun_z, lit):
    mirror, ray = cuda.blockIdx.x, cuda.threadIdx.x
    x, y, z = points[0, mirror, ray], points[1, mirror, ray], points[2, mirror, ray]
    far = math.sqrt(x * x + y * y + (TOWER - z) * (TOWER - z))
    a, b, c = -x / far, -y / far, (TOWER - z) / far
    left = ONE
    for number in range(9):
        row, column = mirror // ACROSS + number // 3 - 1, mirror % ACROSS + number % 3 - 1
        if number != 4 and row >= 0 and row < ACROSS and column >= 0 and column < ACROSS:
            other_x, other_y = mirrors[0, row * ACROSS + column], mirrors[1, row * ACROSS + column]
            if not passes(x, y, z, sun_x, sun_y, sun_z, other_x, other_y) or not passes(x, y, z, a, b, c, other_x, other_y):
                left = NOUGHT
    lit[mirror, ray] = left


@cuda.jit
def throw(upright, points, moment, sun_x, sun_y, sun_z, hits):
    """Where each ray meets the plane of the receiver, which looks along the second axis; mirrors are not quite smooth."""
    mirror, ray = cuda.blockIdx.x, cuda.threadIdx.x
    seed = ((moment * MIRRORS + mirror) * RAYS + ray) * 4
    a = upright[0, mirror] + ROUGH * (dice(seed) + dice(seed + 1) - ONE)
    b = upright[1, mirror]
    c = upright[2, mirror] + ROUGH * (dice(seed + 2) + dice(seed + 3) - ONE)
    twice = TWO * (a * sun_x + b * sun_y + c * sun_z) / (a * a + b * b + c * c)
    way_x, way_y, way_z = twice * a - sun_x, twice * b - sun_y, twice * c - sun_z
    time = -points[1, mirror, ray] / min(way_y, float32(-1e-3))
    hits[0, mirror, ray] = points[0, mirror, ray] + time * way_x
    hits[1, mirror, ray] = points[2, mirror, ray] + time * way_z - TOWER


@cuda.jit
def clear(picture):
    x, y = cuda.grid(2)
    picture[y, x] = NOUGHT


@cuda.jit
def collect(hits, lit, picture):
    mirror, ray = cuda.blockIdx.x, cuda.threadIdx.x
    x, y = hits[0, mirror, ray], hits[1, mirror, ray]
    if abs(x) < RECEIVER and abs(y) < RECEIVER and lit[mirror, ray] > NOUGHT:
        cuda.atomic.add(picture, (int32((y + RECEIVER) * FINE), int32((x + RECEIVER) * FINE)), lit[mirror, ray])


@cuda.jit
def spread(picture, heat):
    """The receiver's metal spreads heat to what is next to it."""
    x, y = cuda.grid(2)
    total = NOUGHT
    for number in range(9):
        row, column = y + number // 3 - 1, x + number % 3 - 1
        total += picture[min(max(row, 0), PIXELS - 1), min(max(column, 0), PIXELS - 1)]
    heat[y, x] = total * NINTH


def field():
    """Where the mirrors stand, south to north in bent rows: (2, MIRRORS)."""
    row, column = numpy.divmod(numpy.arange(MIRRORS), ACROSS)
    far, turned = 60.0 + 6.5 * row, (column - 0.5 * (ACROSS - 1)) * (1.9 / ACROSS)
    return numpy.stack((far * numpy.sin(turned), far * numpy.cos(turned))).astype(numpy.float32)


def make(variant):
    mirrors, kept = cuda.to_device(field()), {}
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY
    turn, usual, pixels = [0], [0.0, 0.0], (PIXELS // SQUARE[0], PIXELS // SQUARE[1])

    def array(name, *shape):
        if variant != "fix":
            return cuda.device_array(shape, numpy.float32)  # cause: alloc
        if name not in kept:
            kept[name] = cuda.device_array(shape, numpy.float32)
        return kept[name]

    def sun_at(moment):
        """The way to the sun."""
        hour = (moment % DAY / DAY - 0.5) * 2.0
        x, y, z = math.sin(hour), -0.4, math.cos(hour)
        length = math.sqrt(x * x + y * y + z * z)
        return numpy.float32(x / length), numpy.float32(y / length), numpy.float32(z / length)

    def rays_of(sun):
        upright = array("upright", 3, MIRRORS)  # cause: alloc
        aim[MIRRORS // THREADS, THREADS](mirrors, *sun, upright)
        points = array("points", 3, MIRRORS, RAYS)  # cause: alloc
        start[MIRRORS, RAYS](mirrors, upright, points)
        return upright, points

    def followed(sun, upright, points, moment):
        lit = array("lit", MIRRORS, RAYS)  # cause: alloc
        shade[MIRRORS, RAYS](mirrors, points, *sun, lit)
        hits = array("hits", 2, MIRRORS, RAYS)  # cause: alloc
        throw[MIRRORS, RAYS](upright, points, moment, *sun, hits)
        return lit, hits

    def heat_of(lit, hits):
        picture, heat = array("picture", PIXELS, PIXELS), array("heat", PIXELS, PIXELS)  # cause: alloc
        clear[pixels, SQUARE](picture)
        collect[MIRRORS, RAYS](hits, lit, picture)
        spread[pixels, SQUARE](picture, heat)
        return heat

    def step():
        sun, moment = sun_at(turn[0]), turn[0] % DAY
        turn[0] += 1
        lit, hits = followed(sun, *rays_of(sun), moment)  # cause: alloc
        heat = heat_of(lit, hits)  # cause: alloc
        if turn[0] % LOOK_SELDOM == 0 or turn[0] % look_every == 0:
            seen = heat.copy_to_host()
            usual[:] = [float(seen.mean()), float(seen.max()) / 100.0]

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
