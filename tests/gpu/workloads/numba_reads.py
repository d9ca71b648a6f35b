# SPDX-License-Identifier: Apache-2.0
"""Numba: pieces of DNA come as lines of letters with a line of marks for how sure each letter is, and are looked for in the genome
of a virus on the GPU.

Wrong: Python turns letters into numbers, one after the other, and the GPU waits for them.
fix: NumPy turns the letters of all pieces into numbers at once (host-bound).
useless: the numbers go to the GPU by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=4)
numpy, numba, cuda = fixable.load_numba()

GENOME, PIECES, LENGTH, SETS, SURE, ALIKE = 1 << 16, 2048, 96, 4, 20, 60
THREADS = 128
PART = THREADS + LENGTH
NUMBERS = {"A": 0, "C": 1, "G": 2, "T": 3}
UNKNOWN, BEHIND = 4, 5  # a letter that nobody can be sure of, and what is behind the genome


@cuda.jit
def clear(best):
    i = cuda.grid(1)
    if i < best.shape[0]:
        best[i] = 0


@cuda.jit
def search(genome, pieces, best):
    """A block compares one piece with the genome at THREADS places; the place where most letters agree is in what is left."""
    part = cuda.shared.array(PART, numba.uint8)
    mine = cuda.shared.array(LENGTH, numba.uint8)
    thread, first, piece = cuda.threadIdx.x, cuda.blockIdx.x * THREADS, cuda.blockIdx.y
    part[thread] = genome[first + thread]
    if thread < LENGTH:
        part[THREADS + thread] = genome[first + THREADS + thread]
        mine[thread] = pieces[piece, thread]
    cuda.syncthreads()
    alike = 0
    for at in range(LENGTH):
        if mine[at] == part[thread + at]:
            alike += 1
    if alike >= ALIKE:
        cuda.atomic.max(best, piece, alike * GENOME + first + thread)


def sequenced(random, genome):
    """Lines of letters and of marks, in sets. One letter in fifty is wrong; towards the end of a piece they become less sure."""
    names = numpy.frombuffer(b"ACGT", numpy.uint8)
    sets = []
    for _ in range(SETS):
        starts = random.integers(0, GENOME - LENGTH, PIECES)
        found = genome[starts[:, None] + numpy.arange(LENGTH)]
        wrong = random.random(found.shape) < 0.02
        found = numpy.where(wrong, random.integers(0, 4, found.shape), found)
        marks = numpy.clip(40 - numpy.arange(LENGTH) // 8 - random.integers(0, 16, found.shape), 2, 40)
        letters, sure = names[found].tobytes().decode(), (33 + marks).astype(numpy.uint8).tobytes().decode()
        sets.append([(letters[at:at + LENGTH], sure[at:at + LENGTH]) for at in range(0, PIECES * LENGTH, LENGTH)])
    return sets


def one_by_one(lines):
    numbers = []
    for letters, marks in lines:  # cause: loader
        numbers.append([NUMBERS[letter] if ord(mark) - 33 >= SURE else UNKNOWN  # cause: loader
                        for letter, mark in zip(letters, marks)])  # cause: loader
    return numpy.array(numbers, dtype=numpy.uint8)  # cause: loader


def make(variant):
    random = numpy.random.default_rng(20)
    genome = random.integers(0, 4, GENOME, dtype=numpy.uint8)
    sets = sequenced(random, genome)
    genome_there = cuda.to_device(numpy.concatenate([genome, numpy.full(LENGTH, BEHIND, numpy.uint8)]))
    pieces = cuda.device_array((PIECES, LENGTH), numpy.uint8)
    best = cuda.device_array(PIECES, numpy.int64)
    landing = cuda.pinned_array((PIECES, LENGTH), numpy.uint8) if variant == "useless" else None
    number_of = numpy.zeros(256, numpy.uint8)
    for letter, number in NUMBERS.items():
        number_of[ord(letter)] = number
    turn, seen = [0], []

    def at_once(lines):
        letters, marks = (numpy.frombuffer("".join(part).encode(), numpy.uint8).reshape(PIECES, LENGTH) for part in zip(*lines))
        return numpy.where(marks >= 33 + SURE, number_of[letters], numpy.uint8(UNKNOWN))

    def step():
        lines = sets[turn[0] % SETS]
        turn[0] += 1
        numbers = at_once(lines) if variant == "fix" else one_by_one(lines)  # cause: loader
        if variant == "useless":
            landing[:] = numbers
            numbers = landing
        pieces.copy_to_device(numbers)  # cause: delayed
        clear[(PIECES + THREADS - 1) // THREADS, THREADS](best)
        search[(GENOME // THREADS, PIECES), THREADS](genome_there, pieces, best)
        found = best.copy_to_host()
        seen[:] = [float((found > 0).mean()), float((found // GENOME).mean()), float((found % GENOME).mean())]

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
