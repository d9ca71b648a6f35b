# SPDX-License-Identifier: Apache-2.0
"""Numba: a tumour is warmed by antennas around the body, and it is told beforehand how warm it and the tissue around it become:
17 million voxels conduct heat, blood carries it away, and each 20 seconds are one implicit step, solved by 20 iterations of
conjugate gradients. The antennas' pattern changes with each step; 16 probes are written down.

Wrong: the two products of an iteration come to the host, which makes the next step's length of them; the GPU runs dry while the
host waits for them and launches anew.
fix: the products stay on the device, where the kernels divide them (sync-bound).
useless: the products and the probes come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

SIZE, CELLS, FIRST, END = 256, 256 ** 3, 256 ** 2, 256 ** 3 - 256 ** 2  # there is air at all sides, which takes no heat
ITERATIONS, PATTERNS, PROBES, LOGGED = 20, 4, 16, 20
BLOCK, BLOCKS = 256, 2112
float32, float64 = numba.float32, numba.float64


@cuda.jit(device=True)
def flow(field, spread, at):
    """The heat that comes into a voxel from its six neighbours."""
    here, own = field[at], spread[at]
    into = min(own, spread[at - 1]) * (field[at - 1] - here)
    into += min(own, spread[at + 1]) * (field[at + 1] - here)
    into += min(own, spread[at - 256]) * (field[at - 256] - here)
    into += min(own, spread[at + 256]) * (field[at + 256] - here)
    into += min(own, spread[at - 65536]) * (field[at - 65536] - here)
    into += min(own, spread[at + 65536]) * (field[at + 65536] - here)
    return into


@cuda.jit(device=True)
def add_up(value, sums, row, column):
    """Adds each thread's value to one of the sums."""
    parts = cuda.shared.array(BLOCK, float64)
    own = cuda.threadIdx.x
    parts[own] = value
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if own < half:
            parts[own] += parts[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        cuda.atomic.add(sums, (row, column), parts[0])


@cuda.jit
def clear(sums):
    at = cuda.grid(1)
    if at < 2 * sums.shape[0]:
        sums[at // 2, at % 2] = 0.0


@cuda.jit
def begin(warm, spread, bleed, source, left, way, sums):
    """What the warmth of before leaves to do, and the first way to go."""
    total = 0.0
    for at in range(FIRST + cuda.grid(1), END, cuda.gridsize(1)):
        missing = source[at] - bleed[at] * warm[at] + flow(warm, spread, at)
        left[at] = missing
        way[at] = missing
        total += missing * missing
    add_up(total, sums, 0, 1)


@cuda.jit
def apply(way, spread, bleed, out, sums, row):
    total = 0.0
    for at in range(FIRST + cuda.grid(1), END, cuda.gridsize(1)):
        value = (float32(1.0) + bleed[at]) * way[at] - flow(way, spread, at)
        out[at] = value
        total += way[at] * value
    add_up(total, sums, row, 0)


@cuda.jit(device=True)
def go(warm, left, way, out, much, sums, row):
    total = 0.0
    for at in range(FIRST + cuda.grid(1), END, cuda.gridsize(1)):
        warm[at] += much * way[at]
        rest = left[at] - much * out[at]
        left[at] = rest
        total += rest * rest
    add_up(total, sums, row, 1)


@cuda.jit
def advance(warm, left, way, out, much, sums, row):
    go(warm, left, way, out, much, sums, row)


@cuda.jit
def advance_by_sums(warm, left, way, out, sums, row):
    go(warm, left, way, out, float32(sums[row - 1, 1] / sums[row, 0]), sums, row)


@cuda.jit
def turn_to(left, way, much):
    for at in range(FIRST + cuda.grid(1), END, cuda.gridsize(1)):
        way[at] = left[at] + much * way[at]


@cuda.jit
def turn_by_sums(left, way, sums, row):
    much = float32(sums[row, 1] / sums[row - 1, 1])
    for at in range(FIRST + cuda.grid(1), END, cuda.gridsize(1)):
        way[at] = left[at] + much * way[at]


@cuda.jit
def feel(warm, places, log, row):
    at = cuda.grid(1)
    if at < PROBES:
        log[row, at] = warm[places[at]]


def body():
    """How fast heat spreads and how fast blood takes it away, by the step, what each pattern brings, and where probes are."""
    axis = (numpy.arange(SIZE, dtype=numpy.float32) - SIZE / 2) / (SIZE / 2)
    z, y, x = axis[:, None, None], axis[None, :, None], axis[None, None, :]
    away = (x / 0.9) ** 2 + (y / 0.7) ** 2 + 0.0 * z
    inside, tumour = (away < 1.0) & (abs(z) < 0.95), (x - 0.1) ** 2 + (y + 0.05) ** 2 + z ** 2 < 0.15 ** 2
    spread = numpy.where(away < 0.8, 1.2, 0.6) * inside
    bleed = numpy.where(tumour, 0.015, numpy.where(away < 0.8, 0.03, 0.006)) * inside
    sources = []
    for number in range(PATTERNS):
        angle = 2.0 * numpy.pi * number / PATTERNS
        off = (x - 0.1 - 0.08 * float(numpy.cos(angle))) ** 2 + (y + 0.05 - 0.08 * float(numpy.sin(angle))) ** 2 + z ** 2
        sources.append((0.25 * numpy.exp(-off / 0.04) + 0.02) * inside)
    ring = numpy.arange(PROBES)
    places = (128 + ring - 8) * 65536 + (122 + 2 * (ring % 4)) * 256 + 132 + 3 * ring
    to_device = [cuda.to_device(numpy.ascontiguousarray(a, dtype=numpy.float32).reshape(-1)) for a in (spread, bleed, *sources)]
    return to_device[0], to_device[1], to_device[2:], cuda.to_device(places.astype(numpy.int32))


def make(variant):
    spread, bleed, sources, places = body()
    warm = cuda.to_device(numpy.zeros(CELLS, dtype=numpy.float32))
    left, way, out = [cuda.to_device(numpy.zeros(CELLS, dtype=numpy.float32)) for _ in range(3)]
    sums = cuda.to_device(numpy.zeros((ITERATIONS + 1, 2)))
    log = cuda.to_device(numpy.zeros((LOGGED, PROBES), dtype=numpy.float32))
    host_array = cuda.pinned_array if variant == "useless" else numpy.empty
    read, felt = host_array((ITERATIONS + 1, 2), dtype=numpy.float64), host_array((LOGGED, PROBES), dtype=numpy.float32)
    felt[:] = 0.0
    turn, grid = [0], (BLOCKS, BLOCK)

    def product(row, column):
        sums.copy_to_host(read)  # cause: wait,copy
        return float(read[row, column])

    def solve_on_host():
        before = product(0, 1)  # cause: wait,copy
        for row in range(1, ITERATIONS + 1):
            apply[grid](way, spread, bleed, out, sums, row)
            much = before / product(row, 0)  # cause: wait,copy
            advance[grid](warm, left, way, out, numpy.float32(much), sums, row)
            now = product(row, 1)  # cause: wait,copy
            turn_to[grid](left, way, numpy.float32(now / before))
            before = now

    def solve_on_device():
        for row in range(1, ITERATIONS + 1):
            apply[grid](way, spread, bleed, out, sums, row)
            advance_by_sums[grid](warm, left, way, out, sums, row)
            turn_by_sums[grid](left, way, sums, row)

    solve = solve_on_device if variant == "fix" else solve_on_host

    def step():
        clear[1, 64](sums)
        begin[grid](warm, spread, bleed, sources[turn[0] % PATTERNS], left, way, sums)
        solve()  # cause: wait,copy
        feel[1, 32](warm, places, log, turn[0] % LOGGED)
        turn[0] += 1
        if turn[0] % LOGGED == 0:
            log.copy_to_host(felt)

    return fixable.Work(step, cuda.synchronize, lambda: felt.mean(axis=0).tolist())


run.main(make)
