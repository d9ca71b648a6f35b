# SPDX-License-Identifier: Apache-2.0
"""Numba: a picture of what is inside a sealed drum of waste is made by muons, which come from the sky, and are turned aside by
heavy metal. Three planes of detectors above and three below tell where each muon went; its two lines pass each other closest
where it was turned, and how much it was turned is put into the cell of that place. A million muons a step make the picture
clearer.

Wrong: each step takes its six large arrays from the driver (cuda.device_array), and gives them back when the function is left.
fix: the arrays are made once, and used again (alloc-bound).
useless: the slice that is looked at every 50 steps comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=15)
numpy, _, cuda = fixable.load_numba()

MUONS, SETS, CELLS, THREADS, LOOK, RATE = 1 << 20, 4, 192, 256, 50, 0.05
HEIGHTS = (1.2, 1.4, 1.6)  # of the planes; the drum's box is from -1 to 1 each way
SPREAD = 2.0 * (0.2 ** 2)  # the squares of HEIGHTS about their mean, added up


@cuda.jit
def fit(hits, first, middle, lines):
    """The line of best fit through three hits: where it passes height 0, and its slopes."""
    k = cuda.grid(1)
    if k < hits.shape[0]:
        for axis in range(2):
            low, mid, high = hits[k, first + axis], hits[k, first + 2 + axis], hits[k, first + 4 + axis]
            slope = (high - low) * numpy.float32(0.2) / numpy.float32(SPREAD)
            if middle < 0.0:
                slope = -slope
            lines[k, 2 * axis] = (low + mid + high) / numpy.float32(3.0) - slope * middle
            lines[k, 2 * axis + 1] = slope


@cuda.jit
def closest(above, below, points, turned):
    """Where two lines are closest to each other, and the square of the angle between them."""
    k = cuda.grid(1)
    if k < above.shape[0]:
        wx, wy = above[k, 0] - below[k, 0], above[k, 2] - below[k, 2]
        ax, ay, bx, by = above[k, 1], above[k, 3], below[k, 1], below[k, 3]
        dx, dy = ax - bx, ay - by
        angle = dx * dx + dy * dy
        z = numpy.float32(2.0)  # outside
        if angle > numpy.float32(1e-7):
            z = -(wx * dx + wy * dy) / angle
        half = numpy.float32(0.5)
        points[k, 0] = half * (above[k, 0] + ax * z + below[k, 0] + bx * z)
        points[k, 1] = half * (above[k, 2] + ay * z + below[k, 2] + by * z)
        points[k, 2] = z
        turned[k] = angle


@cuda.jit
def clear(sums, counts):
    k = cuda.grid(1)
    if k < sums.size:
        sums[k] = 0.0
        counts[k] = 0.0


@cuda.jit
def put(points, turned, cells, sums, counts):
    k = cuda.grid(1)
    if k < turned.size:
        x, y, z = points[k, 0], points[k, 1], points[k, 2]
        if abs(x) < 0.999 and abs(y) < 0.999 and abs(z) < 0.999:
            half = numpy.float32(0.5) * cells
            at = (int((z + 1) * half) * cells + int((y + 1) * half)) * cells + int((x + 1) * half)
            cuda.atomic.add(sums, at, min(turned[k], numpy.float32(0.01)))
            cuda.atomic.add(counts, at, numpy.float32(1.0))


@cuda.jit
def blend(sums, counts, cells, rate, picture):
    """Moves each cell of the picture towards the mean of what its neighbours and itself were told."""
    k = cuda.grid(1)
    if k < picture.size:
        x, y, z = k % cells, k // cells % cells, k // (cells * cells)
        if 0 < x < cells - 1 and 0 < y < cells - 1 and 0 < z < cells - 1:
            total, many = numpy.float32(0.0), numpy.float32(0.0)
            for i in range(-1, 2):
                for j in range(-1, 2):
                    for m in range(-1, 2):
                        at = k + (i * cells + j) * cells + m
                        total += sums[at]
                        many += counts[at]
            if many > 0.0:
                picture[k] += rate * (total / many - picture[k])


def muons(random):
    """Where each muon hit the planes: x and y of three above, then of three below; (MUONS, 12)."""
    def normal(scale):
        return numpy.float32(scale) * random.standard_normal((MUONS, 2), dtype=numpy.float32)
    place = 2.0 * random.random((MUONS, 2), dtype=numpy.float32) - 1.0  # at height 0
    slope = normal(0.25)
    depth = 2.0 * random.random((MUONS, 1), dtype=numpy.float32) - 1.0
    where = place + slope * depth
    heavy = (abs(where[:, :1] - 0.3) < 0.25) & (abs(where[:, 1:] + 0.2) < 0.25) & (abs(depth) < 0.3)
    after = slope + normal(0.01) + normal(0.04) * heavy
    hits = numpy.empty((MUONS, 12), dtype=numpy.float32)
    for n, height in enumerate(HEIGHTS):
        hits[:, 2 * n:2 * n + 2] = place + slope * numpy.float32(height) + normal(0.0005)
        hits[:, 6 + 2 * n:8 + 2 * n] = where + after * (-numpy.float32(height) - depth) + normal(0.0005)
    return hits


def make(variant):
    random = numpy.random.default_rng(20)
    hits = [cuda.to_device(muons(random)) for _ in range(SETS)]
    picture = cuda.to_device(numpy.zeros(CELLS ** 3, dtype=numpy.float32))
    slice_of = cuda.pinned_array if variant == "useless" else numpy.empty
    landing = slice_of((CELLS * CELLS,), dtype=numpy.float32)
    middle, turn, seen = numpy.float32(sum(HEIGHTS) / 3.0), [0], []
    by_muon, by_cell = (MUONS // THREADS, THREADS), (CELLS ** 3 // THREADS, THREADS)

    def arrays():
        """The lines above and below, the points, how much was turned, and the sums and counts of cells."""
        shapes = ((MUONS, 4), (MUONS, 4), (MUONS, 3), (MUONS,), (CELLS ** 3,), (CELLS ** 3,))
        return [cuda.device_array(shape, dtype=numpy.float32) for shape in shapes]  # cause: alloc

    kept = arrays() if variant == "fix" else None

    def clearer(found):
        above, below, points, turned, sums, counts = kept or arrays()  # cause: alloc
        fit[by_muon](found, 0, middle, above)
        fit[by_muon](found, 6, -middle, below)
        closest[by_muon](above, below, points, turned)
        clear[by_cell](sums, counts)
        put[by_muon](points, turned, CELLS, sums, counts)
        blend[by_cell](sums, counts, CELLS, numpy.float32(RATE), picture)

    def step():
        clearer(hits[turn[0] % SETS])  # cause: alloc
        turn[0] += 1
        if turn[0] % LOOK == 0:
            begin = CELLS // 2 * CELLS * CELLS
            picture[begin:begin + CELLS * CELLS].copy_to_host(landing)
            seen.append(float(landing.max()))

    def values():
        """How much muons are turned in the heavy block, and at another place, and in all, in squares of hundredths."""
        cells = 1e4 * picture.copy_to_host().reshape(CELLS, CELLS, CELLS).astype(numpy.float64)
        return [float(cells[76:116, 60:92, 108:140].mean()), float(cells[76:116, 130:160, 30:60].mean()), float(cells.mean())]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
