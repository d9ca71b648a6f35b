# SPDX-License-Identifier: Apache-2.0
"""Numba: a school for croupiers prints tables of how often two cards win at poker (Texas hold'em) against five rivals. They are
found by dealing: 33.6 million games for each two cards, in each of which five cards come upon the table, each rival gets two,
and the best five of seven are compared.

Wrong: nothing: a step is one long kernel, in which each of 262144 threads deals 128 games, and one short one (gpu-bound).
useless: how many games were won is read behind ten steps, and not behind each.
"""
import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10, multiple=10)
numpy, numba, cuda = fixable.load_numba()
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

int32, int64, float32 = numba.int32, numba.int64, numba.float32
PLAYERS, GAMES, THREADS, BLOCKS, RIVALS, TABLE, READ_EVERY = 1 << 18, 128, 256, 1024, 5, 5, 10
RANKS, CARDS, HIGHEST_CARD = 8191, 52, 51  # thirteen ranks a suit; a suit has 16 bits of a number of 64
HANDS = ("As Ah", "Ks Kd", "As Ks", "7h 7c", "Jd Td", "7s 2h")


@cuda.jit(device=True)
def highest(ranks):
    return int64(31 - cuda.clz(int32(ranks)))


@cuda.jit(device=True)
def best(ranks, count):
    """The highest of these ranks."""
    left = int64(ranks)
    while cuda.popc(int32(left)) > count:
        left &= left - int64(1)
    return left


@cuda.jit(device=True)
def straight(ranks):
    """The highest rank of five in a row (ace may be the lowest), plus one, or 0."""
    row = (ranks << int64(1)) | (ranks >> int64(12))
    row = row & (row >> int64(1)) & (row >> int64(2)) & (row >> int64(3)) & (row >> int64(4))
    row = row & int64(16383)
    if row == int64(0):
        return int64(0)
    return highest(row) + int64(1)


@cuda.jit(device=True)
def worth(hand):
    """A number that is the higher, the better the best five of these cards are: the kind of hand, then ranks."""
    a, b = hand & int64(RANKS), (hand >> int64(16)) & int64(RANKS)
    c, d = (hand >> int64(32)) & int64(RANKS), (hand >> int64(48)) & int64(RANKS)
    some, suit = a | b | c | d, int64(0)
    if cuda.popc(int32(a)) >= 5:
        suit = a
    if cuda.popc(int32(b)) >= 5:
        suit = b
    if cuda.popc(int32(c)) >= 5:
        suit = c
    if cuda.popc(int32(d)) >= 5:
        suit = d
    if suit != int64(0):
        row = straight(suit)
        if row != int64(0):
            return (int64(8) << int64(26)) | row
    fours = a & b & c & d
    if fours != int64(0):
        return (int64(7) << int64(26)) | (fours << int64(13)) | best(some & ~fours, 1)
    threes = (a & b & (c | d)) | (c & d & (a | b))
    twos = (a & b) | (c & d) | ((a | b) & (c | d))
    top = best(threes, 1)
    if threes != int64(0):
        rest = twos & ~top
        if rest != int64(0):
            return (int64(6) << int64(26)) | (top << int64(13)) | best(rest, 1)
    if suit != int64(0):
        return (int64(5) << int64(26)) | best(suit, 5)
    row = straight(some)
    if row != int64(0):
        return (int64(4) << int64(26)) | row
    if threes != int64(0):
        return (int64(3) << int64(26)) | (top << int64(13)) | best(some & ~top, 2)
    if twos != int64(0):
        pairs = best(twos, 2)
        if cuda.popc(int32(pairs)) == 2:
            return (int64(2) << int64(26)) | (pairs << int64(13)) | best(some & ~pairs, 1)
        return (int64(1) << int64(26)) | (pairs << int64(13)) | best(some & ~pairs, 3)
    return best(some, 5)


@cuda.jit(device=True)
def drawn(states, thread, gone):
    """A card that is not gone yet, as its bit."""
    while True:
        card = min(int32(xoroshiro128p_uniform_float32(states, thread) * float32(CARDS)), int32(HIGHEST_CARD))
        suit = card // int32(13)
        bit = int64(1) << int64(suit * int32(16) + (card - suit * int32(13)))
        if gone & bit == int64(0):
            return bit


@cuda.jit
def deal(states, hand, won):
    """won[0, thread]: games that were won; won[1, thread]: those whose pot is shared."""
    thread = cuda.grid(1)
    alone, shared = int32(0), int32(0)
    for _ in range(GAMES):
        gone, table = hand, int64(0)
        for _ in range(TABLE):
            bit = drawn(states, thread, gone)
            gone |= bit
            table |= bit
        ours, rival_best = worth(hand | table), int64(0)
        for _ in range(RIVALS):
            first = drawn(states, thread, gone)
            gone |= first
            second = drawn(states, thread, gone)
            gone |= second
            rival_best = max(rival_best, worth(first | second | table))
        if ours > rival_best:
            alone += int32(1)
        elif ours == rival_best:
            shared += int32(1)
    won[0, thread] = alone
    won[1, thread] = shared


@cuda.jit
def count(won, hand, told):
    """Adds what the threads of a block have won."""
    part = cuda.shared.array(THREADS, int32)
    place, thread = cuda.grid(1), cuda.threadIdx.x
    for kind in range(2):
        part[thread] = won[kind, place]
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if thread < half:
                part[thread] += part[thread + half]
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            cuda.atomic.add(told, (hand, kind), int64(part[0]))
        cuda.syncthreads()


def bits_of(cards):
    """As Ah: the ace of spades, and the ace of hearts."""
    return sum(1 << (16 * "shdc".index(card[1]) + "23456789TJQKA".index(card[0])) for card in cards.split())


def make(variant):
    states = create_xoroshiro128p_states(PLAYERS, seed=20)
    won = cuda.to_device(numpy.zeros((2, PLAYERS), dtype=numpy.int32))
    told = cuda.to_device(numpy.zeros((len(HANDS), 2), dtype=numpy.int64))
    hands, games = [numpy.int64(bits_of(hand)) for hand in HANDS], [0] * len(HANDS)
    read_every, turn, odds = READ_EVERY if variant == "useless" else 1, [0], [0.0] * (2 * len(HANDS))

    def step():
        number = turn[0] % len(HANDS)
        deal[BLOCKS, THREADS](states, hands[number], won)
        count[BLOCKS, THREADS](won, numpy.int64(number), told)
        games[number] += PLAYERS * GAMES
        turn[0] += 1
        if turn[0] % read_every == 0:
            found = told.copy_to_host()
            odds[:] = [found[hand, kind] / max(1, games[hand]) for hand in range(len(HANDS)) for kind in range(2)]

    return fixable.Work(step, cuda.synchronize, lambda: list(odds))


run.main(make)
