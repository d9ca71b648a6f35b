# SPDX-License-Identifier: Apache-2.0
"""CuPy: chemists ask a library of half a million molecules which ones are like theirs: each molecule has a fingerprint of 2048
bits, one for each small piece that it may have, and two are the more alike the more of their pieces they share (Tanimoto).

Wrong: the library is a NumPy array in pageable memory; for each batch of questions a part of it is sent to the GPU, and that
takes longer than to compare the molecules.
fix: the library is sent once, and stays on the GPU (copy-bound).
fix2: the library lies in pinned memory, and is sent as before (copy-bound).
useless: what was found is read behind 8 batches of questions.
"""
import fixable

LOOK_EVERY = 8

run = fixable.Program(__doc__, steps=600, warm_up=2 * LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PARTS, MOLECULES, WORDS, ASKED, THREADS = 4, 131072, 64, 32, 256
FAMILIES, BATCHES, LEVELS, LOUD = 512, 6, (0.1, 0.2, 0.3, 0.4, 0.5), 0.6

KERNEL = """
extern "C" __global__ void compare(const unsigned int* part, const unsigned int* asked, const int* pieces, float* alike) {
    // One molecule of the library and all those that are asked for.
    __shared__ unsigned int wanted[%(ASKED)d * %(WORDS)d];
    for (int at = threadIdx.x; at < %(ASKED)d * %(WORDS)d; at += blockDim.x) {
        wanted[at] = asked[at];
    }
    __syncthreads();
    const int molecule = blockIdx.x * blockDim.x + threadIdx.x;
    int shared[%(ASKED)d];
    #pragma unroll
    for (int number = 0; number < %(ASKED)d; number++) {
        shared[number] = 0;
    }
    int mine = 0;
    for (int word = 0; word < %(WORDS)d; word++) {
        const unsigned int bits = part[word * %(MOLECULES)d + molecule];
        mine += __popc(bits);
        #pragma unroll
        for (int number = 0; number < %(ASKED)d; number++) {
            shared[number] += __popc(bits & wanted[number * %(WORDS)d + word]);
        }
    }
    #pragma unroll
    for (int number = 0; number < %(ASKED)d; number++) {
        const int both = mine + pieces[number] - shared[number];
        alike[number * %(MOLECULES)d + molecule] = both > 0 ? (float)shared[number] / (float)both : 0.0f;
    }
}
"""


def rare(random, shape):
    """Words in which one bit of eight is set."""
    words = random.integers(0, 2 ** 32, size=(3,) + shape, dtype=numpy.uint32)
    return words[0] & words[1] & words[2]


def library(random):
    """(fingerprints of the first molecules of families, parts of the library: words of molecules)."""
    first = rare(random, (FAMILIES, WORDS))
    parts = []
    for _ in range(PARTS):
        family = random.integers(0, FAMILIES, MOLECULES)
        lost = random.integers(0, 2 ** 32, size=(MOLECULES, WORDS), dtype=numpy.uint32)
        lost |= random.integers(0, 2 ** 32, size=(MOLECULES, WORDS), dtype=numpy.uint32)
        part = (first[family] & lost) | (rare(random, (MOLECULES, WORDS)) & ~lost)
        parts.append(numpy.ascontiguousarray(part.T))
    return first, parts


def questions(random, first):
    """Batches of molecules that are asked for: most of them are of a family of the library."""
    for _ in range(BATCHES):
        asked = first[random.integers(0, FAMILIES, ASKED)] | (rare(random, (ASKED, WORDS)) & rare(random, (ASKED, WORDS)))
        asked[::8] = rare(random, (ASKED // 8, WORDS))
        yield asked


def pinned(like):
    """The same array in pinned memory."""
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    random = numpy.random.default_rng(20)
    first, parts = library(random)
    batches = list(questions(random, first))
    if variant == "fix":
        parts = [cupy.asarray(part) for part in parts]
    elif variant == "fix2":
        parts = [pinned(part) for part in parts]
    names = {"ASKED": ASKED, "WORDS": WORDS, "MOLECULES": MOLECULES}
    compare = cupy.RawKernel(KERNEL % names, "compare")
    place = cupy.empty((WORDS, MOLECULES), dtype=cupy.uint32)
    turn, pending, usual, levels = [0], [], [0.0, 0.0], [numpy.zeros((ASKED, len(LEVELS)))]

    def brought(part):
        if variant == "fix":
            return part
        if variant == "fix2":
            place.set(part, stream=cupy.cuda.get_current_stream())
            return place
        place.set(part)  # cause: copy
        return place

    def search(part, asked):
        """The best molecule for each question, how like it is, and how many are above some levels: (ASKED, 2 + levels)."""
        asked = cupy.asarray(asked)
        bits = (asked[:, :, None] >> cupy.arange(32, dtype=cupy.uint32)) & cupy.uint32(1)
        pieces = bits.sum(axis=(1, 2)).astype(cupy.int32)
        alike = cupy.empty((ASKED, MOLECULES), dtype=cupy.float32)
        compare((MOLECULES // THREADS,), (THREADS,), (part, asked, pieces, alike))
        best = alike.argmax(axis=1)
        found = [best.astype(cupy.float32), alike.max(axis=1)]
        for level in LEVELS:
            found.append((alike > level).sum(axis=1).astype(cupy.float32))
        return cupy.stack(found, axis=1)

    def note(found):
        """The chemists get the loud ones."""
        loud = found[found[:, 1] > LOUD]
        usual[0] += 0.05 * (float(found[:, 1].mean()) - usual[0])
        usual[1] += 0.05 * (len(loud) / ASKED - usual[1])
        levels[0] += 0.05 * (found[:, 2:] - levels[0])

    def step():
        part = brought(parts[turn[0] % PARTS])  # cause: copy
        found = search(part, batches[turn[0] // PARTS % BATCHES])
        turn[0] += 1
        if variant != "useless":
            note(found.get())
            return
        pending.append(found)
        if turn[0] % LOOK_EVERY == 0:
            for one in cupy.stack(pending).get():
                note(one)
            pending.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual + levels[0].mean(axis=0).tolist())


run.main(make)
