# SPDX-License-Identifier: Apache-2.0
"""CuPy: an institute turns a poll into seats. Each of 650 constituencies has a table of its voters by age, past vote and schooling,
drawn 48 times, since the poll is a sample. For a guess at who will turn out, the tables are raked: they are scaled to the known
numbers of each age, then of each past vote, then of each schooling, eight times over. Then it is counted who wins where.

Wrong: how far the tables were off is read for the records each time they are scaled, and the GPU has nothing to do until the host
launches more.
fix: these numbers stay on the device, and nothing is read while tables are raked (sync-bound).
useless: the shares of the parties are in an array that is made once.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
cupy, numpy = fixable.load_cupy("numpy")

PLACES, DRAWS, AGES, PAST, SCHOOLS, PARTIES, SWEEPS, GUESSES, SHOWN, THREADS = 650, 48, 6, 8, 10, 5, 8, 8, 20, 128
CELLS, TABLES = AGES * PAST * SCHOOLS, DRAWS * PLACES
MARGINS = ((AGES, PAST * SCHOOLS), (PAST, SCHOOLS), (SCHOOLS, 1))  # how many kinds, and how many cells lie behind each

RAKE = """
extern "C" __global__ void rake(float* tables, const float* wanted, float* off, int kinds, int behind)
{
    // A block scales a table; a warp scales every fourth kind of its voters.
    __shared__ float worst[%(warps)d];
    const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32, many = %(cells)d / kinds;
    float* cells = tables + (size_t)blockIdx.x * %(cells)d;
    const float* goal = wanted + (size_t)(blockIdx.x %% %(places)d) * kinds;
    float most = 0.0f;
    for (int kind = warp; kind < kinds; kind += %(warps)d) {
        float total = 0.0f;
        for (int at = lane; at < many; at += 32)
            total += cells[(at / behind * kinds + kind) * behind + at %% behind];
        for (int far = 16; far > 0; far /= 2)
            total += __shfl_xor_sync(0xffffffffu, total, far);
        const float times = goal[kind] / fmaxf(total, 1e-6f);
        for (int at = lane; at < many; at += 32)
            cells[(at / behind * kinds + kind) * behind + at %% behind] *= times;
        most = fmaxf(most, fabsf(times - 1.0f));
    }
    if (lane == 0)
        worst[warp] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int other = 1; other < %(warps)d; other++)
            most = fmaxf(most, worst[other]);
        off[blockIdx.x] = most;
    }
}
""" % {"warps": THREADS // 32, "cells": CELLS, "places": PLACES}


def polled():
    """The tables as the poll gives them, the known numbers for each guess and margin, and how each kind of voter votes."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    lean = luck.uniform(0.2, 1.0, CELLS).astype(numpy.float32)
    tables = chance.random_sample((TABLES, CELLS), dtype=cupy.float32) * 1.6 + 0.2
    tables *= cupy.asarray(lean) / numpy.float32(lean.sum())
    known = []
    for _ in range(GUESSES):
        numbers = [luck.uniform(0.5, 1.5, (PLACES, kinds)) for kinds, _ in MARGINS]
        known.append([cupy.asarray((own / own.sum(axis=1, keepdims=True)).astype(numpy.float32)) for own in numbers])
    habits = luck.dirichlet(numpy.full(PARTIES, 0.4), CELLS).astype(numpy.float32)
    return tables, known, cupy.asarray(habits)


def make(variant):
    polls, known, habits = polled()
    rake = cupy.RawKernel(RAKE, "rake")
    tables, off = cupy.zeros_like(polls), cupy.zeros(TABLES, dtype=cupy.float32)
    kept = cupy.zeros((TABLES, PARTIES), dtype=cupy.float32) if variant == "useless" else None
    usual, parties = cupy.zeros(PARTIES, dtype=cupy.float32), cupy.arange(PARTIES)
    records = collections.deque(maxlen=SWEEPS * len(MARGINS))  # how far the tables were off, of the last step
    turn, told = [0], [0.0] * PARTIES

    def scale(wanted, kinds, behind):
        """Scales the tables to one margin, and records how far they were off."""
        rake((TABLES,), (THREADS,), (tables, wanted, off, numpy.int32(kinds), numpy.int32(behind)))
        worst = off.max()
        records.append(worst if variant == "fix" else float(worst))  # cause: wait,copy

    def count():
        """The seats of each party, in the mean of all draws and of the last guesses."""
        shares = tables @ habits if kept is None else cupy.matmul(tables, habits, out=kept)
        won = shares.argmax(axis=1)
        seats = (won[:, None] == parties).astype(cupy.float32).mean(axis=0)
        usual[...] += 0.05 * (PLACES * seats - usual)

    def step():
        tables[...] = polls
        for _ in range(SWEEPS):
            for wanted, (kinds, behind) in zip(known[turn[0] % GUESSES], MARGINS):
                scale(wanted, kinds, behind)  # cause: wait,copy
        count()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told[:] = usual.get().tolist()

    def values():
        """The seats, and how far the tables were off."""
        return usual.get().tolist() + [float(worst) for worst in records]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
