# SPDX-License-Identifier: Apache-2.0
"""Numba: how the pulse goes through the arteries of 512 patients: from the heart through a tree of 63 arteries, as waves that go
forth and back; at each fork a part of a wave comes back, and where the tree ends the small vessels fill and give back some.

Wrong: a loop goes through the arteries, and launches a short kernel for the waves in each one and another one for its end; what
the GPU does of it takes far less time than that.
fix: each kernel does all arteries at once (launch-bound).
useless: the pressure at the heart is looked at every 50 steps instead of every 10.
"""
import math

import fixable

LOOK_EVERY, LOOK_SELDOM = 10, 50

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_SELDOM, multiple=LOOK_SELDOM)
numpy, numba, cuda = fixable.load_numba()

ARTERIES, PATIENTS, POINTS, THREADS, TICKS = 63, 512, 32, 128, 8  # the branches of artery k are 2 k + 1 and 2 k + 2
NONE, ONE, TWO, TURN = numpy.float32(0.0), numpy.float32(1.0), numpy.float32(2.0), numpy.float32(2.0 * math.pi)
STIFFER, SLOWEST, FASTEST, KEEPS = numpy.float32(0.04), numpy.float32(0.1), numpy.float32(0.95), numpy.float32(0.9995)
HEART, ENDS, FILLS, GIVES, USUAL = [numpy.float32(number) for number in (0.4, 0.3, 0.02, 0.4, 0.002)]


@cuda.jit
def go_on(forth, back, new_forth, new_back, into, out_of, speeds, first):
    """Waves go on by a tick; a thread has a point of an artery of a patient."""
    artery, place = first + cuda.blockIdx.y, cuda.grid(1)
    patient, point = place // POINTS, place % POINTS
    if patient >= PATIENTS:
        return
    there, here = forth[artery, patient, point], back[artery, patient, point]
    behind, ahead = into[artery, patient], out_of[artery, patient]
    if point > 0:
        behind = forth[artery, patient, point - 1]
    if point < POINTS - 1:
        ahead = back[artery, patient, point + 1]
    speed = min(max(speeds[artery] * (ONE + STIFFER * (there + here)), SLOWEST), FASTEST)
    new_forth[artery, patient, point] = KEEPS * (there - speed * (there - behind))
    new_back[artery, patient, point] = KEEPS * (here - speed * (here - ahead))


@cuda.jit
def meet(forth, back, into, out_of, wide, filled, clocks, beats, pressures, first):
    """What comes into the arteries from the fork at the end of each, from the heart, and from the small vessels; a thread has an
    artery of a patient."""
    artery, patient = first + cuda.blockIdx.y, cuda.grid(1)
    if patient >= PATIENTS:
        return
    end = forth[artery, patient, POINTS - 1]
    if artery == 0:
        clock = clocks[patient] + beats[patient]
        if clock >= ONE:
            clock -= ONE
        clocks[patient] = clock
        into[0, patient] = max(math.sin(TURN * clock), NONE) + HEART * back[0, patient, 0]
        pressure = forth[0, patient, 0] + back[0, patient, 0]
        pressures[patient] += USUAL * (pressure - pressures[patient])
    left, right = 2 * artery + 1, 2 * artery + 2
    if right < ARTERIES:
        one, other = back[left, patient, 0], back[right, patient, 0]
        all_wide = wide[artery] + wide[left] + wide[right]
        pressure = TWO * (wide[artery] * end + wide[left] * one + wide[right] * other) / all_wide
        out_of[artery, patient] = pressure - end
        into[left, patient] = pressure - one
        into[right, patient] = pressure - other
    else:
        kept = filled[artery, patient]
        kept += FILLS * (end - kept)
        filled[artery, patient] = kept
        out_of[artery, patient] = ENDS * end + GIVES * kept


def make(variant):
    random = numpy.random.default_rng(20)
    level = numpy.floor(numpy.log2(numpy.arange(ARTERIES) + 1.0))
    wide = cuda.to_device((0.6 ** level * random.uniform(0.9, 1.1, ARTERIES)).astype(numpy.float32))
    speeds = cuda.to_device((0.5 * 1.05 ** level * random.uniform(0.9, 1.1, ARTERIES)).astype(numpy.float32))
    sides = [[cuda.to_device(numpy.zeros((ARTERIES, PATIENTS, POINTS), numpy.float32)) for _ in range(2)] for _ in range(2)]
    into, out_of, filled = [cuda.to_device(numpy.zeros((ARTERIES, PATIENTS), numpy.float32)) for _ in range(3)]
    clocks = cuda.to_device(random.random(PATIENTS).astype(numpy.float32))
    beats = cuda.to_device(random.uniform(0.002, 0.006, PATIENTS).astype(numpy.float32))
    pressures = cuda.to_device(numpy.zeros(PATIENTS, numpy.float32))
    many, few = PATIENTS * POINTS // THREADS, PATIENTS // THREADS
    at_once = ARTERIES if variant == "fix" else 1
    look_every, turn, usual = LOOK_SELDOM if variant == "useless" else LOOK_EVERY, [0], [0.0, 0.0]

    def tick():
        (forth, back), (new_forth, new_back) = sides
        for first in range(0, ARTERIES, at_once):
            meet[(few, at_once), THREADS](forth, back, into, out_of, wide, filled, clocks,  # cause: launch
                                          beats, pressures, first)  # cause: launch
        for first in range(0, ARTERIES, at_once):
            go_on[(many, at_once), THREADS](forth, back, new_forth, new_back, into, out_of, speeds, first)  # cause: launch
        sides.reverse()

    def step():
        for _ in range(TICKS):
            tick()  # cause: launch
        turn[0] += 1
        if turn[0] % look_every == 0:
            found = pressures.copy_to_host()
            usual[:] = [float(found.mean()), float(found.std())]

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
