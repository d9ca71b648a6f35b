# SPDX-License-Identifier: Apache-2.0
"""CuPy: a storm goes around over a shallow sea, and it is told how high the water comes at 32 gauges along its coast. Wind pushes
the water of 6.3 million cells, slopes push it back, and the bottom brakes it; a step is 24 short ones, each as long as the
fastest wave allows (the rule of Courant), and the storm has moved on a little behind them.

Wrong: the speed of the fastest wave is read by the host before each short step, which makes the step's length of it, and the GPU
has nothing to do until the host launches the next kernels.
fix: the speed stays on the device, where the kernels divide by it (sync-bound).
useless: the heights at the gauges, which are read once in 20 steps, come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

HIGH, WIDE, SHORT, GAUGES, LOGGED, ROUND = 2048, 3072, 24, 32, 20, 160
SHARED = """
#define WIDE %d
#define LAST %d
#define CELL 500.0f
#define GRAVITY 9.81f
""" % (WIDE, HIGH * WIDE - 1)

# The currents at the right and the lower side of each cell, by wind, slope and bottom.
PUSH = """
    const int at = (int)i, right = min(at + 1, LAST), lower = min(at + WIDE, LAST);
    const float far_x = (float)(at % WIDE) - storm_x, far_y = (float)(at / WIDE) - storm_y;
    const float wind = 3e-3f * expf(-(far_x * far_x + far_y * far_y) / (400.0f * 400.0f)) / 400.0f;
    const float time = 0.4f * CELL / fastest;
    const float deep_x = fminf(depth[i], depth[right]), deep_y = fminf(depth[i], depth[lower]);
    const float brake = 2.5e-3f * sqrtf(east * east + north * north);
    const float to_east = east + time * (GRAVITY * (height[i] - height[right]) / CELL - wind * far_y / fmaxf(deep_x, 1.0f));
    const float to_north = north + time * (GRAVITY * (height[i] - height[lower]) / CELL + wind * far_x / fmaxf(deep_y, 1.0f));
    east = deep_x < 1.0f ? 0.0f : to_east / (1.0f + time * brake / deep_x);
    north = deep_y < 1.0f ? 0.0f : to_north / (1.0f + time * brake / deep_y);
"""

# What flows into each cell, and how fast waves can be there now.
RISE = """
    const int left = max((int)i - 1, 0), upper = max((int)i - WIDE, 0);
    const int right = min((int)i + 1, LAST), lower = min((int)i + WIDE, LAST);
    const float time = 0.4f * CELL / fastest, own = depth[i];
    const float into = east[left] * fminf(depth[left], own) - east[i] * fminf(own, depth[right])
        + north[upper] * fminf(depth[upper], own) - north[i] * fminf(own, depth[lower]);
    height += time * into / CELL;
    speed = sqrtf(GRAVITY * fmaxf(own + height, 0.0f)) + fmaxf(fabsf(east[i]), fabsf(north[i]));
"""


def sea():
    """The depth of a basin in metres, with banks in it and land around it, and the cells where gauges are."""
    down = cupy.linspace(-1.0, 1.0, HIGH, dtype=cupy.float32)[:, None]
    right = cupy.linspace(-1.0, 1.0, WIDE, dtype=cupy.float32)
    away = cupy.sqrt(down * down + right * right)
    banks = cupy.sin(11.0 * right + 3.0 * down) * cupy.cos(9.0 * down)
    depth = cupy.where(away < 0.95, 15.0 + 110.0 * (0.95 - away) + 5.0 * banks, 0.0)
    angles = numpy.arange(GAUGES) * (2.0 * math.pi / GAUGES)
    rows = ((1.0 + 0.93 * numpy.sin(angles)) * (HIGH / 2)).astype(numpy.int64)
    columns = ((1.0 + 0.93 * numpy.cos(angles)) * (WIDE / 2)).astype(numpy.int64)
    return cupy.ascontiguousarray(depth, dtype=cupy.float32).reshape(-1), cupy.asarray(rows * WIDE + columns)


def make(variant):
    depth, places = sea()
    height, east, north = (cupy.zeros_like(depth) for _ in range(3))
    speed = cupy.sqrt(9.81 * depth)
    log = cupy.zeros((LOGGED, GAUGES), dtype=cupy.float32)
    make_array = cupyx.empty_pinned if variant == "useless" else numpy.empty
    read, turn = make_array((LOGGED, GAUGES), dtype=numpy.float32), [0]
    read[:] = 0.0
    push = cupy.ElementwiseKernel(
        "raw float32 depth, raw float32 height, float32 fastest, float32 storm_x, float32 storm_y",
        "float32 east, float32 north", PUSH, "push", preamble=SHARED)
    rise = cupy.ElementwiseKernel(
        "raw float32 depth, raw float32 east, raw float32 north, float32 fastest",
        "float32 height, float32 speed", RISE, "rise", preamble=SHARED)

    def short_step(storm_x, storm_y):
        fastest = speed.max()
        if variant != "fix":
            fastest = numpy.float32(float(fastest))  # cause: wait,copy
        push(depth, height, fastest, storm_x, storm_y, east, north)
        rise(depth, east, north, fastest, height, speed)

    def step():
        angle = 2.0 * math.pi * turn[0] / ROUND
        storm_x = numpy.float32(WIDE / 2 + 0.5 * WIDE / 2 * math.cos(angle))
        storm_y = numpy.float32(HIGH / 2 + 0.5 * HIGH / 2 * math.sin(angle))
        for _ in range(SHORT):
            short_step(storm_x, storm_y)  # cause: wait,copy
        log[turn[0] % LOGGED] = height[places]
        turn[0] += 1
        if turn[0] % LOGGED == 0:
            log.get(out=read)

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: read.mean(axis=0).tolist())


run.main(make)
