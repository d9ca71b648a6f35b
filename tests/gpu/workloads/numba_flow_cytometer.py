# SPDX-License-Identifier: Apache-2.0
"""Numba: a laboratory tells kinds of blood cells from each other by how they shine in ten colours (flow cytometry). A sample has
1,048,576 cells; what one dye gives to the detectors of others is taken out, the rest is put on a scale of asinh, and each cell
goes to the nearest of 576 nodes of a map that was learnt before (FlowSOM). Which share of the cells each node has is noted.

Wrong: a sample, 42 MB, comes from memory of the host that is not pinned, before the kernels, and nothing is computed meanwhile.
fix: samples lie in pinned memory, from which they are copied while the host goes on (copy-bound).
fix2: the next sample is copied as it was, to a second array, while the GPU is busy with the last one (copy-bound).
useless: the laboratory looks at the shares every 60 samples instead of every 20.
"""
import math

import fixable

LOOK_EVERY, LOOK_SELDOM = 20, 60

run = fixable.Program(__doc__, steps=600, warm_up=10, multiple=LOOK_SELDOM)
numpy, numba, cuda = fixable.load_numba()

CELLS, COLOURS, NODES, KINDS, SAMPLES, THREADS = 1 << 20, 10, 576, 14, 4, 256
VALUES = NODES * COLOURS
SCALE, KEEP, NEW = numpy.float32(1.0 / 150.0), numpy.float32(0.98), numpy.float32(0.02 / CELLS)


@cuda.jit
def unmix(light, inverse, clean):
    """What each dye gives by itself, on a scale of asinh."""
    cell = cuda.grid(1)
    if cell < CELLS:
        for dye in range(COLOURS):
            found = numba.float32(0.0)
            for colour in range(COLOURS):
                found += inverse[dye, colour] * light[colour, cell]
            clean[dye, cell] = math.asinh(found * SCALE)


@cuda.jit
def to_nodes(clean, nodes, counts):
    """Each cell goes to the node that is nearest to it."""
    there = cuda.shared.array(VALUES, numba.float32)
    mine = cuda.local.array(COLOURS, numba.float32)
    for k in range(cuda.threadIdx.x, VALUES, THREADS):
        there[k] = nodes[k]
    cuda.syncthreads()
    cell = cuda.grid(1)
    if cell < CELLS:
        for dye in range(COLOURS):
            mine[dye] = clean[dye, cell]
        nearest, best = 0, numba.float32(1e30)
        for node in range(NODES):
            away = numba.float32(0.0)
            for dye in range(COLOURS):
                apart = mine[dye] - there[node * COLOURS + dye]
                away += apart * apart
            if away < best:
                best = away
                nearest = node
        cuda.atomic.add(counts, nearest, 1)


@cuda.jit
def note(counts, usual):
    """The shares as they usually are; the counts begin anew."""
    node = cuda.grid(1)
    if node < NODES:
        usual[node] = KEEP * usual[node] + NEW * numba.float32(counts[node])
        counts[node] = 0


def made_up(random):
    """Samples (COLOURS, CELLS), what takes the mixing of dyes out, and the nodes of the map."""
    kinds = random.uniform(0.0, 5.0, (COLOURS, KINDS)).astype(numpy.float32)
    mixed = (numpy.eye(COLOURS) + 0.06 * random.random((COLOURS, COLOURS))).astype(numpy.float32)
    samples = []
    for _ in range(SAMPLES):
        kind = random.choice(KINDS, CELLS, p=random.dirichlet(numpy.full(KINDS, 4.0)))
        dyes = kinds[:, kind] + 0.3 * random.standard_normal((COLOURS, CELLS), dtype=numpy.float32)
        samples.append(numpy.ascontiguousarray(mixed @ (numpy.sinh(dyes) / SCALE), dtype=numpy.float32))
    nodes = kinds[:, numpy.arange(NODES) % KINDS].T + 0.4 * random.standard_normal((NODES, COLOURS))
    return samples, numpy.linalg.inv(mixed).astype(numpy.float32), nodes.astype(numpy.float32).ravel()


def make(variant):
    samples, inverse, nodes = made_up(numpy.random.default_rng(20))
    if variant == "fix":
        for number, sample in enumerate(samples):
            samples[number] = cuda.pinned_array((COLOURS, CELLS), numpy.float32)
            samples[number][:] = sample
    inverse, nodes = cuda.to_device(inverse), cuda.to_device(nodes)
    there = [cuda.to_device(samples[0]) for _ in range(2)]
    clean = cuda.device_array((COLOURS, CELLS), numpy.float32)
    counts, usual = cuda.to_device(numpy.zeros(NODES, numpy.int32)), cuda.to_device(numpy.zeros(NODES, numpy.float32))
    computing, copying = cuda.stream(), cuda.stream()
    computed, copied = ([cuda.event(timing=False) for _ in range(2)] for _ in range(2))
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY
    turn, told = [0], []
    cuda.synchronize()

    def compute(light):
        unmix[CELLS // THREADS, THREADS, computing](light, inverse, clean)
        to_nodes[CELLS // THREADS, THREADS, computing](clean, nodes, counts)
        note[(NODES + THREADS - 1) // THREADS, THREADS, computing](counts, usual)

    def step():
        number, mine, other = turn[0], turn[0] % 2, (turn[0] + 1) % 2
        turn[0] += 1
        if variant == "fix2":  # this sample has been copied in the step before, the first one from the start
            copied[mine].wait(computing)
            compute(there[mine])
            computed[mine].record(computing)
            computed[other].wait(copying)
            there[other].copy_to_device(samples[turn[0] % SAMPLES], stream=copying)
            copied[other].record(copying)
        else:
            there[0].copy_to_device(samples[number % SAMPLES], stream=computing)  # cause: copy
            compute(there[0])
        if turn[0] % look_every == 0:
            told[:] = usual.copy_to_host(stream=computing)[:8].tolist()

    return fixable.Work(step, cuda.synchronize, lambda: usual.copy_to_host().reshape(16, NODES // 16).sum(axis=1).tolist())


run.main(make)
