# SPDX-License-Identifier: Apache-2.0
"""Numba: a scanner for positron emission tells which pairs of crystals were hit at the same time, and which one was first. From
two million pairs at a time the activity in the body is found (list mode, expectation and maximization): each pair looks at the 16
likeliest voxels of its line, and makes them brighter by how much it lacks. Eight lesions are watched.

Wrong: the pairs come from ordinary arrays of NumPy, and the host waits for their copies; the GPU computes nothing meanwhile.
fix: the pairs lie in pinned memory (copy-bound).
fix2: the next pairs come from the same ordinary arrays on a stream of their own, while the GPU computes (copy-bound).
useless: the lesions' activity, which is read once in 20 steps, comes to an array that is made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
numpy, numba, cuda = fixable.load_numba()

PAIRS, SUBSETS, SIDE, SAMPLES, LESIONS, LOGGED = 2 ** 21, 3, 128, 16, 8, 20
AROUND, RINGS, RADIUS, PITCH, VOXEL, APART, BLUR = 576, 64, 380.0, 4.0, 3.0, 4.0, 16.0  # millimetres
BLOCK, VOXELS = 256, SIDE ** 3
float32, int32 = numba.float32, numba.int32


@cuda.jit(device=True)
def voxel(x, y, z, dx, dy, dz, s):
    """The number of the voxel at a sample of a line, or -1 outside."""
    away = float32(APART) * (float32(s) - float32(0.5 * (SAMPLES - 1)))
    i = int32((x + away * dx) / float32(VOXEL) + float32(SIDE // 2))
    j = int32((y + away * dy) / float32(VOXEL) + float32(SIDE // 2))
    k = int32((z + away * dz) / float32(VOXEL) + float32(SIDE // 2))
    if i < 0 or j < 0 or k < 0 or i >= SIDE or j >= SIDE or k >= SIDE:
        return int32(-1)
    return (k * int32(SIDE) + j) * int32(SIDE) + i


@cuda.jit
def project(hits, times, crystals, bell, image, back):
    """What each pair expects of the image, and what it lacks, brought back to its voxels."""
    at = cuda.grid(1)
    if at >= hits.shape[0]:
        return
    one, two = hits[at, 0], hits[at, 1]
    x, y, z = crystals[one, 0], crystals[one, 1], crystals[one, 2]
    dx, dy, dz = crystals[two, 0] - x, crystals[two, 1] - y, crystals[two, 2] - z
    over = float32(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz)
    middle = float32(0.5) + times[at, 0] * over
    x, y, z = x + middle * dx, y + middle * dy, z + middle * dz
    dx, dy, dz = dx * over, dy * over, dz * over
    total = times[at, 1]  # pairs by chance
    for s in range(SAMPLES):
        place = voxel(x, y, z, dx, dy, dz, s)
        if place >= 0:
            total += bell[s] * image[place]
    for s in range(SAMPLES):
        place = voxel(x, y, z, dx, dy, dz, s)
        if place >= 0:
            cuda.atomic.add(back, place, bell[s] / total)


@cuda.jit
def brighten(image, back):
    at = cuda.grid(1)
    if at < image.shape[0]:
        image[at] = max(image[at] * (float32(0.8) + float32(0.2) * back[at]), float32(1e-3))
        back[at] = float32(0.0)


@cuda.jit
def watch(image, places, log, row):
    """The mean of 125 voxels at each lesion."""
    at = cuda.grid(1)
    if at < LESIONS:
        total = float32(0.0)
        for near in range(125):
            total += image[places[at] + (near // 25 - 2) * SIDE * SIDE + (near // 5 % 5 - 2) * SIDE + near % 5 - 2]
        log[row, at] = total / float32(125.0)


def measured(luck, lesions, host_array):
    """Pairs of crystals; how far from their middle each pair came about, and how many come by chance."""
    place = numpy.array([130.0, 90.0, 60.0]) * luck.uniform(-1.0, 1.0, size=(PAIRS, 3))
    hot = luck.integers(0, 8 * LESIONS, size=PAIRS)
    lit = hot < LESIONS
    place[lit] = lesions[hot[lit]] + 0.1 * place[lit]
    turned, rise = numpy.pi * luck.random(PAIRS), luck.uniform(-0.15, 0.15, size=PAIRS)
    x, y, z = place.T
    along = x * numpy.cos(turned) + y * numpy.sin(turned)
    reach = numpy.sqrt(along ** 2 + RADIUS ** 2 - x ** 2 - y ** 2)
    hits, times = host_array((PAIRS, 2), dtype=numpy.int32), host_array((PAIRS, 2), dtype=numpy.float32)
    times[:, 1] = 0.1
    for side, far in enumerate((-along - reach, -along + reach)):
        angle = numpy.arctan2(y + far * numpy.sin(turned), x + far * numpy.cos(turned))
        row = numpy.rint((z + far * rise) / PITCH + 0.5 * (RINGS - 1)).clip(0, RINGS - 1)
        hits[:, side] = row * AROUND + numpy.rint(angle * (AROUND / (2.0 * numpy.pi))) % AROUND
    times[:, 0] = along * numpy.sqrt(1.0 + rise ** 2) + BLUR * luck.standard_normal(PAIRS)
    return hits, times


def make(variant):
    luck = numpy.random.default_rng(20)
    lesions = luck.uniform(-0.6, 0.6, size=(LESIONS, 3)) * numpy.array([130.0, 90.0, 60.0])
    host_array = cuda.pinned_array if variant == "fix" else numpy.empty
    data = [measured(luck, lesions, host_array) for _ in range(SUBSETS)]
    cells = (lesions / VOXEL + SIDE // 2).astype(numpy.int32)
    places = cuda.to_device((cells[:, 2] * SIDE + cells[:, 1]) * SIDE + cells[:, 0])
    row, angle = numpy.divmod(numpy.arange(AROUND * RINGS), AROUND)
    angle = angle * (2.0 * numpy.pi / AROUND)
    ring = (RADIUS * numpy.cos(angle), RADIUS * numpy.sin(angle), PITCH * (row - 0.5 * (RINGS - 1)))
    crystals = cuda.to_device(numpy.stack(ring, axis=1).astype(numpy.float32))
    bell = numpy.exp(-0.5 * (APART * (numpy.arange(SAMPLES) - 0.5 * (SAMPLES - 1)) / BLUR) ** 2)
    bell = cuda.to_device((bell / bell.sum()).astype(numpy.float32))
    image = cuda.to_device(numpy.full(VOXELS, PAIRS / VOXELS, dtype=numpy.float32))
    back = cuda.to_device(numpy.zeros(VOXELS, dtype=numpy.float32))
    log = cuda.to_device(numpy.zeros((LOGGED, LESIONS), dtype=numpy.float32))
    buffers = [tuple(cuda.device_array((PAIRS, 2), dtype=kind) for kind in (numpy.int32, numpy.float32)) for _ in range(2)]
    once = numpy.zeros((LOGGED, LESIONS), dtype=numpy.float32)
    turn, felt = [0], [once.copy()]
    work, copies = cuda.stream(), cuda.stream()
    came, used = [[cuda.event(timing=False) for _ in range(2)] for _ in range(2)]

    def bring(number, stream):
        """Copies the pairs of a step."""
        for there, here in zip(buffers[number % 2], data[number % SUBSETS]):
            there.copy_to_device(here, stream=stream)  # cause: wait,copy

    def compute(number):
        hits, times = buffers[number % 2]
        project[PAIRS // BLOCK, BLOCK, work](hits, times, crystals, bell, image, back)
        brighten[VOXELS // BLOCK, BLOCK, work](image, back)
        watch[1, 32, work](image, places, log, number % LOGGED)

    def bring_ahead(number):
        """Copies the pairs of a later step, as soon as nothing needs those in their place."""
        used[number % 2].wait(copies)
        bring(number, copies)
        came[number % 2].record(copies)

    if variant == "fix2":
        bring_ahead(0)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            came[number % 2].wait(work)
            compute(number)
            used[number % 2].record(work)
            bring_ahead(number + 1)
        else:
            bring(number, work)  # cause: wait,copy
            compute(number)
        if turn[0] % LOGGED == 0:
            work.synchronize()
            felt[0] = log.copy_to_host(once) if variant == "useless" else log.copy_to_host()

    return fixable.Work(step, cuda.synchronize, lambda: felt[0].mean(axis=0).tolist())


run.main(make)
