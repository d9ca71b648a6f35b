# SPDX-License-Identifier: Apache-2.0
"""Numba: where lightning strikes, for a weather service: 24 antennas send a telegram for each flash of radio waves they hear:
its moment, its strength, and 32 samples of the wave, which tell when it really began. Telegrams of a second are put together to
64 strikes, and for each of those a map of 512 by 512 places is made, of how badly the moments fit a strike there; the place with
the least misfit is told.

Wrong: Python reads the telegrams, checks them and puts them together, and the GPU waits for that; it takes several times as
long as the maps.
fix: telegrams are read before; a step has the same copy to the GPU and the same kernels (host-bound).
fix2: the places found are read for 20 seconds together, so the next telegrams are read while the GPU computes (sync-bound).
useless: the moments lie in pinned memory.
"""
import functools
import operator

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=20, multiple=20)
numpy, numba, cuda = fixable.load_numba()

ANTENNAS, STRIKES, GRID, SECONDS, TOGETHER, THREADS = 24, 64, 512, 12, 20, 1024
CELL, LIGHT, LONG, WEAK, SAMPLE = 1.5, 299.792, 5.0, 2.0, 0.0002  # km, km a millisecond, milliseconds, kA, milliseconds


@cuda.jit
def misfits(travel, heard, misfit):
    """The mean of squares of how far moments (microseconds) are off, for each place and strike."""
    cell, strike = cuda.grid(2)
    if cell < travel.shape[1]:
        total, count = numba.float32(0.0), numba.float32(0.0)
        for antenna in range(ANTENNAS):
            if heard[strike, antenna] >= 0.0:
                total += heard[strike, antenna] - travel[antenna, cell]
                count += numba.float32(1.0)
        count = max(count, numba.float32(1.0))
        mean, squares = total / count, numba.float32(0.0)
        for antenna in range(ANTENNAS):
            if heard[strike, antenna] >= 0.0:
                off = heard[strike, antenna] - travel[antenna, cell] - mean
                squares += off * off
        misfit[strike, cell] = squares / count


@cuda.jit
def lowest(misfit, found):
    """The least misfit of each strike, and its place."""
    low = cuda.shared.array(THREADS, numba.float32)
    where = cuda.shared.array(THREADS, numba.int32)
    strike, thread = cuda.blockIdx.x, cuda.threadIdx.x
    low[thread] = misfit[strike, thread]
    where[thread] = thread
    for cell in range(thread + THREADS, misfit.shape[1], THREADS):
        if misfit[strike, cell] < low[thread]:
            low[thread] = misfit[strike, cell]
            where[thread] = cell
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half and low[thread + half] < low[thread]:
            low[thread] = low[thread + half]
            where[thread] = where[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        found[strike, 0] = low[0]
        found[strike, 1] = where[0]


def check_of(body):
    return functools.reduce(operator.xor, body)  # cause: loader


def onset(wave):
    """The first sample that has a fifth of the strongest one."""
    enough = max(wave) / 5.0  # cause: loader
    for number, value in enumerate(wave):  # cause: loader
        if value >= enough:  # cause: loader
            return number


def moments(second):
    """The moments of a second's telegrams, in microseconds behind the first of each strike: (STRIKES, ANTENNAS), -1 for none."""
    told = []
    for telegram in second.splitlines():  # cause: loader
        body, _, check = telegram.partition(b"*")  # cause: loader
        if check_of(body) != int(check, 16):  # cause: loader
            continue
        antenna, moment, peak, wave = body.split()  # cause: loader
        if abs(float(peak)) >= WEAK:  # cause: loader
            begins = float(moment) + SAMPLE * onset(bytes.fromhex(wave.decode()))  # cause: loader
            told.append((begins, int(antenna[2:])))  # cause: loader
    told.sort()  # cause: loader
    table = numpy.full((STRIKES, ANTENNAS), -1.0, dtype=numpy.float32)
    strike, first = -1, -2.0 * LONG
    for begins, antenna in told:  # cause: loader
        if begins - first > LONG:
            strike, first = strike + 1, begins
            if strike == STRIKES:
                break
        table[strike, antenna] = 1000.0 * (begins - first)  # cause: loader
    return table


def telegram(random, antenna, begins, peak):
    late = int(random.integers(3, 13))
    wave = [int(v) for v in random.integers(0, 20, late)] + [int(255.0 * 0.88 ** k) for k in range(32 - late)]
    body = b"LS%02d %.6f %.2f %s" % (antenna, begins - SAMPLE * late, peak, bytes(wave).hex().encode())
    return b"%s*%02X" % (body, check_of(body))


def telegrams(random, antennas):
    """What comes in a second, in no order; some of it is too weak, or spoilt on its way."""
    lines = [b"LS03 17.000000 -30.00 00*FF"]
    for strike in range(STRIKES):
        place, peak = random.uniform(100.0, GRID * CELL - 100.0, 2), random.uniform(5.0, 60.0)
        begins = 15.0 * strike + 10.0 + random.uniform(0.0, 5.0)
        comes = begins + numpy.hypot(*(antennas - place).T) / LIGHT + random.normal(0.0, 0.0005, ANTENNAS)
        for antenna in random.permutation(ANTENNAS)[:random.integers(16, ANTENNAS + 1)]:
            lines.append(telegram(random, antenna, comes[antenna], -peak * random.uniform(0.8, 1.2)))
    for _ in range(200):
        lines.append(telegram(random, random.integers(ANTENNAS), random.uniform(1.0, 1000.0), random.uniform(-1.9, 1.9)))
    return b"\n".join([lines[k] for k in random.permutation(len(lines))])


def make(variant):
    random = numpy.random.default_rng(20)
    antennas = random.uniform(0.0, GRID * CELL, (ANTENNAS, 2))
    down, right = numpy.divmod(numpy.arange(GRID * GRID), GRID)
    places = numpy.stack((down, right), axis=1) * CELL
    travel = numpy.stack([numpy.hypot(*(places - antenna).T) * (1000.0 / LIGHT) for antenna in antennas])
    travel = cuda.to_device(travel.astype(numpy.float32))
    seconds = [telegrams(random, antennas) for _ in range(SECONDS)]
    tables = [moments(second) for second in seconds] if variant == "fix" else []
    pinned = cuda.pinned_array((STRIKES, ANTENNAS), dtype=numpy.float32) if variant == "useless" else None
    heard = cuda.device_array((STRIKES, ANTENNAS), dtype=numpy.float32)
    misfit = cuda.device_array((STRIKES, GRID * GRID), dtype=numpy.float32)
    found = [cuda.device_array((STRIKES, 2), dtype=numpy.float32) for _ in range(TOGETHER if variant == "fix2" else 1)]
    blocks, turn, pending, usual = (GRID * GRID // 256, STRIKES), [0], [0], [0.0, 0.0, 0.0]

    def tell(places):
        """How well the strikes fit, and where they are on the mean, in kilometres."""
        down, right = numpy.divmod(places[:, 1], GRID)
        for k, number in enumerate((numpy.sqrt(places[:, 0]).mean(), CELL * down.mean(), CELL * right.mean())):
            usual[k] += 0.05 * (float(number) - usual[k])

    def read():
        for k in range(pending[0]):
            tell(found[k].copy_to_host())
        pending[0] = 0

    def step():
        number = turn[0] % SECONDS
        turn[0] += 1
        table = tables[number] if variant == "fix" else moments(seconds[number])  # cause: loader
        if variant == "useless":
            pinned[...] = table
            table = pinned
        heard.copy_to_device(table)  # cause: delayed
        misfits[blocks, (256, 1)](travel, heard, misfit)
        lowest[STRIKES, THREADS](misfit, found[pending[0]])
        pending[0] += 1
        if pending[0] == len(found):
            read()

    def wait():
        read()
        cuda.synchronize()

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
