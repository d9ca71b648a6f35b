# SPDX-License-Identifier: Apache-2.0
"""CuPy: 320 microphones beside the track listen to a tram that goes by, 65536 samples each of 16 bits, and where its noise comes
from is told by beams: pieces of a recording are Fourier transformed, and for 256 bands, what the microphones hear is added up
with the delays of sound from each of 768 places on the tram. The map of loud places is a slow mean over recordings.

Wrong: a recording of 42 MB is copied from pageable memory, and nothing else is done in the meantime.
fix: the recordings are in pinned memory (copy-bound).
fix2: the next recording is copied, from pageable memory, on another stream, while beams are made of this one (copy-bound).
useless: the pieces of a recording as numbers are in an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

MICS, SAMPLES, WINDOW, LOW, BANDS, ALONG, UP, RECORDINGS, READ = 320, 65536, 2048, 24, 256, 96, 8, 3, 20
RATE, SOUND, AWAY, SLOW, PIECES = 48000.0, 343.0, 5.0, 0.1, SAMPLES // WINDOW  # samples and metres a second; metres


def places():
    """How long sound takes from each place on the tram to each microphone, in seconds, (places, microphones)."""
    luck = numpy.random.default_rng(20)
    mics = luck.uniform((-2.0, 0.0), (2.0, 3.0), (MICS, 2))
    along, up = numpy.meshgrid(numpy.linspace(-8.0, 8.0, ALONG), numpy.linspace(0.0, 3.5, UP), indexing="ij")
    spots = numpy.stack((along.ravel(), up.ravel()), axis=1)
    apart = spots[:, None, :] - mics[None, :, :]
    return numpy.sqrt(numpy.square(apart).sum(axis=2) + AWAY ** 2) / SOUND


def recorded(delays):
    """Recordings of 16 bits: a squeal and a hum from two places, and noise."""
    luck = numpy.random.default_rng(21)
    time = (numpy.arange(SAMPLES) / RATE).astype(numpy.float32)
    for _ in range(RECORDINGS):
        sound = 300.0 * luck.standard_normal((MICS, SAMPLES), dtype=numpy.float32)
        for pitch in (luck.uniform(2000.0, 5000.0), luck.uniform(700.0, 1500.0)):
            late = delays[luck.integers(len(delays))].astype(numpy.float32)
            for row in range(MICS):
                sound[row] += 900.0 * numpy.sin(numpy.float32(2.0 * numpy.pi * pitch) * (time - late[row]))
        yield sound.clip(-32000.0, 32000.0).astype(numpy.int16)


def pinned(array):
    copy = cupyx.empty_pinned(array.shape, dtype=array.dtype)
    copy[...] = array
    return copy


def make(variant):
    delays = places()
    recordings = [pinned(r) if variant == "fix" else r for r in recorded(delays)]
    pitches = (LOW + numpy.arange(BANDS)) * RATE / WINDOW
    turns = 2.0 * numpy.pi * cupy.asarray(pitches)[:, None, None] * cupy.asarray(delays)
    steering = cupy.empty(turns.shape, dtype=cupy.complex64)  # BANDS, places, MICS
    steering.real = (cupy.cos(turns) / MICS).astype(cupy.float32)
    steering.imag = (cupy.sin(turns) / MICS).astype(cupy.float32)
    del turns
    cupy.get_default_memory_pool().free_all_blocks()
    taper = cupy.asarray(numpy.hanning(WINDOW) / 32768.0, dtype=cupy.float32)
    samples = [cupy.zeros((MICS, SAMPLES), dtype=cupy.int16) for _ in range(2 if variant == "fix2" else 1)]
    room = cupy.empty((MICS, PIECES, WINDOW), dtype=cupy.float32) if variant == "useless" else None
    usual = cupy.zeros(ALONG * UP, dtype=cupy.float32)
    loudness = cupy.ReductionKernel("complex64 x", "float32 y", "x.real() * x.real() + x.imag() * x.imag()", "a + b", "y = a",
                                    "0.0f", "loudness")
    main, copier = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
    used, copied, turn, told = cupy.cuda.Event(), cupy.cuda.Event(), [0], []

    def listen(sound):
        """Makes beams of a recording, and notes how loud each place was."""
        pieces = cupy.multiply(sound.reshape(MICS, PIECES, WINDOW), taper, out=room)
        spectra = cupy.fft.rfft(pieces, axis=2)[:, :, LOW:LOW + BANDS]
        beams = cupy.matmul(steering, cupy.ascontiguousarray(spectra.transpose(2, 0, 1)))
        cupy.add(usual, SLOW * (loudness(beams, axis=(0, 2)) - usual), out=usual)

    if variant == "fix2":
        samples[0].set(recordings[0], stream=main)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            used.record(main)  # behind the beams of the recording before
            listen(samples[number % 2])
            copier.wait_event(used)
            samples[turn[0] % 2].set(recordings[turn[0] % RECORDINGS], stream=copier)
            copied.record(copier)
            main.wait_event(copied)
        else:
            samples[0].set(recordings[number % RECORDINGS], stream=main)  # cause: copy
            listen(samples[0])
        if turn[0] % READ == 0:
            told.append(int(usual.argmax()))

    def values():
        """How loud the places are, and each eighth of the tram."""
        found = usual.get()
        return [float(found.mean()), float(found.max())] + [float(x) for x in found.reshape(8, -1).mean(axis=1)]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
