# SPDX-License-Identifier: Apache-2.0
"""Numba: 128 carts of a factory look for their ways, each on its own map of 64 by 64 cells: a wave goes out from where each one
wants to go, and tells from any cell how far that is, round what stands in the way.

Wrong: each ring of the wave is a kernel of its own, which Python launches in some microseconds, and the GPU needs less than
that.
fix: a block takes a whole map, and goes on by sixteen rings in one launch (launch-bound).
fix2: whether anything has changed is first asked behind 192 rings, and then behind each sixteen (sync-bound).
useless: what tells whether anything has changed is read into pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

float32, int32 = numpy.float32, numpy.int32
MAPS, SIDE, RINGS, FEWEST, MOST, ORDERS, THREADS = 128, 64, 16, 192, 640, 8, 256
CELLS = SIDE * SIDE
BLOCKS, GROUP = (CELLS // THREADS, MAPS), 1024  # of a kernel of one ring; the threads of a block that has a map
FAR, ASLANT, ONE, NONE = [float32(x) for x in (1e9, 2.0 ** 0.5, 1.0, 0.0)]


@cuda.jit(device=True)
def shorter(old, walls, which, cell):
    """How far it is from a cell, by what is known of the cells around it."""
    y, x = cell // SIDE, cell % SIDE
    best = old[which, cell]
    if walls[which, cell]:
        return best
    for down in range(-1, 2):
        for right in range(-1, 2):
            if 0 <= y + down < SIDE and 0 <= x + right < SIDE:
                length = ASLANT if down != 0 and right != 0 else ONE
                best = min(best, old[which, (y + down) * SIDE + x + right] + length)
    return best


@cuda.jit
def begin(costs, goals, last):
    """Nothing is known but where the carts want to go."""
    cell, which = cuda.grid(2)
    costs[which, cell] = NONE if cell == goals[which] else FAR
    if cell == 0 and which == 0:
        last[0] = 0


@cuda.jit
def ring(old, new, walls, last, number):
    """One cell further; the last ring that changed anything is noted."""
    cell, which = cuda.grid(2)
    found = shorter(old, walls, which, cell)
    if found < old[which, cell]:
        last[0] = number
    new[which, cell] = found


@cuda.jit
def rings(costs, spare, walls, last, number):
    """RINGS of them for a map, there and back."""
    which = cuda.blockIdx.x
    for k in range(0, RINGS, 2):
        for cell in range(cuda.threadIdx.x, CELLS, GROUP):
            spare[which, cell] = shorter(costs, walls, which, cell)
        cuda.syncthreads()
        for cell in range(cuda.threadIdx.x, CELLS, GROUP):
            found = shorter(spare, walls, which, cell)
            if found < spare[which, cell]:
                cuda.atomic.max(last, 0, int32(number + k + 2))
            costs[which, cell] = found
        cuda.syncthreads()


def factories(random):
    """Maps with a few things in the way, and walls with a door at one side; free cells as goals, for each order."""
    walls = random.random((MAPS, SIDE, SIDE)) < 0.05
    for number in range(MAPS):
        for k, at in enumerate(range(SIDE // 4, SIDE, SIDE // 4)):
            door = random.integers(1, 8) if k % 2 else SIDE - random.integers(5, 12)
            walls[number, at] = True
            walls[number, at - 1:at + 2, door:door + 4] = False
    walls = walls.reshape(MAPS, CELLS)
    goals = [[random.choice(numpy.flatnonzero(~one)) for one in walls] for _ in range(ORDERS)]
    return walls.astype(numpy.uint8), numpy.array(goals, dtype=numpy.int32)


def make(variant):
    walls, goals = factories(numpy.random.default_rng(20))
    walls, goals = cuda.to_device(walls), [cuda.to_device(some) for some in goals]
    costs, spare = [cuda.to_device(numpy.zeros((MAPS, CELLS), dtype=numpy.float32)) for _ in range(2)]
    last = cuda.to_device(numpy.zeros(1, dtype=numpy.int32))
    landing = cuda.pinned_array(1, numpy.int32) if variant == "useless" else numpy.zeros(1, numpy.int32)
    turn, needed = [0], [0.0]

    def further(done):
        """RINGS rings."""
        if variant == "fix":
            rings[MAPS, GROUP](costs, spare, walls, last, int32(done))
            return
        for k in range(0, RINGS, 2):
            ring[BLOCKS, THREADS](costs, spare, walls, last, int32(done + k + 1))  # cause: launch
            ring[BLOCKS, THREADS](spare, costs, walls, last, int32(done + k + 2))  # cause: launch

    def step():
        begin[BLOCKS, THREADS](costs, goals[turn[0] % ORDERS], last)
        turn[0] += 1
        for done in range(RINGS, MOST + 1, RINGS):
            further(done - RINGS)  # cause: launch
            if variant == "fix2" and done < FEWEST:
                continue
            last.copy_to_host(landing)
            if landing[0] < done:
                break
        needed[0] += 0.05 * (done - needed[0])

    def values():
        found = costs.copy_to_host()
        return needed + numpy.where(found < FAR, found, NONE).mean(axis=1).tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
