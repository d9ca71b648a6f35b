# SPDX-License-Identifier: Apache-2.0
"""Numba: photo finishes are looked through for when runners come in. A camera that sees nothing but the line makes one column of
2048 pixels after the other, 8192 of them a picture; its pixels are made even, smoothed, and set against the 64 columns that came
a bit before; where a lane stands out from these for the first time, a runner is at the line.

Wrong: pictures, of 34 MB each, are in plain host memory, from which the driver copies them bit by bit, and no kernel is at work
while a picture comes.
fix: pictures are in pinned memory (copy-bound).
fix2: the next picture comes, from plain memory, on another stream, while the kernels are at work on this one (copy-bound).
useless: the arrivals, 128 bytes that are read every 20 steps, come to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

HIGH, WIDE, LANES, PICTURES, SHOWN = 2048, 8192, 8, 4, 20
FAR, BACK, GAP, LIMIT = 3, 64, 8, 25.0
TALL, BLOCK, PART = HIGH // LANES, 256, 1.0 / (2 * FAR + 1) ** 2
ROWS, GRID = (WIDE // BLOCK, HIGH), (WIDE // BLOCK, LANES)
float32, int32 = numba.float32, numba.int32


@cuda.jit
def lay_even(picture, dark, gain, even):
    column, row = cuda.grid(2)
    even[row, column] = (float32(picture[row, column]) - dark[row]) * gain[row]


@cuda.jit
def smooth(even, soft):
    column, row = cuda.grid(2)
    total = float32(0.0)
    for down in range(-FAR, FAR + 1):
        at = min(max(row + down, 0), HIGH - 1)
        for right in range(-FAR, FAR + 1):
            total += even[at, min(max(column + right, 0), WIDE - 1)]
    soft[row, column] = total * float32(PART)


@cuda.jit
def stand_out(soft, edge):
    """How far a pixel is from the mean of those of the columns before."""
    column, row = cuda.grid(2)
    total = float32(0.0)
    for back in range(GAP, GAP + BACK):
        total += soft[row, max(column - back, 0)]
    edge[row, column] = abs(soft[row, column] - total * float32(1.0 / BACK))


@cuda.jit
def add_lanes(edge, strength):
    column, lane = cuda.grid(2)
    total = float32(0.0)
    for row in range(lane * TALL, (lane + 1) * TALL):
        total += edge[row, column]
    strength[lane, column] = total * float32(1.0 / TALL)


@cuda.jit
def arrive(strength, arrivals, number):
    """The first column of each lane, a block each, where something stands out."""
    first = cuda.shared.array(1, int32)
    lane = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        first[0] = WIDE
    cuda.syncthreads()
    for column in range(cuda.threadIdx.x, WIDE, BLOCK):
        if strength[lane, column] > float32(LIMIT):
            cuda.atomic.min(first, 0, column)
            break
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        arrivals[number, lane] = float32(first[0])


def finishes(pictures):
    """Writes pictures: an even track, noise, and in each lane a runner who stands out, for some two hundred columns."""
    luck = numpy.random.default_rng(20)
    for picture in pictures:
        picture[:] = luck.integers(580, 640, (HIGH, WIDE), dtype=numpy.uint16)
        for lane in range(LANES):
            start, long = luck.integers(1000, 7000), luck.integers(150, 260)
            picture[lane * TALL + 20:(lane + 1) * TALL - 20, start:start + long] += numpy.uint16(luck.integers(150, 400))


def make(variant):
    shape = (PICTURES, HIGH, WIDE)
    host_array = cuda.pinned_array if variant == "fix" else numpy.empty
    pictures = host_array(shape, dtype=numpy.uint16)
    finishes(pictures)
    luck = numpy.random.default_rng(21)
    dark = cuda.to_device(luck.uniform(90.0, 110.0, HIGH).astype(numpy.float32))
    gain = cuda.to_device(luck.uniform(0.9, 1.1, HIGH).astype(numpy.float32))
    places = [cuda.device_array((HIGH, WIDE), dtype=numpy.uint16) for _ in range(2)]
    even, soft, edge = [cuda.device_array((HIGH, WIDE), dtype=numpy.float32) for _ in range(3)]
    strength = cuda.device_array((LANES, WIDE), dtype=numpy.float32)
    arrivals = cuda.to_device(numpy.zeros((PICTURES, LANES), dtype=numpy.float32))
    landing = numpy.zeros((PICTURES, LANES), dtype=numpy.float32) if variant == "useless" else None
    turn, told = [0], [None]
    work, beside = cuda.stream(), cuda.stream()
    come, done = [[cuda.event(timing=False) for _ in places] for _ in range(2)]

    def look(picture, number):
        lay_even[ROWS, BLOCK, work](picture, dark, gain, even)
        smooth[ROWS, BLOCK, work](even, soft)
        stand_out[ROWS, BLOCK, work](soft, edge)
        add_lanes[GRID, BLOCK, work](edge, strength)
        arrive[LANES, BLOCK, work](strength, arrivals, number)

    def bring_beside(count):
        """The picture comes on the other stream, once the kernels have done with the one that is there."""
        there = count % 2
        done[there].wait(stream=beside)
        places[there].copy_to_device(pictures[count % PICTURES], stream=beside)
        come[there].record(stream=beside)

    if variant == "fix2":
        bring_beside(0)

    def step():
        number, there = turn[0] % PICTURES, turn[0] % 2
        turn[0] += 1
        if variant == "fix2":
            come[there].wait(stream=work)
            look(places[there], number)
            done[there].record(stream=work)
            bring_beside(turn[0])
        else:
            places[there].copy_to_device(pictures[number], stream=work)  # cause: copy
            look(places[there], number)
        if turn[0] % SHOWN == 0:
            told[0] = arrivals.copy_to_host(landing, stream=work)

    return fixable.Work(step, cuda.synchronize, lambda: arrivals.copy_to_host().reshape(-1).tolist())


run.main(make)
