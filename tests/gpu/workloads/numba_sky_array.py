# SPDX-License-Identifier: Apache-2.0
"""Numba: 64 radio antennas in a desert watch the whole sky at eight frequencies: what each two of them hear together (a
visibility) is put right by the antennas' gains, and all of these make one picture of the sky for each frequency.

Wrong: the visibilities are put right on the host, antenna after antenna, in a loop over views of a NumPy array; the GPU waits
for that before each picture.
fix: the gains of all pairs of antennas are told once; NumPy puts right all visibilities at once (host-bound).
fix2: a kernel puts them right, by the gains of the two antennas, and leaves out what is too loud (host-bound).
useless: the visibilities are sent from pinned memory.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=1000, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, cuda = fixable.load_numba()[::2]

STATIONS, CHANNELS, MOMENTS, SOURCES, SIZE, LIMIT = 64, 8, 6, 12, 128, 5.0
FIRST, SECOND = numpy.triu_indices(STATIONS, 1)
PAIRS, PLACES = len(FIRST), FIRST * STATIONS + SECOND  # of pairs in a matrix
TWO_PI, NONE = numpy.float32(2.0 * math.pi), numpy.float32(0.0)
SHARE, RATE = numpy.float32(1.0 / PAIRS), numpy.float32(0.05)
THREADS = (16, 16, 1)
BLOCKS = (SIZE // 16, SIZE // 16, CHANNELS)


@cuda.jit
def put_right(raw, gains, first, second, loudest, right):
    """The visibilities of pairs by what the correlator gives, all antennas by all antennas."""
    pair, channel = cuda.grid(2)
    if pair < right.shape[1]:
        one, other = first[pair], second[pair]
        seen = raw[channel, one, other]
        by, and_by = gains[channel, one], gains[channel, other]
        real = by.real * and_by.real + by.imag * and_by.imag
        imag = by.imag * and_by.real - by.real * and_by.imag
        x, y = seen.real * real - seen.imag * imag, seen.real * imag + seen.imag * real
        if math.sqrt(x * x + y * y) > loudest[channel]:
            x, y = NONE, NONE
        right[channel, pair, 0] = x
        right[channel, pair, 1] = y


@cuda.jit
def picture(right, east, north, waves, places, sky, news):
    """One point of the sky at one frequency: all pairs of antennas, each turned by its way's difference."""
    x, y, channel = cuda.grid(3)
    across, along = places[x] * waves[channel], places[y] * waves[channel]
    total = NONE
    for pair in range(right.shape[1]):
        angle = TWO_PI * (east[pair] * across + north[pair] * along)
        total += right[channel, pair, 0] * math.cos(angle) + right[channel, pair, 1] * math.sin(angle)
    new = total * SHARE - sky[channel, y, x]
    news[channel, y, x] = new
    sky[channel, y, x] += RATE * new


def array(random):
    """Where the antennas stand, in metres, and how many waves a metre has at each frequency."""
    angle, away = random.uniform(0.0, 2.0 * math.pi, STATIONS), 60.0 * numpy.sqrt(random.random(STATIONS))
    return away * numpy.cos(angle), away * numpy.sin(angle), numpy.linspace(0.12, 0.2, CHANNELS)


def heard(random, east, north, waves, gains):
    """What the correlator gives at some moments: (CHANNELS, STATIONS, STATIONS) of complex64."""
    places, flux = random.uniform(-0.6, 0.6, (SOURCES, 2)), random.exponential(2.0, SOURCES)
    for _ in range(MOMENTS):
        ways = waves[:, None, None] * (numpy.outer(places[:, 0], east) + numpy.outer(places[:, 1], north))
        waving = numpy.exp(2j * math.pi * ways) * numpy.sqrt(flux * random.uniform(0.9, 1.1, SOURCES))[:, None]
        raw = waving.transpose(0, 2, 1) @ waving.conj()
        raw += 0.5 * (random.standard_normal(raw.shape) + 1j * random.standard_normal(raw.shape))
        loud = random.random(raw.shape) < 0.004  # someone's radio
        raw[loud] *= 200.0
        yield (raw / (gains[:, :, None] * gains.conj()[:, None, :])).astype(numpy.complex64)


def pairs_of(matrices):
    """What is above the diagonals: (CHANNELS, PAIRS)."""
    return matrices.reshape(CHANNELS, -1).take(PLACES, axis=1)


def make(variant):
    random = numpy.random.default_rng(20)
    x, y, waves = array(random)
    shape = (CHANNELS, STATIONS)
    gains = random.uniform(0.7, 1.4, shape) * numpy.exp(1j * random.uniform(0.0, 6.28, shape))
    moments = list(heard(random, x, y, waves, gains))
    gains = gains.astype(numpy.complex64)
    both = numpy.ascontiguousarray(gains[:, FIRST] * gains[:, SECOND].conj())
    loudest = LIMIT * numpy.median(numpy.abs(pairs_of(moments[0]) * both), axis=1).astype(numpy.float32)
    east, north, scale = [cuda.to_device(a.astype(numpy.float32)) for a in (x[FIRST] - x[SECOND], y[FIRST] - y[SECOND], waves)]
    places = cuda.to_device(numpy.linspace(-0.7, 0.7, SIZE, dtype=numpy.float32))
    sky, news = [cuda.to_device(numpy.zeros((CHANNELS, SIZE, SIZE), dtype=numpy.float32)) for _ in range(2)]
    there = cuda.to_device(numpy.zeros((CHANNELS, PAIRS, 2), dtype=numpy.float32))
    landing = cuda.pinned_array((CHANNELS, PAIRS, 2), numpy.float32) if variant == "useless" else None
    if variant == "fix2":
        raw, limits, weights = cuda.to_device(moments[0]), cuda.to_device(loudest), cuda.to_device(gains)
        first, second = cuda.to_device(FIRST.astype(numpy.int32)), cuda.to_device(SECOND.astype(numpy.int32))
    turn, usual = [0], [0.0, 0.0]

    def right_by_antennas(seen):
        """Each antenna's lines and columns by its gain; then the pairs, without those that are too loud."""
        seen = seen.copy()  # cause: loader
        for channel in range(CHANNELS):  # cause: loader
            for station in range(STATIONS):  # cause: loader
                seen[channel, station, :] *= gains[channel, station]  # cause: loader
                seen[channel, :, station] *= gains[channel, station].conj()  # cause: loader
        pairs = pairs_of(seen)  # cause: loader
        pairs[numpy.abs(pairs) > loudest[:, None]] = 0.0  # cause: loader
        return pairs  # cause: loader

    def right_at_once(seen):
        pairs = pairs_of(seen) * both
        pairs[numpy.abs(pairs) > loudest[:, None]] = 0.0
        return pairs

    def bring(seen):
        if variant == "fix2":
            raw.copy_to_device(seen)
            put_right[((PAIRS + 127) // 128, CHANNELS), (128, 1)](raw, weights, first, second, limits, there)
            return
        pairs = right_at_once(seen) if variant == "fix" else right_by_antennas(seen)  # cause: loader
        pairs = pairs.view(numpy.float32).reshape(CHANNELS, PAIRS, 2)  # cause: loader
        if variant == "useless":
            landing[...] = pairs
            pairs = landing
        there.copy_to_device(pairs)  # cause: delayed

    def note():
        """How bright the brightest point is, and how much is new."""
        usual[0] += 0.2 * (float(sky.copy_to_host().max()) - usual[0])
        usual[1] += 0.2 * (float(numpy.abs(news.copy_to_host()).mean()) - usual[1])

    def step():
        bring(moments[turn[0] % MOMENTS])  # cause: loader
        turn[0] += 1
        picture[BLOCKS, THREADS](there, east, north, scale, places, sky, news)
        if turn[0] % LOOK_EVERY == 0:
            note()

    return fixable.Work(step, cuda.synchronize, lambda: usual + sky.copy_to_host().max(axis=(1, 2)).tolist())


run.main(make)
