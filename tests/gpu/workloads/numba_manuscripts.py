# SPDX-License-Identifier: Apache-2.0
"""Numba: how far four copies of an old book are from the one that is printed today, page after page, as a family tree of the
copies is made of that: the cost of turning one page's letters into the other's, where letters that scribes mix up cost less.

Wrong: a kernel has one diagonal of the table of costs, and there is a launch for each of the 767 diagonals of each copy's
page; Python needs some microseconds for a launch, and the GPU less than that.
fix: a block has a copy's page, a thread each row, and one launch goes through all diagonals, in shared memory (launch-bound).
fix2: the same diagonal of all four copies' pages is one launch (launch-bound).
useless: the costs are read behind each tenth page only.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=120, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, numba, cuda = fixable.load_numba()

float32 = numba.float32
COPIES, PAGES, LETTERS, ALPHABET, THREADS = 4, 12, 383, 26, 128
ROWS = LETTERS + 1  # of the table of costs, as many as threads of a block that has a page
LAST = 2 * LETTERS  # diagonal, which has one cell
GAP, EASY, FAR = numpy.float32(0.8), 0.4, numpy.float32(1e9)
MIXED = "uv ij ce ft mn rs il bd ao xy"


@cuda.jit(device=True)
def cheapest(ours, theirs, mixing, row, diagonal, left, above, aslant):
    """What a cell of the table costs, by those left of it, above it and aslant."""
    column = diagonal - row
    if row == 0 or column == 0:
        return GAP * float32(diagonal)
    return min(min(left, above) + GAP, aslant + mixing[ours[row - 1], theirs[column - 1]])


@cuda.jit
def one_diagonal(ours, theirs, mixing, first, diagonal, table, costs):
    """One diagonal for some copies; the table has the last three diagonals of each copy's page."""
    row, copy = cuda.grid(1), first + cuda.blockIdx.y
    if row < ROWS and diagonal - LETTERS <= row <= diagonal:
        new, old, older = diagonal % 3, (diagonal + 2) % 3, (diagonal + 1) % 3
        before = max(row - 1, 0)
        cost = cheapest(ours, theirs[copy], mixing, row, diagonal, table[copy, old, row], table[copy, old, before],
                        table[copy, older, before])
        table[copy, new, row] = cost
        if diagonal == LAST:
            costs[copy] = cost


@cuda.jit
def whole_page(ours, theirs, mixing, costs):
    """All diagonals for one copy; a thread has a row, and keeps what lies left of its next cell."""
    shared = cuda.shared.array((2, ROWS), float32)
    row, copy = cuda.threadIdx.x, cuda.blockIdx.x
    before, left, aslant = max(row - 1, 0), FAR, FAR
    shared[0, row] = FAR
    shared[1, row] = FAR
    cuda.syncthreads()
    for diagonal in range(LAST + 1):
        above = shared[(diagonal + 1) % 2, before]
        if diagonal - LETTERS <= row <= diagonal:
            left = cheapest(ours, theirs[copy], mixing, row, diagonal, left, above, aslant)
            shared[diagonal % 2, row] = left
        aslant = above
        cuda.syncthreads()
    if row == LETTERS:
        costs[copy] = left


def book(random):
    """The pages as they are printed, (PAGES, LETTERS), and as the copies have them: some letters are others, lost or new."""
    often = random.dirichlet(numpy.ones(ALPHABET))
    printed = random.choice(ALPHABET, (PAGES, LETTERS), p=often).astype(numpy.uint8)
    written = numpy.empty((PAGES, COPIES, LETTERS), dtype=numpy.uint8)
    for page in range(PAGES):
        for copy, wrong in enumerate((0.02, 0.05, 0.1, 0.2)):
            text = printed[page].copy()
            other = random.random(LETTERS) < wrong
            text[other] = random.integers(0, ALPHABET, other.sum())
            text = numpy.delete(text, numpy.flatnonzero(random.random(LETTERS) < 0.3 * wrong))
            more = random.integers(0, len(text), LETTERS - len(text))
            written[page, copy] = numpy.insert(text, more, random.integers(0, ALPHABET, len(more)))
    return printed, written


def mixing_up():
    """What it costs to have one letter for another: (ALPHABET, ALPHABET)."""
    table = 1.0 - numpy.eye(ALPHABET, dtype=numpy.float32)
    for one, other in MIXED.split():
        table[ord(one) - 97, ord(other) - 97] = table[ord(other) - 97, ord(one) - 97] = EASY
    return table


def make(variant):
    printed, written = book(numpy.random.default_rng(20))
    pages = [(cuda.to_device(ours), cuda.to_device(theirs)) for ours, theirs in zip(printed, written)]
    mixing, costs = cuda.to_device(mixing_up()), cuda.to_device(numpy.zeros(COPIES, dtype=numpy.float32))
    table = cuda.to_device(numpy.zeros((COPIES, 3, ROWS), dtype=numpy.float32))
    blocks, turn, usual = (ROWS + THREADS - 1) // THREADS, [0], [0.0] * COPIES

    def compare(ours, theirs):
        if variant == "fix":
            whole_page[COPIES, ROWS](ours, theirs, mixing, costs)
            return
        together = COPIES if variant == "fix2" else 1
        for copy in range(0, COPIES, together):
            for diagonal in range(LAST + 1):
                one_diagonal[(blocks, together), THREADS](ours, theirs, mixing, copy, diagonal, table, costs)  # cause: launch

    def step():
        compare(*pages[turn[0] % PAGES])  # cause: launch
        turn[0] += 1
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            for copy, cost in enumerate(costs.copy_to_host().tolist()):
                usual[copy] += 0.05 * (cost / LETTERS - usual[copy])

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
