# SPDX-License-Identifier: Apache-2.0
"""Numba: 64 robots take parcels from heaps, and a camera above each heap tells how far each of 512 by 512 points is, in 16 bits.
Where a robot is to put its cup is told from that: how high each point is, the mean about it, how rough the heap is there, and
the best place of each heap, which is high and flat. A step is a picture of each heap.

Wrong: the pictures, of 34 MB together, go from pageable memory, and the GPU waits for them.
fix: the pictures lie in pinned memory (copy-bound).
fix2: the next pictures are copied, from pageable memory still, on another stream while the kernels of these run (copy-bound).
useless: the places, which are read once in 25 steps, are not read before the end.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

HEAPS, SIDE, TAKEN, TILE, THREADS, CUP, READ = 64, 512, 6, 16, 256, 3, 25
TILES = SIDE // TILE
float32, int32 = numba.float32, numba.int32


@cuda.jit
def rise(pictures, floor, high):
    """How high the points are, in centimetres."""
    right, down = cuda.grid(2)
    heap = cuda.blockIdx.z
    high[heap, down, right] = float32(0.1) * (floor[down, right] - float32(pictures[heap, down, right]))


@cuda.jit
def level(high, even):
    """The mean of the points under a cup."""
    right, down = cuda.grid(2)
    heap = cuda.blockIdx.z
    total = float32(0.0)
    for row in range(-CUP, CUP + 1):
        for column in range(-CUP, CUP + 1):
            total += high[heap, min(max(down + row, 0), SIDE - 1), min(max(right + column, 0), SIDE - 1)]
    even[heap, down, right] = total / float32((2 * CUP + 1) * (2 * CUP + 1))


@cuda.jit
def judge(high, even, score):
    """How good a place is: high, and little off the mean."""
    right, down = cuda.grid(2)
    heap = cuda.blockIdx.z
    mean, rough = even[heap, down, right], float32(0.0)
    for row in range(-CUP, CUP + 1):
        for column in range(-CUP, CUP + 1):
            rough += abs(high[heap, min(max(down + row, 0), SIDE - 1), min(max(right + column, 0), SIDE - 1)] - mean)
    score[heap, down, right] = mean - float32(0.2) * rough


@cuda.jit
def by_tile(score, best, places):
    """The best point of each tile: a block of threads for one."""
    scores, points = cuda.shared.array(THREADS, float32), cuda.shared.array(THREADS, int32)
    own, heap = cuda.threadIdx.y * TILE + cuda.threadIdx.x, cuda.blockIdx.z
    right, down = cuda.grid(2)
    scores[own], points[own] = score[heap, down, right], down * SIDE + right
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half and scores[own + half] > scores[own]:
            scores[own], points[own] = scores[own + half], points[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        tile = cuda.blockIdx.y * TILES + cuda.blockIdx.x
        best[heap, tile], places[heap, tile] = scores[0], points[0]


@cuda.jit
def by_heap(best, places, picks, usual):
    """The best place of each heap, and how good these usually are."""
    scores, points = cuda.shared.array(THREADS, float32), cuda.shared.array(THREADS, int32)
    own, heap = cuda.threadIdx.x, cuda.blockIdx.x
    scores[own], points[own] = best[heap, own % (TILES * TILES)], places[heap, own % (TILES * TILES)]
    for tile in range(own + THREADS, TILES * TILES, THREADS):
        if best[heap, tile] > scores[own]:
            scores[own], points[own] = best[heap, tile], places[heap, tile]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half and scores[own + half] > scores[own]:
            scores[own], points[own] = scores[own + half], points[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        picks[heap] = points[0]
        usual[heap] += float32(0.05) * (scores[0] - usual[heap])


def heaps(pinned):
    """Pictures of heaps in memory of the host, (HEAPS, SIDE, SIDE): boxes upon each other, and noise."""
    luck = numpy.random.default_rng(20)
    noise = luck.integers(-3, 4, (4 * SIDE, SIDE)).astype(numpy.int16)
    for _ in range(TAKEN):
        pictures = (cuda.pinned_array if pinned else numpy.empty)((HEAPS, SIDE, SIDE), dtype=numpy.int16)
        for heap in range(HEAPS):
            first = int(luck.integers(0, 3 * SIDE))
            pictures[heap] = 1500 + noise[first:first + SIDE]
            for down, right, tall, wide, high in luck.integers(SIDE // 16, SIDE // 2, (24, 5)):
                pictures[heap, down:down + tall, right:right + wide] -= high % 60 + 10
        yield pictures


def make(variant):
    taken = list(heaps(variant == "fix"))
    floor = cuda.to_device(numpy.full((SIDE, SIDE), 1500.0, dtype=numpy.float32))
    pictures = [cuda.device_array((HEAPS, SIDE, SIDE), dtype=numpy.int16) for _ in range(2 if variant == "fix2" else 1)]
    high, even, score = (cuda.device_array((HEAPS, SIDE, SIDE), dtype=numpy.float32) for _ in range(3))
    best = cuda.device_array((HEAPS, TILES * TILES), dtype=numpy.float32)
    places = cuda.device_array((HEAPS, TILES * TILES), dtype=numpy.int32)
    picks, usual = cuda.to_device(numpy.zeros(HEAPS, numpy.int32)), cuda.to_device(numpy.zeros(HEAPS, numpy.float32))
    here, ahead = cuda.stream(), cuda.stream()
    arrived, free = ([cuda.event(timing=False) for _ in range(2)] for _ in range(2))
    grid, block, turn, told = (TILES, TILES, HEAPS), (TILE, TILE), [0], numpy.empty(HEAPS, numpy.int32)
    cuda.synchronize()

    def choose(given):
        """The kernels of a step."""
        rise[grid, block, here](given, floor, high)
        level[grid, block, here](high, even)
        judge[grid, block, here](high, even, score)
        by_tile[grid, block, here](score, best, places)
        by_heap[HEAPS, THREADS, here](best, places, picks, usual)

    def bring(number):
        """Copies pictures on the other stream, behind the kernels that have read their place."""
        free[number % 2].wait(ahead)
        pictures[number % 2].copy_to_device(taken[number % TAKEN], stream=ahead)
        arrived[number % 2].record(ahead)

    if variant == "fix2":
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            arrived[number % 2].wait(here)
            choose(pictures[number % 2])
            free[number % 2].record(here)
            bring(number + 1)
        else:
            pictures[0].copy_to_device(taken[number % TAKEN], stream=here)  # cause: wait,copy
            choose(pictures[0])
        turn[0] += 1
        if turn[0] % READ == 0 and variant != "useless":
            picks.copy_to_host(told, stream=here)
            here.synchronize()

    return fixable.Work(step, cuda.synchronize, lambda: usual.copy_to_host().tolist())


run.main(make)
