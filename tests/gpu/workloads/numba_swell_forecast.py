# SPDX-License-Identifier: Apache-2.0
"""Numba: how high the sea will be is told for ships from the spectra of its waves, 25 frequencies by 24 directions at each of
32768 points of an ocean: waves travel, the wind makes them grow, they hand energy on to longer ones, and break.

Wrong: each part of the model gives a new array of 78.6 MB, five of them a step; Numba takes each from the driver, and lets go
what is no longer used by calls that wait for the GPU.
fix: the arrays are made once (alloc-bound).
useless: what is read every 40 steps comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=30)
numpy, numba, cuda = fixable.load_numba()
float32 = numba.float32

FREQUENCIES, DIRECTIONS, ROWS, COLS, TOLD = 25, 24, 128, 256, 40
BINS, POINTS = FREQUENCIES * DIRECTIONS, ROWS * COLS
ZERO, ONE, TWO, QUARTER, MORE, LESS = (numpy.float32(x) for x in (0.0, 1.0, 2.0, 0.25, 0.35, 0.15))
GRAVITY, SECONDS, CELL, GUST, VEER, TURNS = (numpy.float32(x) for x in (9.81, 300.0, 25000.0, 0.3, 0.4, 2.0 * math.pi / 48.0))
COUPLING, DRAG, SEED, STEEP, LOSS, SHARE, CAP = (numpy.float32(x) for x in (3.125e-4, 0.1085, 1e-8, 0.2906, 2.4e-5, 2e-4, 0.4))
BY_POINT, BY_BIN = (POINTS // 256, 256), ((POINTS // 256, BINS), (256, 1))  # blocks and threads


@cuda.jit
def sea_state(spectra, omega, width, sea):
    """Energy, mean frequency and steepness at each point."""
    at = cuda.grid(1)
    if at < POINTS:
        energy = float32(1e-6)
        turned = float32(1e-6)
        for b in range(BINS):
            part = spectra[b, at] * width[b]
            energy += part
            turned += part * omega[b]
        mean = turned / energy
        sea[0, at] = energy
        sea[1, at] = mean
        sea[2, at] = energy * mean * mean * mean * mean / STEEP


@cuda.jit
def travel(spectra, omega, toward, moved):
    """Waves come from where they were, with the speed of their group."""
    at, b = cuda.grid(2)
    if at < POINTS and b < BINS:
        row = at // COLS
        col = at % COLS
        reach = GRAVITY / (TWO * omega[b]) * SECONDS / CELL
        east = reach * math.cos(toward[b])
        north = reach * math.sin(toward[b])
        near_col = col - 1 if east > ZERO else col + 1
        near_row = row - 1 if north > ZERO else row + 1
        own = spectra[b, at]
        beside = ZERO
        below = ZERO
        if near_col >= 0 and near_col < COLS:
            beside = spectra[b, row * COLS + near_col]
        if near_row >= 0 and near_row < ROWS:
            below = spectra[b, near_row * COLS + col]
        moved[b, at] = own - abs(east) * (own - beside) - abs(north) * (own - below)


@cuda.jit
def blow(spectra, omega, toward, wind, hour, gained):
    """What waves gain from the wind."""
    at, b = cuda.grid(2)
    if at < POINTS and b < BINS:
        speed = wind[0, at] * (ONE + GUST * math.sin(hour * TURNS + wind[2, at]))
        angle = toward[b] - wind[1, at] - VEER * math.sin(hour * TURNS)
        rate = COUPLING * omega[b] * (DRAG * omega[b] * speed * math.cos(angle) - ONE)
        gained[b, at] = SEED * speed + max(ZERO, rate) * spectra[b, at]


@cuda.jit
def hand_on(spectra, sea, passed):
    """What waves hand on to those of near frequencies and directions; more to longer ones, and more in a steep sea."""
    at, b = cuda.grid(2)
    if at < POINTS and b < BINS:
        d = b % DIRECTIONS
        first = b - d
        own = spectra[b, at]
        longer = own
        shorter = own
        if b >= DIRECTIONS:
            longer = spectra[b - DIRECTIONS, at]
        if b + DIRECTIONS < BINS:
            shorter = spectra[b + DIRECTIONS, at]
        sides = spectra[first + (d + 1) % DIRECTIONS, at] + spectra[first + (d + DIRECTIONS - 1) % DIRECTIONS, at]
        passed[b, at] = SHARE * min(sea[2, at], TWO) * (LESS * longer + MORE * shorter + QUARTER * sides - own)


@cuda.jit
def break_up(omega, sea, lost):
    """Which share of them breaks, per second."""
    at, b = cuda.grid(2)
    if at < POINTS and b < BINS:
        often = omega[b] / sea[1, at]
        lost[b, at] = LOSS * sea[1, at] * often * often * sea[2, at] * sea[2, at]


@cuda.jit
def renew(moved, gained, passed, lost, omega, new):
    at, b = cuda.grid(2)
    if at < POINTS and b < BINS:
        value = (moved[b, at] + SECONDS * (gained[b, at] + passed[b, at])) / (ONE + SECONDS * lost[b, at])
        new[b, at] = min(max(value, ZERO), CAP / (omega[b] * omega[b] * omega[b] * omega[b] * omega[b]))


def make(variant):
    random = numpy.random.default_rng(20)
    often = 2.0 * math.pi * 0.04 * 1.1 ** numpy.arange(FREQUENCIES)
    directions = numpy.arange(DIRECTIONS) * (2.0 * math.pi / DIRECTIONS)
    wide = numpy.gradient(often) * (2.0 * math.pi / DIRECTIONS)

    def put(array):
        return cuda.to_device(numpy.ascontiguousarray(array, dtype=numpy.float32))

    omega, width, toward = put(often.repeat(DIRECTIONS)), put(wide.repeat(DIRECTIONS)), put(numpy.tile(directions, FREQUENCIES))
    row, col = numpy.divmod(numpy.arange(POINTS), COLS)
    wind = put(numpy.stack((11.0 + 5.0 * numpy.sin(row / 20.0) * numpy.cos(col / 31.0), 1.0 + 0.8 * numpy.sin(col / 40.0),
                            random.uniform(0.0, 0.5, POINTS) + row / 25.0)))
    spectra = [put(numpy.full((BINS, POINTS), 1e-4))]
    parts = ("moved", "gained", "passed", "lost", "new") if variant == "fix" else ()
    kept = {name: cuda.device_array((BINS, POINTS), dtype=numpy.float32) for name in parts}
    kept_sea = cuda.device_array((3, POINTS), dtype=numpy.float32) if variant == "fix" else None
    landing = cuda.pinned_array((3, POINTS), dtype=numpy.float32) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    def array(name):
        return kept[name] if kept else cuda.device_array((BINS, POINTS), dtype=numpy.float32)  # cause: alloc

    def stirred(now):
        sea = cuda.device_array((3, POINTS), dtype=numpy.float32) if kept_sea is None else kept_sea  # cause: alloc
        sea_state[BY_POINT](now, omega, width, sea)
        return sea

    def travelled(now):
        moved = array("moved")  # cause: alloc
        travel[BY_BIN](now, omega, toward, moved)
        return moved

    def blown(now, hour):
        gained = array("gained")  # cause: alloc
        blow[BY_BIN](now, omega, toward, wind, numpy.float32(hour), gained)
        return gained

    def handed_on(now, sea):
        passed = array("passed")  # cause: alloc
        hand_on[BY_BIN](now, sea, passed)
        return passed

    def broken(sea):
        lost = array("lost")  # cause: alloc
        break_up[BY_BIN](omega, sea, lost)
        return lost

    def together(moved, gained, passed, lost):
        new = array("new")  # cause: alloc
        renew[BY_BIN](moved, gained, passed, lost, omega, new)
        return new  # cause: alloc

    def tell(sea):
        """The mean height and period of the waves."""
        energy, mean, _ = sea.copy_to_host() if landing is None else sea.copy_to_host(landing)
        usual[0] += 0.2 * (float(4.0 * numpy.sqrt(energy).mean()) - usual[0])
        usual[1] += 0.2 * (float((2.0 * math.pi / mean).mean()) - usual[1])

    def step():
        now, hour = spectra[0], turn[0] * (float(SECONDS) / 3600.0) % 48.0
        sea = stirred(now)  # cause: alloc
        new = together(travelled(now), blown(now, hour), handed_on(now, sea), broken(sea))  # cause: alloc
        spectra[0] = new
        if kept:
            kept["new"] = now
        del now  # cause: alloc
        turn[0] += 1
        if turn[0] % TOLD == 0:
            tell(sea)
        del sea  # cause: alloc

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
