# SPDX-License-Identifier: Apache-2.0
"""Numba: a town plans its bus timetable. For each of 512 stops and 128 times to leave it is told when a traveller comes to every
other stop, by a scan of all legs of all buses in the order of their departure: a leg can be taken by who is on that bus already,
or is at its stop three minutes before. The planners look at how many stops are reached within 45 minutes, for six drafts of the
timetable in turn, and leave a minute later each time that all drafts are through.

Wrong: nothing; one kernel that is busy with 65536 journeys takes nearly all of the time, and the read of 3 KB behind it is a small
wait (gpu-bound).
useless: how many stops are reached is read once in 24 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=360, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

STOPS, LINES, ALONG, EVERY, DRAFTS, LEAVES, THREADS, SHOWN = 512, 32, 20, 10, 6, 128, 128, 24
DAWN, DUSK, FIRST, APART, LONGEST, SOON, CHANGE, NEVER = 300, 1260, 360, 6, 90, 45, 3, 1 << 20  # minutes of the day
JOURNEYS = STOPS * LEAVES
int32 = numba.int32


@cuda.jit
def begin(arrives, aboard, reached, draft, late):
    """No traveller is on a bus, or has come to any stop but the first one."""
    own = cuda.grid(1)
    for stop in range(STOPS):
        arrives[stop, own] = NEVER
    for trip in range(aboard.shape[0]):
        aboard[trip, own] = 0
    arrives[own % STOPS, own] = FIRST + APART * (own // STOPS) + late - CHANGE
    if own < LEAVES:
        reached[draft, own] = 0


@cuda.jit
def travel(legs, begins, arrives, aboard, draft, late):
    """A traveller takes each leg that can be taken: (departure, arrival, from, to, trip), sorted by departure."""
    own = cuda.grid(1)
    leave = FIRST + APART * (own // STOPS) + late
    for leg in range(begins[draft, leave], legs.shape[2]):
        departs = legs[draft, 0, leg]
        if departs > leave + LONGEST:
            break
        trip = legs[draft, 4, leg]
        on = aboard[trip, own] != 0
        if not on and arrives[legs[draft, 2, leg], own] + CHANGE <= departs:
            aboard[trip, own] = 1
            on = True
        if on:
            then, to = legs[draft, 1, leg], legs[draft, 3, leg]
            if then < arrives[to, own]:
                arrives[to, own] = then


@cuda.jit
def count(arrives, reached, draft, late):
    """How many stops are reached soon, added up for each time to leave."""
    own = cuda.grid(1)
    leave = FIRST + APART * (own // STOPS) + late
    many = int32(0)
    for stop in range(STOPS):
        if arrives[stop, own] <= leave + SOON:
            many += 1
    cuda.atomic.add(reached, (draft, own // STOPS), many)


def timetables():
    """The legs of all drafts, (DRAFTS, 5, legs), where the scan begins for each minute, and how many trips there are."""
    random = numpy.random.default_rng(20)
    where = random.uniform(0.0, 1.0, (STOPS, 2))
    lines = []
    for _ in range(LINES):
        ends = random.uniform(0.0, 1.0, (2, 2))
        way = ends[0] + (ends[1] - ends[0]) * numpy.linspace(0.0, 1.0, ALONG)[:, None] + random.normal(0.0, 0.05, (ALONG, 2))
        nearest = ((way[:, None] - where) ** 2).sum(axis=2).argmin(axis=1)
        lines.append((nearest, random.integers(1, 5, ALONG - 1)))
    starts = numpy.arange(DAWN, DUSK, EVERY)
    drafts, begins = [], []
    for _ in range(DRAFTS):
        legs, trips = [], 0
        for number, (stops, minutes) in enumerate(lines):
            back = number % 2 == 1
            stops, minutes = (stops[::-1], minutes[::-1]) if back else (stops, minutes)
            clock = numpy.concatenate(([0], minutes.cumsum())) + random.integers(0, EVERY)
            for start in starts:
                trip = numpy.full(ALONG - 1, trips)
                legs.append(numpy.stack((start + clock[:-1], start + clock[1:], stops[:-1], stops[1:], trip)))
                trips += 1
        legs = numpy.concatenate(legs, axis=1)
        legs = legs[:, numpy.argsort(legs[0], kind="stable")]
        drafts.append(legs)
        begins.append(numpy.searchsorted(legs[0], numpy.arange(1440)))
    legs, begins = (numpy.ascontiguousarray(numpy.stack(parts), dtype=numpy.int32) for parts in (drafts, begins))
    return legs, begins, trips


def make(variant):
    legs, begins, trips = timetables()
    legs, begins = cuda.to_device(legs), cuda.to_device(begins)
    arrives = cuda.device_array((STOPS, JOURNEYS), dtype=numpy.int32)
    aboard = cuda.device_array((trips, JOURNEYS), dtype=numpy.uint8)
    reached = cuda.to_device(numpy.zeros((DRAFTS, LEAVES), dtype=numpy.int32))
    told, best = numpy.zeros((DRAFTS, LEAVES), dtype=numpy.int32), [0]
    work, turn, shown = cuda.stream(), [0], SHOWN if variant == "useless" else 1
    cuda.synchronize()

    def step():
        draft, late = turn[0] % DRAFTS, turn[0] // DRAFTS % APART
        begin[JOURNEYS // THREADS, THREADS, work](arrives, aboard, reached, draft, late)
        travel[JOURNEYS // THREADS, THREADS, work](legs, begins, arrives, aboard, draft, late)
        count[JOURNEYS // THREADS, THREADS, work](arrives, reached, draft, late)
        turn[0] += 1
        if turn[0] % shown == 0:
            reached.copy_to_host(told, stream=work)
            work.synchronize()
            best[0] = int(told.sum(axis=1).argmax())

    def values():
        """How many stops are reached on the mean, by each draft and time."""
        return (reached.copy_to_host() / STOPS).reshape(-1).tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
