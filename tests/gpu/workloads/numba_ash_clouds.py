# SPDX-License-Identifier: Apache-2.0
"""Numba: when a volcano throws out ash, its observatory tells airports where the cloud goes, and villages how much falls on them.
Ash is followed in sixteen layers of 1024 by 1024 squares: winds are drawn from a coarse forecast, the vent adds ash, winds carry
it, it is mixed with what is about it, and sinks to the layer below or to the ground. A step is two ticks of a minute.

Wrong: a tick makes five arrays of 67 MB, which come from the driver each time, and go back to it.
fix: the five arrays are made once (alloc-bound).
useless: what has fallen on villages, which is read once in 25 steps, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

LAYERS, SIDE, COARSE, TICKS, HOURS, SHOWN, THREADS, VILLAGES = 16, 1024, 32, 2, 12, 25, 128, 128
VENT, WIDE, THROWN, MIXED, SINKS = SIDE // 3, 12, 0.2, 0.12, 0.04
EACH, SPREAD = SIDE // COARSE, SIDE // VILLAGES
float32 = numba.float32


@cuda.jit
def blow(winds, hour, east, north):
    """The wind of each square, in squares a tick, between those of the forecast."""
    x, y, layer = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    left, up = x // EACH, y // EACH
    right, down = float32(x % EACH) / float32(EACH), float32(y % EACH) / float32(EACH)
    for axis in range(2):
        field = winds[hour, axis, layer]
        above = field[up, left] + right * (field[up, left + 1] - field[up, left])
        below = field[up + 1, left] + right * (field[up + 1, left + 1] - field[up + 1, left])
        blown = above + down * (below - above)
        if axis == 0:
            east[layer, y, x] = blown
        else:
            north[layer, y, x] = blown


@cuda.jit
def erupt(cloud, lofted):
    """The ash, and what the vent adds to it, most of it high up."""
    x, y, layer = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    ash = cloud[layer, y, x]
    if abs(x - VENT) < WIDE and abs(y - VENT) < WIDE:
        ash += float32(THROWN) * float32(layer + 1)
    lofted[layer, y, x] = ash


@cuda.jit
def carry(lofted, east, north, carried):
    """The ash that the wind brings to each square, from where it was a tick ago."""
    x, y, layer = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    most = float32(SIDE - 1.001)
    from_x = min(max(float32(x) - east[layer, y, x], float32(0.0)), most)
    from_y = min(max(float32(y) - north[layer, y, x], float32(0.0)), most)
    left, up = int(from_x), int(from_y)
    right, down = from_x - float32(left), from_y - float32(up)
    above = lofted[layer, up, left] + right * (lofted[layer, up, left + 1] - lofted[layer, up, left])
    below = lofted[layer, up + 1, left] + right * (lofted[layer, up + 1, left + 1] - lofted[layer, up + 1, left])
    carried[layer, y, x] = above + down * (below - above)


@cuda.jit
def mix(carried, mixed):
    """The ash, mixed with that of the four squares about it; none comes from outside."""
    x, y, layer = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    about = float32(0.0)
    if x > 0:
        about += carried[layer, y, x - 1]
    if x < SIDE - 1:
        about += carried[layer, y, x + 1]
    if y > 0:
        about += carried[layer, y - 1, x]
    if y < SIDE - 1:
        about += carried[layer, y + 1, x]
    own = carried[layer, y, x]
    mixed[layer, y, x] = own + float32(MIXED) * (about - float32(4.0) * own)


@cuda.jit
def sink(mixed, cloud, ground):
    """What has sunk to each layer, and to the ground, which forgets slowly as rain washes it."""
    x, y, layer = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    own = mixed[layer, y, x]
    comes = mixed[layer + 1, y, x] if layer < LAYERS - 1 else float32(0.0)
    cloud[layer, y, x] = own + float32(SINKS) * (comes - own)
    if layer == 0:
        ground[y, x] = float32(0.995) * ground[y, x] + float32(SINKS) * own


@cuda.jit
def fallen(ground, villages):
    """The ash on the ground of each village: a line of its squares."""
    x, y = cuda.threadIdx.x, cuda.blockIdx.x
    total = float32(0.0)
    for at in range(SPREAD):
        total += ground[y * SPREAD + SPREAD // 2, x * SPREAD + at]
    villages[y, x] = total / float32(SPREAD)


def forecast():
    """Winds of each hour, east and north, for each layer: stronger and more to the east high up."""
    luck = numpy.random.default_rng(20)
    high = numpy.linspace(0.3, 1.5, LAYERS)[:, None, None]
    winds = 0.6 * luck.standard_normal((HOURS, 2, LAYERS, COARSE + 1, COARSE + 1))
    winds[:, 0] += 2.5 * high
    winds[:, 1] += 1.2 * numpy.sin(numpy.arange(HOURS))[:, None, None, None] * high
    return cuda.to_device(winds.astype(numpy.float32))


def make(variant):
    winds, shape, grid = forecast(), (LAYERS, SIDE, SIDE), ((SIDE // THREADS, SIDE, LAYERS), THREADS)
    cloud = cuda.to_device(numpy.zeros(shape, dtype=numpy.float32))
    ground = cuda.to_device(numpy.zeros(shape[1:], dtype=numpy.float32))
    villages = cuda.to_device(numpy.zeros((VILLAGES, VILLAGES), dtype=numpy.float32))
    pinned = cuda.pinned_array if variant == "useless" else numpy.empty
    told, turn = pinned((VILLAGES, VILLAGES), dtype=numpy.float32), [0]
    told[...] = 0.0

    def five():
        """Arrays for a tick."""
        return [cuda.device_array(shape, dtype=numpy.float32) for _ in range(5)]  # cause: alloc

    kept = five() if variant == "fix" else None

    def tick(hour):
        """A minute of the cloud."""
        east, north, lofted, carried, mixed = kept or five()  # cause: alloc
        blow[grid](winds, hour, east, north)
        erupt[grid](cloud, lofted)
        carry[grid](lofted, east, north, carried)
        mix[grid](carried, mixed)
        sink[grid](mixed, cloud, ground)

    def step():
        for _ in range(TICKS):
            tick(turn[0] % HOURS)  # cause: alloc
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            fallen[VILLAGES, VILLAGES](ground, villages)
            villages.copy_to_host(told)

    return fixable.Work(step, cuda.synchronize, lambda: told.mean(axis=1).tolist())


run.main(make)
