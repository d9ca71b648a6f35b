# SPDX-License-Identifier: Apache-2.0
"""Numba: how much power solar parks will give in a quarter of an hour is told from pictures of a satellite, as clouds go on with
the wind: a picture is moved on, its clouds are made into optical depth, the sun's ray to each place is followed through it, and
what is straight and what is spread light is added up over the panels of 4096 parks.

Wrong: each picture of what lies between is a new array from the driver, of 16.8 MB, and old ones go back to it.
fix: these arrays are made once, before the first picture (alloc-bound).
useless: what is read, once in 60 pictures, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1500, warm_up=24)
numpy, numba, cuda = fixable.load_numba()

SIDE, PICTURES, PARKS, PANELS, ALONG, LOOK_EVERY = 2048, 12, 64, 8, 12, 60  # parks each way, and cells of a park
THREADS, BLOCKS = (32, 8), (SIDE // 32, SIDE // 8)


@cuda.jit
def move_on(cloud, moved, east, north):
    """What comes from upwind; the wind is stronger in the north."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        stronger = numba.float32(1.0) + numba.float32(0.0002) * numba.float32(row)
        x = numba.float32(col) - east * stronger
        y = numba.float32(row) - north * stronger
        left, up = int(math.floor(x)), int(math.floor(y))
        a, b = x - numba.float32(left), y - numba.float32(up)
        c, d = left & (SIDE - 1), (left + 1) & (SIDE - 1)
        r, s = up & (SIDE - 1), (up + 1) & (SIDE - 1)
        one = numba.float32(1.0)
        moved[row, col] = ((one - b) * ((one - a) * cloud[r, c] + a * cloud[r, d])
                           + b * ((one - a) * cloud[s, c] + a * cloud[s, d]))


@cuda.jit
def depths(moved, depth):
    """The optical depth, smoothed over nine cells."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        total = numba.float32(0.0)
        for i in range(-1, 2):
            for j in range(-1, 2):
                total += moved[(row + i) & (SIDE - 1), (col + j) & (SIDE - 1)]
        mean = total / numba.float32(9.0)
        depth[row, col] = numba.float32(9.0) * max(mean - numba.float32(0.15), numba.float32(0.0))


@cuda.jit
def rays(depth, through, right, down):
    """How much of the sun's light comes through the clouds on its way."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        total = numba.float32(0.0)
        for k in range(ALONG):
            at = numba.float32(k) + numba.float32(0.5)
            i, j = row + int(down * at), col + int(right * at)
            total += depth[i & (SIDE - 1), j & (SIDE - 1)]
        through[row, col] = math.exp(-total / numba.float32(ALONG))


@cuda.jit
def lights(depth, through, straight, spread):
    """Watts on a square metre."""
    col, row = cuda.grid(2)
    if row < SIDE and col < SIDE:
        part = through[row, col]
        straight[row, col] = numba.float32(820.0) * part
        thin = math.exp(numba.float32(-0.12) * depth[row, col])
        spread[row, col] = numba.float32(90.0) + numba.float32(330.0) * (numba.float32(1.0) - part) * thin


@cuda.jit
def parks(straight, spread, powers, number):
    """Megawatts of each park: one thread a park goes over its panels."""
    park = cuda.grid(1)
    if park < PARKS * PARKS:
        apart = SIDE // PARKS
        row, col = (park // PARKS) * apart + apart // 2, (park % PARKS) * apart + apart // 2
        total = numba.float32(0.0)
        for i in range(PANELS):
            for j in range(PANELS):
                light = numba.float32(0.94) * straight[row + i, col + j] + numba.float32(0.88) * spread[row + i, col + j]
                total += light * (numba.float32(0.215) - numba.float32(0.00002) * light)
        powers[number, park] = total * numba.float32(0.002)


def pictures():
    """Clouds of a day, as the satellite has them: brighter than the ground by so much."""
    random = numpy.random.default_rng(20)
    waves = random.standard_normal((SIDE, SIDE // 2 + 1)) + 1j * random.standard_normal((SIDE, SIDE // 2 + 1))
    often = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.rfftfreq(SIDE)) * SIDE
    sky = numpy.fft.irfft2(waves / (6.0 + often) ** 1.7, s=(SIDE, SIDE))
    sky = (0.25 * (sky - sky.mean()) / sky.std()).astype(numpy.float32)
    for number in range(PICTURES):
        mixed = numpy.roll(sky, (37 * number, 90 * number), axis=(0, 1)) + numpy.float32(0.3) * sky
        yield numpy.clip(mixed + numpy.float32(0.01 * number), 0.0, 1.0)


def make(variant):
    seen = [cuda.to_device(picture) for picture in pictures()]
    powers = cuda.to_device(numpy.zeros((PICTURES, PARKS * PARKS), dtype=numpy.float32))
    landing = cuda.pinned_array if variant == "useless" else numpy.zeros
    landing = landing((PICTURES, PARKS * PARKS), dtype=numpy.float32)
    made_once = [cuda.device_array((SIDE, SIDE), dtype=numpy.float32) for _ in range(5)] if variant == "fix" else None
    turn, megawatts = [0], [0.0]
    suns = [(numpy.float32(2.6 * math.cos(0.2 * k)), numpy.float32(1.0 + 0.1 * k)) for k in range(PICTURES)]
    winds = [(numpy.float32(21.3 + 0.4 * k), numpy.float32(6.7 - 0.3 * k)) for k in range(PICTURES)]

    def array(which):
        if made_once:
            return made_once[which]
        return cuda.device_array((SIDE, SIDE), dtype=numpy.float32)  # cause: alloc

    def forecast(number):
        moved = array(0)  # cause: alloc
        move_on[BLOCKS, THREADS](seen[number], moved, *winds[number])
        depth = array(1)  # cause: alloc
        depths[BLOCKS, THREADS](moved, depth)
        through = array(2)  # cause: alloc
        rays[BLOCKS, THREADS](depth, through, *suns[number])
        straight = array(3)  # cause: alloc
        spread = array(4)  # cause: alloc
        lights[BLOCKS, THREADS](depth, through, straight, spread)
        parks[PARKS * PARKS // 64, 64](straight, spread, powers, number)  # cause: alloc

    def step():
        number = turn[0] % PICTURES
        turn[0] += 1
        forecast(number)  # cause: alloc
        if turn[0] % LOOK_EVERY == 0:
            powers.copy_to_host(landing)
            megawatts[0] = float(landing.sum(axis=1).max())

    def values():
        found = powers.copy_to_host()
        return found.mean(axis=1).tolist() + found[:, ::512].ravel().tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
