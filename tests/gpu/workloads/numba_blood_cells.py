# SPDX-License-Identifier: Apache-2.0
"""Numba: which cells are in a patient's blood: in a flow cytometer, 131072 cells of a tube pass a laser one by one, and 64
detectors see their light. The light of 24 dyes is told apart (unmixed), and each cell gets the likeliest of 32 kinds, by normal
distributions of what the dyes show. The counts of a patient's six tubes are read now and then.

Wrong: what the detectors saw, 33.5 MB a tube, comes to the GPU from pageable memory, which takes several times as long as the two
kernels do; the GPU waits for it.
fix: the same bytes come from pinned memory (copy-bound).
fix2: the same bytes come from pageable memory for the next tube while the kernels of this one run (copy-bound).
useless: the counts are read every 96 tubes, not every 24.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

EVENTS, DETECTORS, DYES, KINDS, TUBES, THREADS = 131072, 64, 24, 32, 6, 128
COFACTOR = 150.0
BLOCKS = EVENTS // THREADS


@cuda.jit
def unmix(raw, weights, dyes):
    """How much of each dye a cell shows, on the scale of the inverse hyperbolic sine."""
    event = cuda.grid(1)
    if event < raw.shape[1]:
        for dye in range(DYES):
            light = numba.float32(0.0)
            for detector in range(DETECTORS):
                light += weights[dye, detector] * raw[detector, event]
            dyes[dye, event] = math.asinh(light)


@cuda.jit
def name_cells(dyes, means, whiten, heights, tube, counts):
    """Counts the likeliest kinds: the least distance by the covariance of a kind, less how high its distribution is."""
    mine = cuda.shared.array(KINDS, numba.int32)
    cell = cuda.local.array(DYES, numba.float32)
    off = cuda.local.array(DYES, numba.float32)
    event = cuda.grid(1)
    lane = cuda.threadIdx.x
    if lane < KINDS:
        mine[lane] = 0
    cuda.syncthreads()
    if event < dyes.shape[1]:
        for dye in range(DYES):
            cell[dye] = dyes[dye, event]
        best = numba.float32(-1e30)
        kind = 0
        for k in range(KINDS):
            for dye in range(DYES):
                off[dye] = cell[dye] - means[k, dye]
            far = numba.float32(0.0)
            for dye in range(DYES):
                part = numba.float32(0.0)
                for other in range(dye + 1):
                    part += whiten[k, dye, other] * off[other]
                far += part * part
            height = heights[k] - numba.float32(0.5) * far
            if height > best:
                best = height
                kind = k
        cuda.atomic.add(mine, kind, 1)
    cuda.syncthreads()
    if lane < KINDS:
        cuda.atomic.add(counts, (tube, lane), mine[lane])


def kinds_of_cells(random):
    """What the dyes show of each kind, with the covariance's factor of Cholesky, and how many cells are of each kind."""
    means = random.uniform(0.2, 4.5, (KINDS, DYES))
    loose = random.normal(0.0, 0.12, (KINDS, DYES, DYES))
    factor = numpy.linalg.cholesky(loose @ loose.transpose(0, 2, 1) + 0.08 * numpy.eye(DYES))
    return means, factor, random.dirichlet([2.0] * KINDS)


def tubes(random, means, factor, share, spectra):
    """What the detectors saw of each tube, (DETECTORS, EVENTS)."""
    for _ in range(TUBES):
        kind = numpy.sort(random.choice(KINDS, EVENTS, p=share))
        luck = random.standard_normal((EVENTS, DYES), dtype=numpy.float32)
        ends = numpy.searchsorted(kind, numpy.arange(KINDS + 1))
        for k in range(KINDS):
            here = slice(ends[k], ends[k + 1])
            luck[here] = luck[here] @ factor[k].T.astype(numpy.float32) + means[k].astype(numpy.float32)
        light = (COFACTOR * numpy.sinh(luck[random.permutation(EVENTS)])) @ spectra.astype(numpy.float32)
        noise = random.standard_normal((DETECTORS, EVENTS), dtype=numpy.float32)
        yield numpy.ascontiguousarray(light.T) + 4.0 * noise


def make(variant):
    random = numpy.random.default_rng(20)
    means, factor, share = kinds_of_cells(random)
    peaks = numpy.linspace(2.0, DETECTORS - 3.0, DYES)
    spectra = numpy.exp(-0.5 * ((numpy.arange(DETECTORS) - peaks[:, None]) / 2.0) ** 2)
    whiten = numpy.linalg.inv(factor)
    heights = numpy.log(share) + numpy.log(numpy.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    weights, means_there, whiten, heights = (
        cuda.to_device(numpy.ascontiguousarray(a, dtype=numpy.float32))
        for a in (numpy.linalg.pinv(spectra).T / COFACTOR, means, whiten, heights))
    seen = []
    for tube in tubes(random, means, factor, share, spectra):
        kept = cuda.pinned_array((DETECTORS, EVENTS), dtype=numpy.float32) if variant == "fix" else \
            numpy.empty((DETECTORS, EVENTS), dtype=numpy.float32)
        kept[:] = tube
        seen.append(kept)
    room = [cuda.device_array((DETECTORS, EVENTS), dtype=numpy.float32) for _ in range(2)]
    dyes = cuda.device_array((DYES, EVENTS), dtype=numpy.float32)
    report = numpy.zeros((TUBES, KINDS), dtype=numpy.int32)
    counts = cuda.to_device(report)
    work, side, turn = cuda.stream(), cuda.stream(), [0]
    here, used = [[cuda.event(timing=False) for _ in range(2)] for _ in range(2)]
    often = 96 if variant == "useless" else 24

    def count(raw, number):
        unmix[BLOCKS, THREADS, work](raw, weights, dyes)
        name_cells[BLOCKS, THREADS, work](dyes, means_there, whiten, heights, number % TUBES, counts)

    def bring(number):
        """Copies a tube's light on the other stream, to the room whose last kernels are done."""
        used[number % 2].wait(side)
        room[number % 2].copy_to_device(seen[number % TUBES], stream=side)
        here[number % 2].record(side)

    if variant == "fix2":
        bring(0)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            here[number % 2].wait(work)
            count(room[number % 2], number)
            used[number % 2].record(work)
            bring(number + 1)
        else:
            room[0].copy_to_device(seen[number % TUBES], stream=work)  # cause: copy
            count(room[0], number)
        if turn[0] % often == 0:
            counts.copy_to_host(report, stream=work)
            work.synchronize()

    def values():
        """The shares of kinds in each tube."""
        found = counts.copy_to_host().astype(numpy.float64)
        return [float(x) for x in (found / found.sum(axis=1, keepdims=True)).max(axis=1)] + \
            [float(x) for x in found.sum(axis=0)[:8] / found.sum()]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
