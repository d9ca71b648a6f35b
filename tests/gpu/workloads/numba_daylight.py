# SPDX-License-Identifier: Apache-2.0
"""Numba: how much daylight comes to the desks of an office is computed for plans of where to put shelves and walls: from each
of 131072 points rays go out and bounce until they meet the window or are lost, in passes, until the mean error is small.

Wrong: the error is read behind each pass, to know whether another one is needed; the GPU has nothing until that is launched.
fix: it is read behind each eighth pass; a plan may get up to seven passes more than it needs (sync-bound).
useless: the error is read into pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

float32, int32, uint32 = numba.float32, numba.int32, numba.uint32
ACROSS, ALONG, PATHS, BOUNCES, FEWEST, MOST, PLANS, BOXES, THREADS, EACH, LIMIT = 512, 256, 4, 4, 16, 128, 6, 6, 256, 8, 0.128
WIDE, LONG, HIGH, DESK, LEFT, RIGHT, SILL, TOP = (numpy.float32(x) for x in (12.0, 8.0, 3.0, 0.8, 1.0, 11.0, 0.9, 2.7))
NONE, QUARTER, HALF, ONE, TWO, THREE, TINY, ALMOST = (numpy.float32(x) for x in (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 1e-6, 0.9999))
FLOOR, WALL, CEILING, BOX, GROUND, SKY = (numpy.float32(x) for x in (0.2, 0.5, 0.8, 0.4, 0.2, 9.0 / 7.0))
TURN, TO_ONE, EAST, SOUTH = (numpy.float32(x) for x in (2.0 * math.pi, 2.0 ** -24, 12.0 / ACROSS, 8.0 / ALONG))


@cuda.jit(device=True)
def nearest(x, y, z, u, v, w, boxes):
    """How far a ray goes, across which axis the surface is that it meets, and whether that is a box's."""
    by_u, by_v, by_w = ONE / u, ONE / v, ONE / w
    first, second = max(-x * by_u, (WIDE - x) * by_u), max(-y * by_v, (LONG - y) * by_v)
    best, box = min(min(first, second), max(-z * by_w, (HIGH - z) * by_w)), False
    axis = int32(0) if best == first else (int32(1) if best == second else int32(2))
    for k in range(BOXES):
        a, b = (boxes[k, 0] - x) * by_u, (boxes[k, 3] - x) * by_u
        c, d = (boxes[k, 1] - y) * by_v, (boxes[k, 4] - y) * by_v
        e, f = (boxes[k, 2] - z) * by_w, (boxes[k, 5] - z) * by_w
        first, second, third = min(a, b), min(c, d), min(e, f)
        enters, leaves = max(first, max(second, third)), min(max(a, b), min(max(c, d), max(e, f)))
        if NONE < enters and enters < leaves and enters < best:
            best, box = enters, True
            axis = int32(0) if enters == first else (int32(1) if enters == second else int32(2))
    return best * ALMOST, axis, box


@cuda.jit(device=True)
def light_of(x, y, z, state, boxes):
    """What a path from a point brings, as a share of what it would have under the open sky; and how the dice lie then."""
    axis, up, carries, light = int32(2), ONE, ONE, NONE
    for _ in range(BOUNCES):
        state = uint32(state * uint32(1664525) + uint32(1013904223))
        square = float32(state >> uint32(8)) * TO_ONE
        state = uint32(state * uint32(1664525) + uint32(1013904223))
        angle = float32(state >> uint32(8)) * TO_ONE * TURN
        side, out = math.sqrt(square), up * math.sqrt(ONE - square)
        a, b = side * math.cos(angle), side * math.sin(angle)
        u, v, w = (out if axis == 0 else a), (out if axis == 1 else b), (out if axis == 2 else (a if axis == 0 else b))
        u, v, w = (u if abs(u) > TINY else TINY), (v if abs(v) > TINY else TINY), (w if abs(w) > TINY else TINY)
        far, axis, box = nearest(x, y, z, u, v, w, boxes)
        x, y, z = x + far * u, y + far * v, z + far * w
        if axis == 1 and v < NONE and not box and LEFT < x and x < RIGHT and SILL < z and z < TOP:  # the window
            light = carries * ((ONE + TWO * w) / THREE * SKY if w > NONE else GROUND)
            break
        carries *= BOX if box else (WALL if axis != 2 else (CEILING if w > NONE else FLOOR))
        up = -ONE if (u if axis == 0 else (v if axis == 1 else w)) > NONE else ONE
    return light, state


@cuda.jit
def shine(boxes, number, slot, sums, squares, told):
    """A pass; told[slot]: how uncertain all points are by then, and how light. The other slot is cleared for the next pass."""
    errors = cuda.shared.array(THREADS, float32)
    lights = cuda.shared.array(THREADS, float32)
    sensor, at = cuda.grid(1), cuda.threadIdx.x
    x, y = EAST * (float32(sensor % ACROSS) + HALF), SOUTH * (float32(sensor // ACROSS) + HALF)
    dice = (sensor * 2654435761 + number * 362437 + 12345) & 0xFFFFFFFF
    dice = ((dice ^ (dice >> 16)) * 73244475) & 0xFFFFFFFF
    state, light = uint32(dice ^ (dice >> 16)), NONE
    for _ in range(PATHS):
        one, state = light_of(x, y, DESK, state, boxes)
        light += one * QUARTER
    square, share = light * light, ONE / float32(number + 1)
    if number > 0:
        light, square = light + sums[sensor], square + squares[sensor]
    sums[sensor], squares[sensor] = light, square
    mean = light * share
    errors[at], lights[at] = math.sqrt(max(NONE, square * share - mean * mean) * share), mean
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if at < half:
            errors[at] += errors[at + half]
            lights[at] += lights[at + half]
        cuda.syncthreads()
        half //= 2
    if at == 0:
        cuda.atomic.add(told, (slot, 0), errors[0])
        cuda.atomic.add(told, (slot, 1), lights[0])
    if sensor == 0:
        told[1 - slot, 0], told[1 - slot, 1] = NONE, NONE


def plans(random):
    sizes = (0.4, 2.5, 1.2), (2.5, 0.4, 1.8), (0.1, 3.0, 2.4), (3.0, 0.1, 1.4), (0.6, 0.6, 2.9), (1.5, 0.4, 1.0)
    for begins in random.random((PLANS, BOXES, 3)) * (11.0, 5.0, 0.0) + (0.2, 0.8, 0.01):
        yield numpy.concatenate((begins, begins + sizes), axis=1).astype(numpy.float32)


def make(variant):
    offices = [cuda.to_device(plan) for plan in plans(numpy.random.default_rng(20))]
    sums, squares = [cuda.to_device(numpy.zeros(ACROSS * ALONG, dtype=numpy.float32)) for _ in range(2)]
    told = cuda.to_device(numpy.zeros((2, 2), dtype=numpy.float32))
    landing = (cuda.pinned_array if variant == "useless" else numpy.zeros)((2, 2), dtype=numpy.float32)
    blocks, turn, passes, usual = ACROSS * ALONG // THREADS, [0], [0], [0.08]

    def step():
        boxes = offices[turn[0] % PLANS]
        turn[0] += 1
        for number in range(MOST):
            slot, passes[0] = passes[0] % 2, passes[0] + 1
            shine[blocks, THREADS](boxes, number, slot, sums, squares, told)
            if variant == "fix" and (number + 1) % EACH != 0:
                continue
            told.copy_to_host(landing)  # cause: wait,copy
            error, light = landing[slot].tolist()
            if number + 1 >= FEWEST and error < LIMIT * light:
                break
        usual[0] += 0.05 * (light / (ACROSS * ALONG) - usual[0])

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
