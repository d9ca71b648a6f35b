# SPDX-License-Identifier: Apache-2.0
"""Numba: two thousand pucks glide on a table of air, and bounce off each other and the table's edge without loss, as a model of
a gas; it goes from one bounce to the next one (event-driven molecular dynamics): which pair meets soonest is looked for among
all of them, then all pucks are moved to that moment, and the two that meet get their new ways.

Wrong: the soonest bounce is read to the host, which tells from it how far to move, and which pucks bounce; the GPU has nothing
to do until then, at each bounce.
fix: the kernel that moves the pucks takes the bounce from where it was found; the host only reads what came of 64 (sync-bound).
useless: the soonest bounce is read into pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

int32, int64, float32, float64 = numba.int32, numba.int64, numba.float32, numba.float64
PUCKS, PARTS, THREADS, BOUNCES, SIDE = 2048, 32, 256, 64, 64.0
LARGE, NONE = numpy.float32(0.8), numpy.float32(0.0)  # LARGE: how wide a puck is
LATEST, NEAREST, FARTHEST = numpy.float32(16.0), numpy.float32(0.4), numpy.float32(SIDE - 0.4)
TICKS, PUCK_BITS, WITH_BITS = 2.0 ** 32, 11, 12  # a bounce is one number: ticks until then, a puck, and the other or an edge
NEVER, UNTOLD = (1 << 62) - 1, numpy.int32(-1)


@cuda.jit(device=True)
def time_to_edge(at, way):
    if way == NONE:
        return LATEST
    return max(NONE, ((FARTHEST if way > NONE else NEAREST) - at) / way)


@cuda.jit
def soonest(pucks, bounces, slot):
    """The next bounce of all, in bounces[slot]; a thread has a puck and a part of the others."""
    found = cuda.shared.array(THREADS, int64)
    puck, part, thread = cuda.grid(1), cuda.blockIdx.y, cuda.threadIdx.x
    x, y, u, v = pucks[0, puck], pucks[1, puck], pucks[2, puck], pucks[3, puck]
    best, partner = LATEST, int32(0)
    for other in range(part * (PUCKS // PARTS), (part + 1) * (PUCKS // PARTS)):
        across, along = pucks[0, other] - x, pucks[1, other] - y
        to_u, to_v = pucks[2, other] - u, pucks[3, other] - v
        nearing = across * to_u + along * to_v
        if other > puck and nearing < NONE:
            speed = to_u * to_u + to_v * to_v
            inside = nearing * nearing - speed * (across * across + along * along - LARGE * LARGE)
            if inside > NONE:
                time = max(NONE, (-nearing - math.sqrt(inside)) / speed)
                if time < best:
                    best, partner = time, int32(other)
    if part == 0:
        for edge in range(2):
            time = time_to_edge(x, u) if edge == 0 else time_to_edge(y, v)
            if time < best:
                best, partner = time, int32(PUCKS + edge)
    key = int64(float64(best) * TICKS)
    found[thread] = (((key << PUCK_BITS) | int64(puck)) << WITH_BITS) | int64(partner) if best < LATEST else int64(NEVER)
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            found[thread] = min(found[thread], found[thread + half])
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.min(bounces, slot, found[0])


@cuda.jit
def move(pucks, bounces, slot, told, time, one, other):
    """Moves the pucks on to the bounce, which is in bounces[slot] if the host does not tell it (one < 0). A thread has a puck;
    that of the first one of the bounce also moves the other one."""
    puck = cuda.grid(1)
    if one < 0:
        key = bounces[slot]
        time = float32(float64(key >> (PUCK_BITS + WITH_BITS)) / TICKS)
        one, other = int32((key >> WITH_BITS) & (PUCKS - 1)), int32(key & ((1 << WITH_BITS) - 1))
    if puck == 0:
        bounces[1 - slot] = int64(NEVER)
        told[0] += float64(time)
    if puck == other:
        return
    u, v = pucks[2, puck], pucks[3, puck]
    x, y = pucks[0, puck] + time * u, pucks[1, puck] + time * v
    if puck == one:
        if other >= PUCKS:
            told[1] += float64(2.0) * abs(float64(u if other == PUCKS else v))
            u, v = (-u if other == PUCKS else u), (-v if other == PUCKS + 1 else v)
        else:
            to_u, to_v = pucks[2, other], pucks[3, other]
            to_x, to_y = pucks[0, other] + time * to_u, pucks[1, other] + time * to_v
            across, along = to_x - x, to_y - y
            share = (across * (to_u - u) + along * (to_v - v)) / (across * across + along * along)
            u, v, to_u, to_v = u + share * across, v + share * along, to_u - share * across, to_v - share * along
            pucks[0, other], pucks[1, other], pucks[2, other], pucks[3, other] = to_x, to_y, to_u, to_v
    pucks[0, puck], pucks[1, puck], pucks[2, puck], pucks[3, puck] = x, y, u, v


def make(variant):
    random, row = numpy.random.default_rng(20), math.ceil(math.sqrt(PUCKS))
    places = (numpy.stack(numpy.divmod(numpy.arange(PUCKS), row)) + 0.5) * (SIDE / row) + random.uniform(-0.2, 0.2, (2, PUCKS))
    pucks = cuda.to_device(numpy.concatenate((places, random.standard_normal((2, PUCKS)))).astype(numpy.float32))
    bounces, told = cuda.to_device(numpy.full(2, NEVER)), cuda.to_device(numpy.zeros(2))
    landing = cuda.pinned_array(2, numpy.int64) if variant == "useless" else numpy.zeros(2, numpy.int64)
    blocks, turn, before, usual = PUCKS // THREADS, [0], [0.0, 0.0], [0.0, 0.0]

    def bounce(slot):
        soonest[(blocks, PARTS), THREADS](pucks, bounces, slot)
        if variant == "fix":
            move[blocks, THREADS](pucks, bounces, slot, told, NONE, UNTOLD, UNTOLD)
            return
        bounces.copy_to_host(landing)  # cause: wait,copy
        key = int(landing[slot])
        time = numpy.float32((key >> (PUCK_BITS + WITH_BITS)) / TICKS)
        one, other = (key >> WITH_BITS) & (PUCKS - 1), key & ((1 << WITH_BITS) - 1)
        move[blocks, THREADS](pucks, bounces, slot, told, time, numpy.int32(one), numpy.int32(other))

    def step():
        for _ in range(BOUNCES):
            bounce(turn[0] % 2)  # cause: wait,copy
            turn[0] += 1
        time, pushed = told.copy_to_host().tolist()
        usual[0] += 0.02 * (1000.0 * (time - before[0]) - usual[0])
        usual[1] += 0.02 * (pushed - before[1] - usual[1])
        before[:] = [time, pushed]

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
