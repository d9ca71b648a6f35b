# SPDX-License-Identifier: Apache-2.0
"""Numba: whoever makes a board game of streets, rents and dice wants it to be fair to all four seats. Half a million games are
played at once, one a thread, twenty rounds long: players walk, buy streets that nobody has, pay rent, and are paid at each lap;
then it is told who has the most. After each batch of games the designer changes the rents a little; which seats win and how
often each street is bought are counted.

Wrong: the boards and purses of a batch are new device arrays, which Numba takes from the driver and gives back to it when they
are no longer used; the driver takes its time, and waits for the GPU when memory is given back.
fix: the arrays are made once, and each batch is dealt into them (alloc-bound).
useless: the counts, which are read once in 25 batches, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

GAMES, SEATS, FIELDS, ROUNDS, CASH, WAGE, VARIANTS, READ = 1 << 19, 4, 40, 20, 1500, 200, 5, 25
BLOCK, BLOCKS, BINS = 256, GAMES // 256, SEATS + FIELDS + 1  # bins: wins by seat, buyers by field, worth
int32, int64 = numba.int32, numba.int64


@cuda.jit
def deal(place, money, owner, paid, got, luck, batch):
    game = cuda.grid(1)
    if game < GAMES:
        luck[game] = (game * 7919 + batch * 104729 + 12345) & 0x7FFFFFFF
        for seat in range(SEATS):
            place[seat, game] = 0
            money[seat, game] = CASH
            paid[seat, game] = 0
            got[seat, game] = 0
        for field in range(FIELDS):
            owner[field, game] = -1


@cuda.jit
def play(place, money, owner, paid, got, luck, price, rent):
    """All rounds of a game; who cannot pay all pays what is left."""
    game = cuda.grid(1)
    if game < GAMES:
        chance = int64(luck[game])
        for _ in range(ROUNDS):
            for seat in range(SEATS):
                chance = (chance * 1103515 + 12345) & 0x7FFFFFFF
                now = int64(place[seat, game]) + 2 + (chance >> 16) % 6 + (chance >> 8) % 6
                purse = int64(money[seat, game])
                purse += WAGE * (now // FIELDS)
                now %= FIELDS
                place[seat, game] = int32(now)
                cost = int64(price[now])
                if cost > 0:
                    whose = int64(owner[now, game])
                    if whose < 0:
                        if purse > 2 * cost:
                            purse -= cost
                            owner[now, game] = seat
                    elif whose != seat:
                        due = int64(rent[now])
                        due = due if due < purse else purse
                        purse -= due
                        paid[seat, game] += int32(due)
                        got[whose, game] += int32(due)
                        money[whose, game] += int32(due)
                money[seat, game] = int32(purse)


@cuda.jit
def settle(money, owner, paid, got, price, worth, winner):
    """What each seat is worth with its streets, and who has won."""
    game = cuda.grid(1)
    if game < GAMES:
        best, first = int64(-1), int64(0)
        for seat in range(SEATS):
            own = int64(money[seat, game])
            for field in range(FIELDS):
                if owner[field, game] == seat:
                    own += int64(price[field]) // 2
            worth[seat, game] = int32(own + (got[seat, game] - paid[seat, game]) // 8)
            if own > best:
                best, first = own, int64(seat)
        winner[game] = int32(first)


@cuda.jit
def tally(owner, worth, winner, counts, row):
    """Counts who has won, the worth of the winners, and which streets were bought."""
    parts = cuda.shared.array(BINS, int32)
    own = cuda.threadIdx.x
    if own < BINS:
        parts[own] = 0
    cuda.syncthreads()
    game = cuda.grid(1)
    if game < GAMES:
        first = winner[game]
        cuda.atomic.add(parts, first, 1)
        cuda.atomic.add(parts, BINS - 1, int32(worth[first, game] // 100))
        for field in range(FIELDS):
            if owner[field, game] >= 0:
                cuda.atomic.add(parts, SEATS + field, 1)
    cuda.syncthreads()
    if own < BINS:
        cuda.atomic.add(counts, (row, own), int64(parts[own]))


def board():
    """What a street costs, and its rent by variant of the game; some fields are no streets."""
    at = numpy.arange(FIELDS)
    price = numpy.where((at % 5 == 0) | (at % 7 == 2), 0, 60 + 9 * at).astype(numpy.int32)
    rents = [(price * (0.2 + 0.1 * number)).astype(numpy.int32) for number in range(VARIANTS)]
    return cuda.to_device(price), [cuda.to_device(rent) for rent in rents]


def table():
    """New arrays for a batch: places, purses, owners, paid, got, luck, worth, winners."""
    of_seats = [cuda.device_array((SEATS, GAMES), dtype=numpy.int32) for _ in range(4)]  # cause: alloc
    owner = cuda.device_array((FIELDS, GAMES), dtype=numpy.int8)  # cause: alloc
    worth = cuda.device_array((SEATS, GAMES), dtype=numpy.int32)  # cause: alloc
    luck, winner = (cuda.device_array(GAMES, dtype=numpy.int32) for _ in range(2))  # cause: alloc
    return (*of_seats, owner, luck, worth, winner)


def make(variant):
    price, rents = board()
    counts = cuda.to_device(numpy.zeros((VARIANTS, BINS), dtype=numpy.int64))
    host_array = cuda.pinned_array if variant == "useless" else numpy.empty
    read = host_array((VARIANTS, BINS), dtype=numpy.int64)
    read[:] = 0
    kept, turn, grid = table() if variant == "fix" else None, [0], (BLOCKS, BLOCK)

    def step():
        row = turn[0] % VARIANTS
        place, money, paid, got, owner, luck, worth, winner = kept or table()  # cause: alloc
        deal[grid](place, money, owner, paid, got, luck, turn[0] % 1000)
        play[grid](place, money, owner, paid, got, luck, price, rents[row])
        settle[grid](money, owner, paid, got, price, worth, winner)
        tally[grid](owner, worth, winner, counts, row)
        turn[0] += 1
        if turn[0] % READ == 0:
            counts.copy_to_host(read)

    def values():
        """How often each seat wins, by variant, and how often the streets are bought."""
        found = counts.copy_to_host().astype(numpy.float64)
        games = found[:, :SEATS].sum(axis=1, keepdims=True).clip(1.0)
        return (100.0 * found[:, :SEATS] / games).ravel().tolist() + [float((found[:, SEATS:-1] / games).mean())]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
