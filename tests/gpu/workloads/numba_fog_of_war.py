# SPDX-License-Identifier: Apache-2.0
"""Numba: the server of a strategy game tells in each tick of 32 matches what the players' units see of the map, 1024 by 1024
cells: rays go out from each unit until the ground hides what is behind it. The edge between light and fog is made soft; who
watches the match gets a picture of it, and the players a small map; and what was seen once stays known.

Wrong: each tick takes new arrays for what is seen, the light, the picture and the small map from the driver, up to 134 MB large,
and those of the ticks before go back to it in bunches, which waits for the GPU.
fix: the arrays are made once, and written anew by the same kernels (alloc-bound).
useless: where the units are to go, which comes once in 64 ticks, comes from pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1500, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

MATCHES, SIDE, SMALL, EACH, RAYS, FAR, EVERY, SETS = 32, 1024, 256, 32, 128, 48, 64, 4
UNITS, THREADS, SHRUNK = MATCHES * EACH, 256, SIDE // SMALL
OVER = (SIDE // THREADS, SIDE, MATCHES)
float32, int32 = numba.float32, numba.int32
SPEED, EYE, RAY, FULL = (numpy.float32(number) for number in (1.5, 2.0, 2.0 * math.pi / RAYS, 252.0))


@cuda.jit
def march(units, goals, ways):
    """Each unit goes to and fro between its two goals."""
    k = cuda.grid(1)
    if k < UNITS:
        way = ways[k]
        down, right = goals[k, way, 0] - units[k, 0], goals[k, way, 1] - units[k, 1]
        far = math.sqrt(down * down + right * right)
        if far < SPEED:
            ways[k] = 1 - way
        else:
            units[k, 0] += SPEED * down / far
            units[k, 1] += SPEED * right / far


@cuda.jit
def darken(seen):
    x, y, match = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    seen[match, y, x] = 0


@cuda.jit
def look(heights, units, seen):
    """A block for each unit, a thread for each ray."""
    unit = cuda.blockIdx.x
    match = unit // EACH
    angle = float32(cuda.threadIdx.x) * RAY
    down, right = math.sin(angle), math.cos(angle)
    from_y, from_x = units[unit, 0], units[unit, 1]
    eye = heights[int32(from_y), int32(from_x)] + EYE
    highest = float32(-1000.0)
    for far in range(FAR):
        y, x = int32(from_y + float32(far) * down), int32(from_x + float32(far) * right)
        if y < 0 or x < 0 or y >= SIDE or x >= SIDE:
            break
        steep = (heights[y, x] - eye) / (float32(far) + float32(0.5))
        if steep >= highest:
            highest = steep
            seen[match, y, x] = 1


@cuda.jit
def remember(seen, known):
    x, y, match = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    if seen[match, y, x] > known[match, y, x]:
        known[match, y, x] = 1


@cuda.jit
def soften(seen, light):
    """How light it is, up to 252: by how many of nine cells are seen."""
    x, y, match = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    total = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            total += seen[match, min(max(y + dy, 0), SIDE - 1), min(max(x + dx, 0), SIDE - 1)]
    light[match, y, x] = 28 * total


@cuda.jit
def paint(heights, known, light, picture):
    """Green valleys, brown hills; grey where it is known only, dark where it is not."""
    x, y, match = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    high = min(max(int32(heights[y, x] * float32(4.0)) + 90, 0), 180)
    bright = max(int32(light[match, y, x]), 80 * int32(known[match, y, x]))
    red, green, blue = (high * bright) >> 8, ((220 - high // 2) * bright) >> 8, (60 * bright) >> 8
    picture[match, y, x] = (red << 16) | (green << 8) | blue


@cuda.jit
def shrink(light, small, sums):
    """The small map, and how much light a match has; a block for each line of it."""
    part = cuda.shared.array(SMALL, int32)
    x, y, match = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockIdx.y
    total = 0
    for dy in range(SHRUNK):
        for dx in range(SHRUNK):
            total += light[match, y * SHRUNK + dy, x * SHRUNK + dx]
    small[match, y, x] = total // (SHRUNK * SHRUNK)
    part[x] = total
    cuda.syncthreads()
    half = SMALL // 2
    while half > 0:
        if x < half:
            part[x] += part[x + half]
        cuda.syncthreads()
        half //= 2
    if x == 0:
        cuda.atomic.add(sums, match, part[0])


@cuda.jit
def note(sums, usual):
    k = cuda.grid(1)
    if k < MATCHES:
        usual[k] += float32(0.02) * (float32(sums[k]) / (FULL * float32(SIDE * SIDE)) - usual[k])
        sums[k] = 0


def hills(random):
    """Heights of the map."""
    y, x = numpy.meshgrid(numpy.arange(SIDE), numpy.arange(SIDE), indexing="ij")
    land = numpy.zeros((SIDE, SIDE))
    for wide in (200.0, 90.0, 40.0, 18.0):
        way, phase = random.uniform(0.0, 6.28, 2)
        along, across = x * math.cos(way) + y * math.sin(way), y * math.cos(way) - x * math.sin(way)
        land += 0.04 * wide * numpy.sin(along / wide + phase) * numpy.cos(across / wide)
    return (land + 0.2 * random.random((SIDE, SIDE))).astype(numpy.float32)


def make(variant):
    random = numpy.random.default_rng(20)
    heights, orders = cuda.to_device(hills(random)), []
    units = cuda.to_device(random.uniform(20.0, SIDE - 20.0, (UNITS, 2)).astype(numpy.float32))
    for _ in range(SETS):
        order = (cuda.pinned_array if variant == "useless" else numpy.empty)((UNITS, 2, 2), dtype=numpy.float32)
        order[...] = random.uniform(20.0, SIDE - 20.0, order.shape)
        orders.append(order)
    goals, ways = cuda.to_device(orders[0]), cuda.to_device(numpy.zeros(UNITS, dtype=numpy.int32))
    known = cuda.to_device(numpy.zeros((MATCHES, SIDE, SIDE), dtype=numpy.uint8))
    sums = cuda.to_device(numpy.zeros(MATCHES, dtype=numpy.int32))
    usual = cuda.to_device(numpy.zeros(MATCHES, dtype=numpy.float32))
    made, shown, turn = {}, [], [0]

    def array(name, side, dtype):
        if variant != "fix":
            return cuda.device_array((MATCHES, side, side), dtype)  # cause: alloc
        if name not in made:
            made[name] = cuda.device_array((MATCHES, side, side), dtype)
        return made[name]

    def sight():
        """What is seen, softened."""
        seen = array("seen", SIDE, numpy.uint8)  # cause: alloc
        darken[OVER, THREADS](seen)
        look[UNITS, RAYS](heights, units, seen)
        remember[OVER, THREADS](seen, known)
        light = array("light", SIDE, numpy.uint8)  # cause: alloc
        soften[OVER, THREADS](seen, light)
        return light

    def step():
        if turn[0] % EVERY == 0:
            goals.copy_to_device(orders[turn[0] // EVERY % SETS])
        turn[0] += 1
        march[UNITS // THREADS, THREADS](units, goals, ways)
        light = sight()  # cause: alloc
        picture = array("picture", SIDE, numpy.uint32)  # cause: alloc
        paint[OVER, THREADS](heights, known, light, picture)
        small = array("small", SMALL, numpy.uint8)  # cause: alloc
        shrink[(SMALL, MATCHES), SMALL](light, small, sums)
        note[1, MATCHES](sums, usual)
        shown[:] = picture, small

    def values():
        """How much of the map is seen, how much is known, and how bright the small maps are."""
        lit = usual.copy_to_host()
        return [float(lit.mean()), float(lit.max()), float(known.copy_to_host().mean()), float(shown[1].copy_to_host().mean())]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
