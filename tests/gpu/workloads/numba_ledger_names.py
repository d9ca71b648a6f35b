# SPDX-License-Identifier: Apache-2.0
"""Numba: which merchants of a port's register are meant by the names in old customs ledgers, which clerks wrote as they heard
them: each of 256 names of a page is compared with all 65536 of the register by an edit distance, where letters that look alike
in the hand of that time cost less; told are the nearest merchant, and how many others are about as near.

Wrong: nothing (gpu-bound); the kernel of distances takes nearly all the time.
useless: the totals are read at the end only, not every 20 steps.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

NAMES, QUERIES, PAGES, MOST, SIGNS, THREADS, EACH = 65536, 256, 8, 16, 27, 256, 20
GAP, OTHER, ALIKE = 4, 5, 1  # what it costs to leave a letter out, to take another one, and to take one that looks alike
PRICES, ROW = SIGNS * SIGNS, MOST + 1
LOOK_ALIKE = ("ce", "un", "fs", "ij", "vw", "mn", "lt", "ao", "ck", "gy", "hb", "rv", "sz", "ou", "dt", "pq")
SYLLABLES = ("van", "der", "ber", "hoff", "mann", "sen", "ja", "pie", "ter", "wil", "lem", "brand", "stein", "ro", "sa", "lu",
             "bek", "kor", "ne", "lis", "thom", "as", "hol", "ge", "ert", "fried", "rich", "bo", "gar", "de", "hu", "go", "mar",
             "tin", "ol")


@cuda.jit
def compare(register, lengths, page, page_lengths, costs, apart):
    """The distance of each name of a page and each of the register; a thread has one pair, and a row of the table of costs."""
    letters = cuda.shared.array(MOST, dtype=numba.int32)
    price = cuda.shared.array(PRICES, dtype=numba.int32)
    row = cuda.local.array(ROW, dtype=numba.int32)
    me, query = cuda.threadIdx.x, cuda.blockIdx.y
    name = cuda.blockIdx.x * THREADS + me
    for k in range(me, PRICES, THREADS):
        price[k] = costs[k]
    if me < MOST:
        letters[me] = page[query, me]
    cuda.syncthreads()
    far = page_lengths[query]
    for j in range(far + 1):
        row[j] = j * GAP
    for i in range(lengths[name]):
        at = register[i, name] * SIGNS
        corner = row[0]
        row[0] = corner + GAP
        for j in range(1, far + 1):
            best = min(corner + price[at + letters[j - 1]], min(row[j], row[j - 1]) + GAP)
            corner = row[j]
            row[j] = best
    apart[query, name] = min(row[far], 255)


@cuda.jit
def choose(apart, misses, rivals):
    """A block has one name of a page: how far the nearest merchant is, and how many are at most a letter farther."""
    lowest = cuda.shared.array(THREADS, dtype=numba.int32)
    counts = cuda.shared.array(THREADS, dtype=numba.int32)
    me, query = cuda.threadIdx.x, cuda.blockIdx.x
    low = 255
    for name in range(me, NAMES, THREADS):
        low = min(low, apart[query, name])
    lowest[me] = low
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if me < half:
            lowest[me] = min(lowest[me], lowest[me + half])
        cuda.syncthreads()
        half //= 2
    near = 0
    for name in range(me, NAMES, THREADS):
        if apart[query, name] <= lowest[0] + GAP:
            near += 1
    counts[me] = near
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if me < half:
            counts[me] += counts[me + half]
        cuda.syncthreads()
        half //= 2
    if me == 0:
        misses[query] = lowest[0]
        rivals[query] = counts[0] - 1


@cuda.jit
def tally(misses, rivals, totals):
    query = cuda.grid(1)
    if query < QUERIES:
        cuda.atomic.add(totals, 0, float(misses[query]))
        cuda.atomic.add(totals, 1, float(min(rivals[query], 100)))
        cuda.atomic.add(totals, 2, 1.0)


def coded(names):
    """Letters as numbers, (names, MOST), and how many each name has."""
    text = "".join(name.ljust(MOST, "{") for name in names)  # { comes behind z
    letters = numpy.frombuffer(text.encode(), dtype=numpy.uint8).reshape(len(names), MOST) - numpy.uint8(ord("a"))
    return letters, numpy.array([len(name) for name in names], dtype=numpy.int32)


def heard(name, luck, alike):
    """A name as a clerk wrote it, with up to three errors."""
    letters = list(name)
    for _ in range(luck.randint(0, 3)):
        at = luck.randrange(len(letters))
        if luck.random() < 0.7:
            letters[at] = luck.choice(alike.get(letters[at], [letters[at]]))
        elif luck.random() < 0.5 and len(letters) > 4:
            del letters[at]
        elif len(letters) < MOST:
            letters.insert(at, luck.choice("aeiounrs"))
    return "".join(letters)


def make(variant):
    luck = random.Random(20)
    costs, alike = numpy.full((SIGNS, SIGNS), OTHER, dtype=numpy.int32), {}
    numpy.fill_diagonal(costs, 0)
    for one, two in LOOK_ALIKE:
        costs[ord(one) - 97, ord(two) - 97] = costs[ord(two) - 97, ord(one) - 97] = ALIKE
        alike.setdefault(one, []).append(two)
        alike.setdefault(two, []).append(one)
    names = ["".join(luck.choice(SYLLABLES) for _ in range(luck.randint(2, 5)))[:MOST] for _ in range(NAMES)]
    letters, lengths = coded(names)
    register, lengths = cuda.to_device(numpy.ascontiguousarray(letters.T)), cuda.to_device(lengths)
    pages = []
    for _ in range(PAGES):
        written = coded([heard(luck.choice(names), luck, alike) for _ in range(QUERIES)])
        pages.append([cuda.to_device(array) for array in written])
    costs = cuda.to_device(costs.reshape(-1))
    apart = cuda.device_array((QUERIES, NAMES), dtype=numpy.uint8)
    misses, rivals = (cuda.device_array(QUERIES, dtype=numpy.int32) for _ in range(2))
    totals = cuda.to_device(numpy.zeros(3, dtype=numpy.float64))
    turn, told = [0], [None]

    def step():
        page, page_lengths = pages[turn[0] % PAGES]
        turn[0] += 1
        compare[(NAMES // THREADS, QUERIES), THREADS](register, lengths, page, page_lengths, costs, apart)
        choose[QUERIES, THREADS](apart, misses, rivals)
        tally[1, QUERIES](misses, rivals, totals)
        if variant != "useless" and turn[0] % EACH == 0:
            told[0] = totals.copy_to_host()

    def values():
        """How far the nearest merchant is, and how many others are about as near, by the mean."""
        missed, near, many = totals.copy_to_host().tolist()
        return [missed / many, near / many]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
