# SPDX-License-Identifier: Apache-2.0
"""Numba: gestures, as a watch feels them by its four sensors, are compared with stored ones that may be faster or slower
(dynamic time warping); the tables that this needs are made by the functions that fill them.

Wrong: each batch of pairs has eight arrays on the device, which the driver allocates anew, and frees, which waits for the GPU.
fix: the arrays are made once, and used for all batches (alloc-bound).
fix2: the scores stay on the device, and are read every 20 batches (sync-bound).
useless: the scores come to pinned memory.
"""
import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=600, warm_up=TOGETHER, multiple=TOGETHER)
numpy, numba, cuda = fixable.load_numba()

PAIRS, LENGTH, SENSORS, SETS = 1024, 128, 4, 4
THREADS = (64, 4, 1)
BLOCKS = (LENGTH // THREADS[0], LENGTH // THREADS[1], PAIRS)
TABLE = (PAIRS, LENGTH, LENGTH)
int32, float32 = numba.int32, numba.float32


@cuda.jit
def compare(one, other, sensor, out):
    j, i, pair = cuda.grid(3)
    off = one[pair, sensor, i] - other[pair, sensor, j]
    out[pair, i, j] = off * off


@cuda.jit
def add(a, b, c, d, out):
    j, i, pair = cuda.grid(3)
    out[pair, i, j] = a[pair, i, j] + b[pair, i, j] + c[pair, i, j] + d[pair, i, j]


@cuda.jit
def warp(apart, total, back):
    """The cheapest way to each cell of the table; a block goes through the table of a pair by its diagonals."""
    pair, i = cuda.blockIdx.x, cuda.threadIdx.x
    for diagonal in range(2 * LENGTH - 1):
        j = diagonal - i
        if j >= 0 and j < LENGTH:
            best, way = float32(0.0), int32(0)
            if i > 0 and j > 0:
                best = total[pair, i - 1, j - 1]
            if i > 0 and (j == 0 or total[pair, i - 1, j] < best):
                best, way = total[pair, i - 1, j], int32(1)
            if j > 0 and (i == 0 or total[pair, i, j - 1] < best):
                best, way = total[pair, i, j - 1], int32(2)
            total[pair, i, j] = best + apart[pair, i, j]
            back[pair, i, j] = way
        cuda.syncthreads()


@cuda.jit
def score(total, back, out):
    """What the cheapest way costs by step."""
    pair = cuda.grid(1)
    if pair < PAIRS:
        i, j, steps = int32(LENGTH - 1), int32(LENGTH - 1), int32(1)
        while i > 0 or j > 0:
            way = back[pair, i, j]
            if way != 2:
                i -= int32(1)
            if way != 1:
                j -= int32(1)
            steps += int32(1)
        out[pair] = total[pair, LENGTH - 1, LENGTH - 1] / float32(steps)


def gestures(random):
    """Curves, and the same ones with another speed, strength and noise."""
    at = numpy.linspace(0.0, 1.0, LENGTH, dtype=numpy.float32)
    tone, start = random.uniform(2.0, 15.0, (PAIRS, SENSORS, 1)), random.uniform(0.0, 6.0, (PAIRS, SENSORS, 1))
    bent = at ** random.uniform(0.6, 1.6, (PAIRS, 1, 1))
    noise = 0.1 * random.standard_normal((PAIRS, SENSORS, LENGTH))
    curves = numpy.sin(tone * at + start), numpy.sin(tone * bent + start) + noise
    return [cuda.to_device(curve.astype(numpy.float32)) for curve in curves]


def make(variant):
    random = numpy.random.default_rng(20)
    stored = [gestures(random) for _ in range(SETS)]
    kept, turn, seen = {}, [0], []
    landing = cuda.pinned_array(PAIRS, numpy.float32) if variant == "useless" else numpy.zeros(PAIRS, numpy.float32)
    pending = []

    def array(name, shape=TABLE, kind=numpy.float32):
        if variant != "fix":
            return cuda.device_array(shape, kind)  # cause: alloc
        if name not in kept:
            kept[name] = cuda.device_array(shape, kind)
        return kept[name]

    def apart(one, other):
        tables = [array(sensor) for sensor in range(SENSORS)]  # cause: alloc
        for sensor in range(SENSORS):
            compare[BLOCKS, THREADS](one, other, sensor, tables[sensor])
        out = array("apart")  # cause: alloc
        add[BLOCKS, THREADS](*tables, out)
        return out

    def scores_of(one, other):
        table = apart(one, other)  # cause: alloc
        total, back = array("total"), array("back", kind=numpy.int8)  # cause: alloc
        warp[PAIRS, LENGTH](table, total, back)
        out = array("scores", PAIRS)  # cause: alloc
        score[PAIRS // 64, 64](total, back, out)
        return out

    def step():
        one, other = stored[turn[0] % SETS]
        turn[0] += 1
        scores = scores_of(one, other)  # cause: alloc
        if variant != "fix2":
            scores.copy_to_host(landing)
            seen[:] = landing[::16].tolist()
            return
        pending.append(scores)
        if len(pending) == TOGETHER:
            for scores in pending:
                scores.copy_to_host(landing)
            seen[:] = landing[::16].tolist()
            pending.clear()

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
