# SPDX-License-Identifier: Apache-2.0
"""Numba: a lottery, six of 49, wants to know what its regular players would have won by now. Tickets come in piles of 4.2 million;
a ticket is the bits of a number. Each one is compared with all of the last 512 draws and its prizes are added; then it is counted
how many tickets of a pile have won how much. A step is a pile; the usual shares of eight classes of winnings are told.

Wrong: each pile of 34 MB goes from pageable memory, and the GPU waits for it.
fix: the piles lie in pinned memory (copy-bound).
fix2: the next pile is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the counts of the blocks are in an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

TICKETS, PILES, DRAWS, THREADS, CLASSES, CLASS, READ = 1 << 22, 4, 512, 256, 8, 40, 25
NUMBERS, CHOSEN, HITS, BLOCKS = 49, 6, 7, TICKETS // THREADS
PRIZES = (0, 0, 0, 10, 60, 2500, 900000)
int32, int64, float32 = numba.int32, numba.int64, numba.float32


@cuda.jit
def sell(pile, tickets):
    """Made-up tickets: six numbers, and days of a month more often than others."""
    at = cuda.grid(1)
    luck = int64(at * 7919 + pile * 104729 + 12345)
    ticket = int64(0)
    while cuda.popc(ticket) < CHOSEN:
        luck = (luck * int64(1103515245) + int64(12345)) & int64(0x7FFFFFFF)
        number = (luck >> int64(9)) % NUMBERS
        if number >= 31 and (luck >> int64(20)) % 4 == 0:
            number -= 31
        ticket |= int64(1) << int64(number)
    tickets[at] = ticket


@cuda.jit
def compare(tickets, draws, prizes, won):
    """What each ticket would have won in all draws."""
    drawn = cuda.shared.array(DRAWS, int64)
    prize = cuda.shared.array(HITS, int32)
    own, at = cuda.threadIdx.x, cuda.grid(1)
    for number in range(own, DRAWS, THREADS):
        drawn[number] = draws[number]
    if own < HITS:
        prize[own] = prizes[own]
    cuda.syncthreads()
    ticket, total = tickets[at], int64(0)
    for number in range(DRAWS):
        total += prize[cuda.popc(ticket & drawn[number])]
    won[at] = total


@cuda.jit
def count(won, counts):
    """How many tickets of a block are in each class of winnings."""
    many = cuda.shared.array(CLASSES, int32)
    own, at = cuda.threadIdx.x, cuda.grid(1)
    if own < CLASSES:
        many[own] = 0
    cuda.syncthreads()
    kind = won[at] // CLASS
    if kind >= CLASSES:
        kind = CLASSES - 1
    cuda.atomic.add(many, kind, 1)
    cuda.syncthreads()
    if own < CLASSES:
        counts[own, cuda.blockIdx.x] = many[own]


@cuda.jit
def tell(counts, usual):
    """The share of each class in a pile, and its usual one: a block of threads for each."""
    sums = cuda.shared.array(THREADS, int64)
    own, kind = cuda.threadIdx.x, cuda.blockIdx.x
    total = int64(0)
    for block in range(own, BLOCKS, THREADS):
        total += counts[kind, block]
    sums[own] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            sums[own] += sums[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        usual[kind] += float32(0.05) * (float32(sums[0]) / float32(TICKETS) - usual[kind])


def sold(pinned):
    """The piles in memory of the host."""
    place = cuda.device_array(TICKETS, dtype=numpy.int64)
    for number in range(PILES):
        pile = (cuda.pinned_array if pinned else numpy.empty)(TICKETS, dtype=numpy.int64)
        sell[BLOCKS, THREADS](number, place)
        place.copy_to_host(pile)
        yield pile


def make(variant):
    luck = numpy.random.default_rng(20)
    piles = list(sold(variant == "fix"))
    balls = [luck.choice(NUMBERS, CHOSEN, replace=False) for _ in range(DRAWS)]
    draws = cuda.to_device(numpy.array([sum(1 << int(ball) for ball in six) for six in balls], dtype=numpy.int64))
    prizes = cuda.to_device(numpy.array(PRIZES, dtype=numpy.int32))
    places = [cuda.device_array(TICKETS, dtype=numpy.int64) for _ in range(2 if variant == "fix2" else 1)]
    won = cuda.device_array(TICKETS, dtype=numpy.int64)
    usual = cuda.to_device(numpy.zeros(CLASSES, dtype=numpy.float32))
    told, turn = numpy.empty(CLASSES, dtype=numpy.float32), [0]
    here, ahead = cuda.stream(), cuda.stream()
    arrived, free = ([cuda.event(timing=False) for _ in range(2)] for _ in range(2))

    def table():
        """Room for the counts of the blocks."""
        return cuda.device_array((CLASSES, BLOCKS), dtype=numpy.int32)

    kept = table() if variant == "useless" else None

    def look_up(tickets):
        """The kernels of a pile."""
        counts = table() if kept is None else kept
        compare[BLOCKS, THREADS, here](tickets, draws, prizes, won)
        count[BLOCKS, THREADS, here](won, counts)
        tell[CLASSES, THREADS, here](counts, usual)

    def bring(number):
        """Copies a pile on the other stream, behind the kernels that have read its place."""
        free[number % 2].wait(ahead)
        places[number % 2].copy_to_device(piles[number % PILES], stream=ahead)
        arrived[number % 2].record(ahead)

    if variant == "fix2":
        cuda.synchronize()
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            arrived[number % 2].wait(here)
            look_up(places[number % 2])
            free[number % 2].record(here)
            bring(number + 1)
        else:
            places[0].copy_to_device(piles[number % PILES], stream=here)  # cause: wait,copy
            look_up(places[0])
        turn[0] += 1
        if turn[0] % READ == 0:
            usual.copy_to_host(told, stream=here)
            here.synchronize()

    return fixable.Work(step, cuda.synchronize, lambda: usual.copy_to_host().tolist())


run.main(make)
