# SPDX-License-Identifier: Apache-2.0
"""Numba: how jams come and go on 2048 ring roads around cities, each cut into 4096 pieces: what a piece can give and what the
next one can take decides how many cars go over (cell transmission, after Daganzo). Here and there a road is narrow, and the
weather makes it narrower. After each 40 ticks, the densities come to the host, where maps of the last four are shown.

Wrong: 33.5 MB come to memory of the host that is not pinned, after the ticks, and nothing is computed meanwhile.
fix: they come to pinned memory, for which the host need not wait (copy-bound).
fix2: they come as they did, while the next ticks are computed (copy-bound).
useless: the host looks at the last map every 60 steps instead of every 20.
"""
import fixable

LOOK_EVERY, LOOK_SELDOM = 20, 60

run = fixable.Program(__doc__, steps=480, warm_up=10, multiple=LOOK_SELDOM)
numpy, numba, cuda = fixable.load_numba()

ROADS, PIECES, TICKS, KEPT, WEATHERS = 2048, 4096, 40, 4, 6
THREADS = (128, 4)
BLOCKS = (PIECES // THREADS[0], ROADS // THREADS[1])
NARROW = 0.55  # of the width, at its narrowest
FREE, BACK, JAM, MOST, SHARE = (numpy.float32(number) for number in (1.0, 0.25, 1.0, 0.2, 0.8))  # per piece and tick


@cuda.jit(device=True)
def over(here, further, room, further_room):
    """How many cars go from one piece to the next one."""
    gives = min(FREE * here, MOST * room)
    takes = min(BACK * (JAM - further), MOST * further_room)
    return min(gives, takes)


@cuda.jit
def tick(before, room, wet, after):
    piece, road = cuda.grid(2)
    if piece < PIECES and road < ROADS:
        behind = piece - 1 if piece > 0 else PIECES - 1
        further = piece + 1 if piece < PIECES - 1 else 0
        own_room = room[piece] * wet[road]
        here = before[road, piece]
        comes = over(before[road, behind], here, room[behind] * wet[road], own_room)
        goes = over(here, before[road, further], own_room, room[further] * wet[road])
        after[road, piece] = here + SHARE * (comes - goes)


def traffic(random):
    """How dense the cars are at first, how wide the road is at each piece, and how much the weather leaves of that."""
    waves = numpy.sin(numpy.arange(PIECES) * (2.0 * numpy.pi * 5 / PIECES) + random.uniform(0.0, 6.28, (ROADS, 1)))
    dense = random.uniform(0.1, 0.5, (ROADS, 1)) * (1.0 + 0.5 * waves)
    room = numpy.ones(PIECES)
    for place in random.integers(0, PIECES - 200, 6):
        room[place:place + 150] = random.uniform(NARROW, 0.9)
    wet = random.uniform(0.8, 1.0, (WEATHERS, ROADS))
    return [part.astype(numpy.float32) for part in (dense, room, wet)]


def make(variant):
    dense, room, wet = traffic(numpy.random.default_rng(20))
    room, weathers = cuda.to_device(room), [cuda.to_device(row.copy()) for row in wet]
    roads = [cuda.to_device(dense) for _ in range(3)]  # the first one is how it is now
    if variant == "fix":
        kept = [cuda.pinned_array((ROADS, PIECES), numpy.float32) for _ in range(KEPT)]
    else:
        kept = [numpy.empty((ROADS, PIECES), numpy.float32) for _ in range(KEPT)]
    for shown in kept:
        shown[:] = 0.0
    computing, copying = cuda.stream(), cuda.stream()
    computed = [cuda.event(timing=False) for _ in range(2)]
    launch = tick[BLOCKS, THREADS, computing]
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY
    turn, pending, usual = [0], [], [0.0, 0.0]
    cuda.synchronize()

    def drive(weather):
        """40 ticks; what it begins with is left as it is."""
        begin, now, other = roads
        launch(begin, room, weather, now)
        for _ in range(TICKS - 1):
            launch(now, room, weather, other)
            now, other = other, now
        roads[:] = [now, begin, other]

    def keep(densities, number):
        if variant == "fix2":
            computed[number % 2].wait(copying)
            densities.copy_to_host(kept[number % KEPT], stream=copying)
            copying.synchronize()
        else:
            densities.copy_to_host(kept[number % KEPT], stream=computing)  # cause: copy

    def look():
        """The mean of the map that came last, and which share of it is a jam; from every 32nd road and piece."""
        computing.synchronize()
        shown = kept[(turn[0] - 1 - len(pending)) % KEPT][::32, ::32]
        usual[:] = [float(shown.mean()), float((shown > 0.4).mean())]

    def step():
        number = turn[0]
        turn[0] += 1
        drive(weathers[number % WEATHERS])
        if variant == "fix2":
            computed[number % 2].record(computing)
            pending.append((roads[0], number))
            if len(pending) > 1:
                keep(*pending.pop(0))
        else:
            keep(roads[0], number)  # cause: copy
        if turn[0] % LOOK_SELDOM == 0 or turn[0] % look_every == 0:
            look()

    def wait():
        while pending:
            keep(*pending.pop(0))
        cuda.synchronize()

    def values():
        """Of the last map: how dense the cars are, how uneven, which share is a jam; and the mean at the last look."""
        shown = kept[(turn[0] - 1) % KEPT][::8, ::8]
        return [float(shown.mean()), float(shown.std()), float((shown > 0.4).mean()), usual[0]]

    return fixable.Work(step, wait, values)


run.main(make)
