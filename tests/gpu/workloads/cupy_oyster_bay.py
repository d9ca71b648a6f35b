# SPDX-License-Identifier: Apache-2.0
"""CuPy: may one more oyster farm be leased in a bay? Phytoplankton and nitrogen of 4096 by 4096 squares are carried by the tide
(upwind), phytoplankton grows by light and nitrogen, and the oysters of each lease filter it from the water and give a part of the
nitrogen back. A step is ten minutes; it is noted once in four hours how much food there is in each part of the bay.

Wrong: at the end of each step the memory pool is emptied, "so that the GPU does not run full", and the next step takes all of its
arrays from the driver again.
fix: the pool keeps its memory (alloc-bound).
useless: the food in the parts of the bay, which is read once in 24 steps, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, PARTS, LEASES, READ, TIDE, DAY = 4096, 16, 40, 24, 74.5, 144.0  # tide and day in steps
GROWS, HALF, DIES, FILTERS, BACK = 0.02, 0.5, 0.002, 0.05, 0.4


def bay():
    """Currents of a rising tide, in squares a step, and how many oysters each square has."""
    luck = numpy.random.default_rng(20)
    down = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)[:, None]
    right = cupy.linspace(0.0, 1.0, SIZE, dtype=cupy.float32)
    bends = cupy.sin(6.28 * right + 2.0 * cupy.sin(9.4 * down))
    east = (0.3 * (1.0 - right) * (0.7 + 0.3 * cupy.cos(12.6 * down))).astype(cupy.float32)
    north = (0.2 * (1.0 - right) * bends).astype(cupy.float32)
    oysters = cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
    for _ in range(LEASES):
        top, left = luck.integers(0, SIZE - SIZE // 16, 2)
        high, wide = luck.integers(SIZE // 64, SIZE // 16, 2)
        oysters[top:top + high, left:left + wide] = luck.uniform(0.3, 1.0)
    return east, north, oysters


def carry(field, east, north):
    """What is in the squares behind a step of the tide: each face lets through what is upwind of it."""
    to_east = cupy.where(east > 0.0, field, cupy.roll(field, -1, axis=1))  # cause: alloc
    to_east *= east
    to_north = cupy.where(north > 0.0, field, cupy.roll(field, -1, axis=0))  # cause: alloc
    to_north *= north
    carried = field - to_east  # cause: alloc
    carried -= to_north
    carried += cupy.roll(to_east, 1, axis=1)  # cause: alloc
    carried += cupy.roll(to_north, 1, axis=0)  # cause: alloc
    return carried


def make(variant):
    rises_east, rises_north, oysters = bay()
    food = cupy.full((SIZE, SIZE), 1.0, dtype=cupy.float32)
    nitrogen = cupy.full((SIZE, SIZE), 2.0, dtype=cupy.float32)
    now = [food, nitrogen]
    del food, nitrogen
    landing = cupyx.empty_pinned((PARTS, PARTS), dtype=numpy.float32) if variant == "useless" else None
    pool = cupy.get_default_memory_pool()
    turn, told = [0], numpy.zeros((PARTS, PARTS), dtype=numpy.float32)

    def ten_minutes(number):
        """Food and nitrogen behind a step."""
        tide = math.sin(2.0 * math.pi * number / TIDE)
        light = max(math.sin(2.0 * math.pi * number / DAY), 0.0)
        east, north = tide * rises_east, tide * rises_north  # cause: alloc
        food, nitrogen = (carry(field, east, north) for field in now)  # cause: alloc
        grown = food * nitrogen  # cause: alloc
        grown /= nitrogen + HALF  # cause: alloc
        grown *= GROWS * light
        eaten = food * oysters  # cause: alloc
        eaten *= FILTERS
        dead = DIES * food  # cause: alloc
        food += grown
        food -= eaten
        food -= dead
        nitrogen -= grown
        nitrogen += dead
        eaten *= BACK
        nitrogen += eaten
        return food, nitrogen

    def step():
        now[:] = ten_minutes(turn[0])  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            side = SIZE // PARTS
            told[...] = now[0].reshape(PARTS, side, PARTS, side).mean(axis=(1, 3)).get(out=landing)  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: wait,alloc

    def values():
        """The food in each part, and what there is in all of the bay."""
        return told.reshape(-1).tolist() + [float(field.mean()) for field in now]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
