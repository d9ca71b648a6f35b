# SPDX-License-Identifier: Apache-2.0
"""Numba: how well do salts get through hardened cement? A paste of 224 by 256 by 256 voxels lies between two plates, and the
potential in it is found by sweeps of Jacobi's method: each voxel comes closer to the mean of its six neighbours, weighted by what
the faces between pores, gel, clinker and sand conduct. A step is 24 sweeps at one age of the cement, for eight ages in turn.

Wrong: how much a sweep has moved the potential is read behind each sweep for the log, and the GPU has nothing to do until the host
launches the next one.
fix: what the sweeps have moved is read behind the last one of a step (sync-bound).
useless: the array for the means of the layers, which are read once in 20 steps, is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

LAYERS, ROWS, COLUMNS, SWEEPS, AGES, KINDS, SLOTS, SHOWN = 224, 256, 256, 24, 8, 4, 16, 20
THREADS = COLUMNS  # a row of voxels
float32, int32 = numba.float32, numba.int32
NEARER, TOP, BOTTOM = numpy.float32(0.9), numpy.float32(1.0), numpy.float32(0.0)


@cuda.jit(device=True)
def added(own, sums):
    """The sum of what the threads of a block have, at the first one."""
    at, half = cuda.threadIdx.x, THREADS // 2
    sums[at] = own
    cuda.syncthreads()
    while half > 0:
        if at < half:
            sums[at] += sums[at + half]
        cuda.syncthreads()
        half //= 2
    return sums[0]


@cuda.jit
def relax(kinds, faces, age, before, after, moved, sweep):
    """A sweep: a block of threads for a row. The rows and columns are round, above and below are the plates."""
    sums = cuda.shared.array(THREADS, float32)
    column, row, layer = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockIdx.y
    own, here = int32(kinds[layer, row, column]) * KINDS, before[layer, row, column]
    left, right = (column + COLUMNS - 1) % COLUMNS, (column + 1) % COLUMNS
    behind, ahead = (row + ROWS - 1) % ROWS, (row + 1) % ROWS
    face = faces[age, own + kinds[layer, row, left]]
    total, weight = face * before[layer, row, left], face
    face = faces[age, own + kinds[layer, row, right]]
    total, weight = total + face * before[layer, row, right], weight + face
    face = faces[age, own + kinds[layer, behind, column]]
    total, weight = total + face * before[layer, behind, column], weight + face
    face = faces[age, own + kinds[layer, ahead, column]]
    total, weight = total + face * before[layer, ahead, column], weight + face
    plate = faces[age, own + own // KINDS]
    if layer > 0:
        face = faces[age, own + kinds[layer - 1, row, column]]
        total, weight = total + face * before[layer - 1, row, column], weight + face
    else:
        total, weight = total + plate * TOP, weight + plate
    if layer < LAYERS - 1:
        face = faces[age, own + kinds[layer + 1, row, column]]
        total, weight = total + face * before[layer + 1, row, column], weight + face
    else:
        total, weight = total + plate * BOTTOM, weight + plate
    change = NEARER * (total / weight - here)
    after[layer, row, column] = here + change
    change = added(abs(change), sums)
    if column == 0:
        cuda.atomic.add(moved, (sweep, row % SLOTS), change)


@cuda.jit
def clear(moved):
    """Nothing has moved yet: a block for a sweep."""
    moved[cuda.blockIdx.x, cuda.threadIdx.x] = float32(0.0)


@cuda.jit
def layer_means(potential, means):
    """The mean potential of each layer: a block of threads for a layer."""
    sums = cuda.shared.array(THREADS, float32)
    column, layer, total = cuda.threadIdx.x, cuda.blockIdx.x, float32(0.0)
    for row in range(ROWS):
        total += potential[layer, row, column]
    total = added(total, sums)
    if column == 0:
        means[layer] = total / float32(ROWS * COLUMNS)


def paste():
    """What each voxel is: 0 a pore, 1 gel, 2 clinker, 3 sand; by some waves through the paste."""
    luck = numpy.random.default_rng(20)
    axes = [numpy.arange(many, dtype=numpy.float32) / numpy.float32(COLUMNS) for many in (LAYERS, ROWS, COLUMNS)]
    rough = numpy.zeros((LAYERS, ROWS, COLUMNS), dtype=numpy.float32)
    for many in (2, 5, 9, 14, 23, 31):
        waves = [numpy.sin(2.0 * numpy.pi * (many * axis + luck.random())).astype(numpy.float32) for axis in axes]
        rough += waves[0][:, None, None] * waves[1][:, None] * waves[2]
    return numpy.digitize(rough, (-0.25, 0.4, 0.9)).astype(numpy.uint8)


def conducting():
    """What a face between two kinds conducts, by age: gel closes, and what was clinker becomes gel."""
    faces = numpy.empty((AGES, KINDS, KINDS), dtype=numpy.float32)
    for age in range(AGES):
        own = numpy.array([1.0, 0.3 * 0.8 ** age, 0.005 * (1 + age), 0.001])
        faces[age] = 2.0 * own[:, None] * own / (own[:, None] + own)
    return faces.reshape(AGES, KINDS * KINDS)


def make(variant):
    kinds, faces = cuda.to_device(paste()), cuda.to_device(conducting())
    start = numpy.linspace(TOP, BOTTOM, LAYERS, dtype=numpy.float32)[:, None, None]
    start = numpy.broadcast_to(start, (LAYERS, ROWS, COLUMNS)).copy()
    potential = [cuda.to_device(start) for _ in range(2)]
    moved = cuda.to_device(numpy.zeros((SWEEPS, SLOTS), dtype=numpy.float32))
    kept = cuda.device_array(LAYERS, dtype=numpy.float32) if variant == "useless" else None
    told, means = numpy.zeros((SWEEPS, SLOTS), dtype=numpy.float32), numpy.zeros(LAYERS, dtype=numpy.float32)
    log, turn = numpy.zeros(SWEEPS), [0]

    def step():
        age = turn[0] % AGES
        clear[SWEEPS, SLOTS](moved)
        for sweep in range(SWEEPS):
            relax[(ROWS, LAYERS), THREADS](kinds, faces, age, potential[sweep % 2], potential[1 - sweep % 2], moved, sweep)
            if variant != "fix":
                moved.copy_to_host(told)  # cause: wait,copy
                log[sweep] = told[sweep].sum()
        if variant == "fix":
            moved.copy_to_host(told)
            log[:] = told.sum(axis=1)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            layers = cuda.device_array(LAYERS, dtype=numpy.float32) if kept is None else kept
            layer_means[LAYERS, THREADS](potential[0], layers)
            layers.copy_to_host(means)

    return fixable.Work(step, cuda.synchronize, lambda: means.tolist() + (log / (LAYERS * ROWS * COLUMNS)).tolist())


run.main(make)
