# SPDX-License-Identifier: Apache-2.0
"""CuPy: what people ask a parliament for is told from 40000 petitions and the 24000 words in them, a sparse matrix of what
each word says of each petition (tf-idf), which is taken apart into 48 concerns: how much of each one is in a petition, and how
much of each word is in a concern, neither less than zero (NMF, by the rules of Lee and Seung). A step betters both once.

Wrong: other people use the GPU too, and so somebody has switched CuPy's memory pool off; each array of a step is taken from the
driver, and to give it back waits for the GPU.
fix: arrays come from a memory pool (alloc-bound).
useless: how much there is of each concern, which is read every 25 steps, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
cupy, cupyx, sparse, numpy = fixable.load_cupy("cupyx", "cupyx.scipy.sparse", "numpy")

PETITIONS, WORDS, CONCERNS, LONG, READ = 40000, 24000, 48, 48, 25

better = cupy.ElementwiseKernel(
    "float32 above, float32 below", "float32 part", "part *= above / (below + 1e-9f)", "better")


def petitions(random):
    """tf-idf of the words of petitions, each of which is about one concern, (PETITIONS, WORDS)."""
    concern = random.integers(0, CONCERNS, (PETITIONS, 1))
    rank = (WORDS * random.random((PETITIONS, LONG)) ** 3).astype(numpy.int64)
    words = numpy.where(random.random((PETITIONS, LONG)) < 0.6, (rank * 7919 + concern * 353) % WORDS, rank)
    row = cupy.asarray(numpy.repeat(numpy.arange(PETITIONS, dtype=numpy.int32), LONG))
    column = cupy.asarray(words.reshape(-1).astype(numpy.int32))
    ones = cupy.ones(PETITIONS * LONG, dtype=cupy.float32)
    counts = sparse.coo_matrix((ones, (row, column)), shape=(PETITIONS, WORDS)).tocsr()
    often = cupy.bincount(counts.indices, minlength=WORDS)
    rare = cupy.log(PETITIONS / (1.0 + often)).astype(cupy.float32)
    told = cupy.log1p(counts.data) * rare[counts.indices]
    return sparse.csr_matrix((told, counts.indices, counts.indptr), shape=(PETITIONS, WORDS))


def make(variant):
    random = numpy.random.default_rng(20)
    says = petitions(random)
    said = says.T.tocsr()
    asked = cupy.asarray(random.random((CONCERNS, PETITIONS), dtype=numpy.float32))  # of each concern, in each petition
    spoken = cupy.asarray(random.random((CONCERNS, WORDS), dtype=numpy.float32))  # of each concern, each word
    landing = cupyx.empty_pinned(CONCERNS, dtype=numpy.float32) if variant == "useless" else None
    allocator = cupy.cuda.MemoryPool().malloc if variant == "fix" else None  # None takes each array from the driver
    turn, largest = [0], [0.0]

    def half(matrix, part, other):
        """Betters one part by the other one."""
        above = matrix.dot(other.T).T  # cause: alloc
        below = (other @ other.T) @ part  # cause: alloc
        better(above, below, part)

    def step():
        half(says, asked, spoken)  # cause: alloc
        half(said, spoken, asked)  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            much = (asked.sum(axis=1) * spoken.sum(axis=1)).get(out=landing)
            largest[0] = float(much.max() / much.sum())

    def loop(steps):
        with cupy.cuda.using_allocator(allocator):
            for _ in range(steps):
                step()  # cause: alloc

    def values():
        """How much of what petitions say is told by the concerns, and of how much weight these are."""
        whole = float((says.data * says.data).sum())
        both = float((says.dot(spoken.T).T * asked).sum())
        own = float(((asked @ asked.T) * (spoken @ spoken.T)).sum())
        return [(2.0 * both - own) / whole, both / whole]

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=values)


run.main(make)
