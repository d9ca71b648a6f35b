# SPDX-License-Identifier: Apache-2.0
"""Numba: pictures of a body by ultrasound: plane waves were sent into it from 75 angles, and for each place the echoes are added
up that 96 elements of the probe have heard of it (delay and sum).

Wrong: the echoes come from pinned memory, but the GPU computes nothing while they are copied, and copies nothing while it does.
fix: a stream of its own copies the echoes of the next picture to a second place meanwhile (copy-bound).
fix2: the echoes are copied as 16 bits, as they were measured, which is half of the bytes (copy-bound).
useless: the pictures come to pinned memory, too.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=900, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

ANGLES, ELEMENTS, SAMPLES, DEEP, WIDE, FRAMES, THREADS = 75, 96, 2048, 384, 160, 3, 128
RATE, SOUND, PITCH, TOP, FINE, PULSE = 31.25e6, 1540.0, 0.3e-3, 5.0e-3, 0.1e-3, 5.0e6
PIXELS, EARLIEST = DEEP * WIDE, 2.0 * TOP / SOUND - 4.0e-6
float32, int32 = numba.float32, numba.int32
PER_M, EARLY, HALF = float32(RATE / SOUND), float32(EARLIEST * RATE), float32((ELEMENTS - 1) / 2.0)


@cuda.jit
def delay_and_sum(echoes, angles, window, parts):
    """What each angle tells of each place."""
    pixel, number = cuda.grid(1), cuda.blockIdx.y
    if pixel >= PIXELS:
        return
    row, column = pixel // int32(WIDE), pixel % int32(WIDE)
    z = float32(TOP) + float32(row) * float32(FINE)
    x = (float32(column) - float32(WIDE / 2.0)) * float32(FINE)
    there = z * angles[number, 0] + x * angles[number, 1]
    total = float32(0.0)
    for element in range(ELEMENTS):
        across = x - (float32(element) - HALF) * float32(PITCH)
        at = (there + math.sqrt(z * z + across * across)) * PER_M - EARLY
        first = int32(at)
        if first >= 0 and first < SAMPLES - 1:
            share = at - float32(first)
            one, other = float32(echoes[number, element, first]), float32(echoes[number, element, first + 1])
            total += window[element] * (one + share * (other - one))
    parts[number, pixel] = total


@cuda.jit
def compound(parts, picture):
    """All angles together, as bright as a doctor sees it, as bytes."""
    pixel = cuda.grid(1)
    if pixel < PIXELS:
        total = float32(0.0)
        for number in range(ANGLES):
            total += parts[number, pixel]
        bright = float32(20.0) * math.log(float32(1.0) + abs(total) / float32(ANGLES))
        if bright > float32(255.0):
            bright = float32(255.0)
        picture[pixel] = int32(bright)


def measured(random, angles):
    """Echoes of some bright places, and noise, as 16 bits: (ANGLES, ELEMENTS, SAMPLES)."""
    at = (numpy.arange(ELEMENTS) - (ELEMENTS - 1) / 2.0) * PITCH
    for _ in range(FRAMES):
        echoes = 40.0 * random.standard_normal((ANGLES, ELEMENTS, SAMPLES), dtype=numpy.float32)
        for z, x in random.uniform((TOP, -WIDE * FINE / 3.0), (TOP + DEEP * FINE, WIDE * FINE / 3.0), (12, 2)):
            late = (angles[:, :1] * z + angles[:, 1:] * x + numpy.hypot(z, x - at)) / SOUND - EARLIEST
            first = numpy.clip((late * RATE).astype(int) - 12, 0, SAMPLES - 25)
            for sample in range(25):
                off = (first + sample) / RATE - late
                pulse = 900.0 * numpy.cos(2.0 * math.pi * PULSE * off) * numpy.exp(-numpy.square(off * PULSE * 2.0))
                echoes[numpy.arange(ANGLES)[:, None], numpy.arange(ELEMENTS), first + sample] += pulse
        yield echoes.round().astype(numpy.int16)


def make(variant):
    random = numpy.random.default_rng(20)
    tilts = numpy.radians(numpy.linspace(-16.0, 16.0, ANGLES))
    angles = numpy.stack((numpy.cos(tilts), numpy.sin(tilts)), axis=1).astype(numpy.float32)
    kind = numpy.int16 if variant == "fix2" else numpy.float32
    frames = []
    for echoes in measured(random, angles):
        frames.append(cuda.pinned_array(echoes.shape, kind))
        frames[-1][:] = echoes
    aim, window = cuda.to_device(angles), cuda.to_device(numpy.hanning(ELEMENTS + 2)[1:-1].astype(numpy.float32))
    places = [cuda.device_array((ANGLES, ELEMENTS, SAMPLES), kind) for _ in range(2)]
    parts, picture = cuda.device_array((ANGLES, PIXELS), numpy.float32), cuda.device_array(PIXELS, numpy.uint8)
    shown = cuda.pinned_array(PIXELS, numpy.uint8) if variant == "useless" else numpy.zeros(PIXELS, numpy.uint8)
    turn = [0]

    def look(echoes, stream=0):
        delay_and_sum[((PIXELS + THREADS - 1) // THREADS, ANGLES), THREADS, stream](echoes, aim, window, parts)
        compound[(PIXELS + THREADS - 1) // THREADS, THREADS, stream](parts, picture)
        picture.copy_to_host(shown, stream=stream)

    def one_by_one():
        places[0].copy_to_device(frames[turn[0] % FRAMES])  # cause: copy
        turn[0] += 1
        look(places[0])

    if variant == "fix":
        copying, computing, arrived = cuda.stream(), cuda.stream(), [cuda.event(timing=False) for _ in range(2)]

        def fetch(number):
            places[number % 2].copy_to_device(frames[number % FRAMES], stream=copying)
            arrived[number % 2].record(stream=copying)

        fetch(0)

    def overlapped():
        number = turn[0]
        turn[0] += 1
        fetch(number + 1)  # its place was last used by the picture before, which was waited for
        arrived[number % 2].wait(stream=computing)
        look(places[number % 2], computing)
        computing.synchronize()

    return fixable.Work(overlapped if variant == "fix" else one_by_one, cuda.synchronize, lambda: shown[::16].tolist())


run.main(make)
