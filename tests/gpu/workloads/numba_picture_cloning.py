# SPDX-License-Identifier: Apache-2.0
"""Numba: parts of pictures are put into other ones so that no seam is seen (Poisson): inside the part the colours' differences
are those of the one picture, and around it the colours are those of the other one; solved by multigrid, on six grids.

Wrong: each grid makes the arrays that it needs when its turn comes; Numba keeps no memory: the driver allocates each of them, and
takes it back, which waits for the GPU.
fix: each grid's arrays are made once (alloc-bound).
useless: the remainder that is looked at every 20 pictures comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

SIZE, GRIDS, PAIRS, CYCLES, SWEEPS, LOOK_EVERY = 2048, 6, 4, 2, 2, 20
THREADS = (64, 4)
float32 = numba.float32


@cuda.jit
def zero(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = float32(0.0)


@cuda.jit
def differences(picture, mask, out):
    """What the Laplacian of the solution must be."""
    x, y = cuda.grid(2)
    size = out.shape[0]
    if x < size and y < size:
        wanted = float32(0.0)
        if mask[y, x] > 0 and x > 0 and y > 0 and x < size - 1 and y < size - 1:
            around = picture[y - 1, x] + picture[y + 1, x] + picture[y, x - 1] + picture[y, x + 1]
            wanted = around - float32(4.0) * picture[y, x]
        out[y, x] = wanted


@cuda.jit
def relax(before, wanted, mask, after):
    """Jacobi's sweep, with 4/5 of each change."""
    x, y = cuda.grid(2)
    size = after.shape[0]
    if x < size and y < size:
        mine = before[y, x]
        if mask[y, x] > 0 and x > 0 and y > 0 and x < size - 1 and y < size - 1:
            around = before[y - 1, x] + before[y + 1, x] + before[y, x - 1] + before[y, x + 1]
            mine += float32(0.8) * (float32(0.25) * (around - wanted[y, x]) - mine)
        after[y, x] = mine


@cuda.jit
def left_over(solved, wanted, mask, out):
    x, y = cuda.grid(2)
    size = out.shape[0]
    if x < size and y < size:
        rest = float32(0.0)
        if mask[y, x] > 0 and x > 0 and y > 0 and x < size - 1 and y < size - 1:
            around = solved[y - 1, x] + solved[y + 1, x] + solved[y, x - 1] + solved[y, x + 1]
            rest = wanted[y, x] - around + float32(4.0) * solved[y, x]
        out[y, x] = rest


@cuda.jit
def coarser(rest, out):
    """The sum of four, since the step of the grid is twice as large."""
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = rest[2 * y, 2 * x] + rest[2 * y, 2 * x + 1] + rest[2 * y + 1, 2 * x] + rest[2 * y + 1, 2 * x + 1]


@cuda.jit
def correct(solved, coarse, mask):
    x, y = cuda.grid(2)
    if x < solved.shape[1] and y < solved.shape[0] and mask[y, x] > 0:
        solved[y, x] += coarse[y // 2, x // 2]


def pictures(random):
    """A soft picture with some texture."""
    rows, columns = numpy.mgrid[0:SIZE, 0:SIZE].astype(numpy.float32) / SIZE
    picture = 0.5 + 0.02 * random.standard_normal((SIZE, SIZE), dtype=numpy.float32)
    for _ in range(4):
        a, b, c = random.uniform(1.0, 9.0, 3).astype(numpy.float32)
        picture += numpy.float32(0.1) * numpy.sin(a * rows + b * columns + c)
    return picture.astype(numpy.float32)


def masks(random):
    """What is cloned, on each grid: an ellipse."""
    rows, columns = numpy.mgrid[0:SIZE, 0:SIZE].astype(numpy.float32) / SIZE - numpy.float32(0.5)
    wide, high = random.uniform(0.3, 0.45, 2)
    mask = ((rows / high) ** 2 + (columns / wide) ** 2 < 1.0).astype(numpy.uint8)
    found = [mask]
    for _ in range(GRIDS - 1):
        mask = mask.reshape(len(mask) // 2, 2, len(mask) // 2, 2).min(axis=(1, 3))
        found.append(mask)
    return found


def make(variant):
    random = numpy.random.default_rng(20)
    there = [cuda.to_device(pictures(random)) for _ in range(PAIRS)]
    cloned = [cuda.to_device(pictures(random)) for _ in range(PAIRS)]
    parts = [[cuda.to_device(mask) for mask in masks(random)] for _ in range(PAIRS)]
    kept, turn, seen, last = {}, [0], [], []
    landing = (cuda.pinned_array if variant == "useless" else numpy.zeros)(64, numpy.float32)

    def array(name, size):
        if variant != "fix":
            return cuda.device_array((size, size), numpy.float32)  # cause: alloc
        if (name, size) not in kept:
            kept[name, size] = cuda.device_array((size, size), numpy.float32)
        return kept[name, size]

    def blocks(size):
        return (size + THREADS[0] - 1) // THREADS[0], (size + THREADS[1] - 1) // THREADS[1]

    def relaxed(solved, other, wanted, mask, size):
        for _ in range(SWEEPS):
            relax[blocks(size), THREADS](solved, wanted, mask, other)
            solved, other = other, solved
        return solved, other

    def cycle(solved, wanted, part, grid):
        """Goes down to the coarsest grid and up again."""
        size, mask = SIZE >> grid, part[grid]
        other = array("other", size)  # cause: alloc
        solved, other = relaxed(solved, other, wanted, mask, size)
        if grid < GRIDS - 1:
            rest, less = array("rest", size), array("less", size // 2)  # cause: alloc
            left_over[blocks(size), THREADS](solved, wanted, mask, rest)
            coarser[blocks(size // 2), THREADS](rest, less)
            change = array("change", size // 2)  # cause: alloc
            zero[blocks(size // 2), THREADS](change)
            change = cycle(change, less, part, grid + 1)  # cause: alloc
            correct[blocks(size), THREADS](solved, change, mask)
        return relaxed(solved, other, wanted, mask, size)[0]

    def clone(into, picture, part):
        wanted, solved = array("wanted", SIZE), array("solved", SIZE)  # cause: alloc
        differences[blocks(SIZE), THREADS](picture, part[0], wanted)
        solved.copy_to_device(into)
        for _ in range(CYCLES):
            solved = cycle(solved, wanted, part, 0)  # cause: alloc
        return solved, wanted

    def step():
        at = turn[0] % PAIRS
        turn[0] += 1
        solved, wanted = clone(there[at], cloned[at], parts[at])  # cause: alloc
        last[:] = [solved]
        if turn[0] % LOOK_EVERY == 0:
            rest = array("rest", SIZE)
            left_over[blocks(SIZE), THREADS](solved, wanted, parts[at][0], rest)
            rest[SIZE // 2, SIZE // 2:SIZE // 2 + 64].copy_to_host(landing)
            seen[:] = [float(abs(landing).mean())]

    def values():
        return seen + last[0].copy_to_host()[::128, ::128].reshape(-1).tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
