# SPDX-License-Identifier: Apache-2.0
"""Numba: a flu goes through a country of four million people, each of whom has a home and a place of work or school; a step is
a day: the sick ones of each place are counted, and who is among them may catch it. How many did is read at the end of the day.

Wrong: each day takes new arrays from the driver for the counts, the chances and the next day's people, and drops the old ones.
fix: the arrays are made once, and people have two, which take turns (alloc-bound).
fix2: how many caught it is kept on the device, and read behind 20 days (sync-bound).
useless: how many caught it is read into pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=2400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, numba, cuda = fixable.load_numba()

float32 = numba.float32
PEOPLE, HOMES, WORKS, THREADS = 4194304, 1572864, 131072, 256
SICK_DAYS, IMMUNE_DAYS, AT_HOME, AT_WORK = 6, 90, 0.06, 0.012
BLOCKS = PEOPLE // THREADS
ONE, TO_ONE = numpy.float32(1.0), numpy.float32(2.0 ** -24)


@cuda.jit
def clear(counts):
    at = cuda.grid(1)
    if at < counts.size:
        counts[at] = 0


@cuda.jit
def count_sick(days, home, work, at_home, at_work):
    """days: 0 for who can catch it, 1 to SICK_DAYS for who is sick, more for who is immune."""
    person = cuda.grid(1)
    if 0 < days[person] <= SICK_DAYS:
        cuda.atomic.add(at_home, home[person], 1)
        cuda.atomic.add(at_work, work[person], 1)


@cuda.jit
def find_chances(home, work, at_home, at_work, spared, chances):
    """The chance of each one to catch it today; spared[n]: to stay well among n sick ones at home, and at work."""
    person = cuda.grid(1)
    most = spared.shape[1] - 1
    chances[person] = ONE - spared[0, min(most, at_home[home[person]])] * spared[1, min(most, at_work[work[person]])]


@cuda.jit
def go_on(days, chances, today, later, caught, slot):
    """The next day of each one, with dice from his number and the day."""
    person = cuda.grid(1)
    now = days[person]
    if now == 0:
        dice = (person * 2654435761 + today * 362437 + 12345) & 0xFFFFFFFF
        dice = ((dice ^ (dice >> 16)) * 73244475) & 0xFFFFFFFF
        dice = ((dice ^ (dice >> 16)) * 73244475) & 0xFFFFFFFF
        if float32((dice ^ (dice >> 16)) >> 8) * TO_ONE < chances[person]:
            now = 1
            cuda.atomic.add(caught, slot, 1)
    else:
        now = now + 1 if now < SICK_DAYS + IMMUNE_DAYS else 0
    later[person] = now


def country():
    """Where people live and work, and who is sick at first or was so before."""
    random = numpy.random.default_rng(20)
    home, work = random.integers(0, HOMES, PEOPLE, dtype=numpy.int32), random.integers(0, WORKS, PEOPLE, dtype=numpy.int32)
    days = random.integers(1, SICK_DAYS + IMMUNE_DAYS, PEOPLE, dtype=numpy.int32)
    days[random.random(PEOPLE, dtype=numpy.float32) < 0.6] = 0
    return home, work, days


def make(variant):
    home, work, days = [cuda.to_device(array) for array in country()]
    many = numpy.arange(64)
    spared = cuda.to_device(numpy.stack(((1.0 - AT_HOME) ** many, (1.0 - AT_WORK) ** many)).astype(numpy.float32))
    landing = cuda.pinned_array(1, numpy.int32) if variant == "useless" else numpy.zeros(1, numpy.int32)
    log = cuda.to_device(numpy.zeros(LOOK_EVERY, dtype=numpy.int32))
    people, turn, ill, season = [days], [0], [0.0], []

    def arrays():
        """For a day: the sick ones in homes and at work, the chances, the next day's people, and how many caught it."""
        return (cuda.device_array(HOMES, numpy.int32), cuda.device_array(WORKS, numpy.int32),  # cause: alloc
                cuda.device_array(PEOPLE, numpy.float32), cuda.device_array(PEOPLE, numpy.int32),  # cause: alloc
                cuda.device_array(1, numpy.int32))  # cause: alloc

    kept = arrays() if variant == "fix" else None

    def note(count):
        ill[0] += 0.05 * (count / PEOPLE - ill[0])
        season.append(count)

    def step():
        at_home, at_work, chances, later, caught = kept or arrays()  # cause: alloc
        slot = turn[0] % LOOK_EVERY if variant == "fix2" else 0
        if variant == "fix2":
            caught = log
        elif variant == "fix" and turn[0] % 2:
            later = days
        for counts in (at_home, at_work):
            clear[(counts.size + THREADS - 1) // THREADS, THREADS](counts)
        if slot == 0:
            clear[1, THREADS](caught)
        count_sick[BLOCKS, THREADS](people[0], home, work, at_home, at_work)
        find_chances[BLOCKS, THREADS](home, work, at_home, at_work, spared, chances)
        go_on[BLOCKS, THREADS](people[0], chances, turn[0], later, caught, slot)
        people[0] = later  # cause: alloc
        turn[0] += 1
        if variant != "fix2":
            caught.copy_to_host(landing)
            note(int(landing[0]))
        elif turn[0] % LOOK_EVERY == 0:
            for count in log.copy_to_host().tolist():
                note(count)
        del season[:-LOOK_EVERY]

    return fixable.Work(step, cuda.synchronize, lambda: ill + season)


run.main(make)
