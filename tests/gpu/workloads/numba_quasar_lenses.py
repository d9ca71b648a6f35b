# SPDX-License-Identifier: Apache-2.0
"""Numba: the light of a far quasar flickers as stars of a galaxy before it bend its way. How bright it is at each place
behind 1024 stars is found by shooting rays: 2048 by 2048 of them go back from the eye through the galaxy, each bent by all
the stars, and are counted where they land. The stars move on from step to step, and the light at 256 places is kept.

Wrong: nothing (gpu-bound); nearly all the time is that of the kernel that shoots the rays.
useless: the light of the places, which is read every 20 steps, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
numpy, _, cuda = fixable.load_numba()

STARS, SIDE, CELLS, PLACES, NEAR, READ = 1024, 2048, 512, 256, 6, 20
BLOCK, OVER_RAYS, OVER_CELLS = (32, 8), (SIDE // 32, SIDE // 8), (CELLS // 32, CELLS // 8)
DENSE, PACE = 0.35, 0.01  # how dense the stars are; time of a step
ONE, ZERO, SOFT, SHEAR = numpy.float32(1.0), numpy.float32(0.0), numpy.float32(1e-4), numpy.float32(0.2)
WINDOW, RAY = numpy.float32(30.0), numpy.float32(60.0 / SIDE)  # half of the window of rays, and the way between two rays
REACH, PER = numpy.float32(10.0), numpy.float32(CELLS / 20.0)  # half of the map, and cells for each radius
EASE, BROAD = numpy.float32(0.05), numpy.float32(1.0 / 12.5)


@cuda.jit
def move(begin, drift, time, stars):
    s = cuda.grid(1)
    stars[s, 0] = begin[s, 0] + drift[s, 0] * time
    stars[s, 1] = begin[s, 1] + drift[s, 1] * time


@cuda.jit
def clear(hits):
    x, y = cuda.grid(2)
    hits[y, x] = 0


@cuda.jit(fastmath=True)
def shoot(stars, hits):
    """A thread follows a ray to the plane of the quasar."""
    right, down = cuda.grid(2)
    x = numpy.float32(right) * RAY - WINDOW
    y = numpy.float32(down) * RAY - WINDOW
    bent_x = ZERO
    bent_y = ZERO
    for s in range(STARS):
        from_x = x - stars[s, 0]
        from_y = y - stars[s, 1]
        pull = ONE / (from_x * from_x + from_y * from_y + SOFT)
        bent_x += from_x * pull
        bent_y += from_y * pull
    u = (ONE - SHEAR) * x - bent_x
    v = (ONE + SHEAR) * y - bent_y
    if -REACH < u and u < REACH and -REACH < v and v < REACH:
        column = min(int((u + REACH) * PER), CELLS - 1)
        row = min(int((v + REACH) * PER), CELLS - 1)
        cuda.atomic.add(hits, (row, column), 1)


@cuda.jit
def look(hits, light):
    """How bright a round quasar is at each place of a line across the map, as a running mean."""
    place = cuda.grid(1)
    column = place + (CELLS - PLACES) // 2
    total = ZERO
    whole = ZERO
    for dy in range(-NEAR, NEAR + 1):
        for dx in range(-NEAR, NEAR + 1):
            weight = math.exp(-numpy.float32(dx * dx + dy * dy) * BROAD)
            total += weight * numpy.float32(hits[CELLS // 2 + dy, column + dx])
            whole += weight
    rays = ONE / (PER * PER * RAY * RAY)  # that would come to a cell without a galaxy
    light[place] += EASE * (total / (whole * rays) - light[place])


def galaxy():
    """Where the stars are at first, and how they move."""
    random = numpy.random.default_rng(20)
    half = 0.5 * math.sqrt(STARS * math.pi / DENSE)  # of the stars' field, in radii of Einstein
    begin = random.uniform(-half, half, (STARS, 2))
    drift = random.normal(0.0, 0.3, (STARS, 2))
    return begin.astype(numpy.float32), drift.astype(numpy.float32)


def make(variant):
    begin, drift = [cuda.to_device(a) for a in galaxy()]
    stars = cuda.device_array((STARS, 2), dtype=numpy.float32)
    hits = cuda.device_array((CELLS, CELLS), dtype=numpy.int32)
    light = cuda.to_device(numpy.zeros(PLACES, dtype=numpy.float32))
    landing = cuda.pinned_array(PLACES, dtype=numpy.float32) if variant == "useless" else numpy.zeros(PLACES, dtype=numpy.float32)
    moving, clearing, shooting, looking = move[STARS // 128, 128], clear[OVER_CELLS, BLOCK], shoot[OVER_RAYS, BLOCK], look[4, 64]
    turn, told = [0], [0.0]

    def step():
        moving(begin, drift, numpy.float32(PACE * turn[0]), stars)
        clearing(hits)
        shooting(stars, hits)
        looking(hits, light)
        turn[0] += 1
        if turn[0] % READ == 0:
            light.copy_to_host(landing)
            told[0] = float(landing.mean())

    return fixable.Work(step, cuda.synchronize, lambda: [float(m) for m in light.copy_to_host().reshape(8, -1).mean(axis=1)])


run.main(make)
