# SPDX-License-Identifier: Apache-2.0
"""CuPy: a lidar sends pulses of light up into the air and hears from dust how the wind blows: of each of 2048 pulses there are 32
gates, one above the other, of 256 samples; the mean of the spectra of a gate has a line that is off by the Doppler shift.
Recordings of 33.5 MB come from the digitizer, one after another.

Wrong: the recordings lie in usual memory of NumPy, from which they come to the GPU at some gigabytes a second, and the GPU waits
for them much longer than it computes.
fix: the digitizer writes to pinned memory, and the host does not wait for the copy (copy-bound).
fix2: a recording comes, from usual memory, by another stream while the one before it is computed (copy-bound).
useless: samples and powers go to arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PULSES, GATES, SAMPLES, SETS, LOOK_EVERY = 2048, 32, 256, 4, 40
RATE, MIDDLE, WAVELENGTH, LINES = 250e6, 62.5e6, 1.55e-6, SAMPLES // 2 + 1


def recordings():
    """What the digitizer gives, (PULSES, GATES, SAMPLES), by winds that grow with the height and turn a bit."""
    random = numpy.random.default_rng(20)
    times = (numpy.arange(SAMPLES) / RATE).astype(numpy.float32)
    for number in range(SETS):
        winds = 4.0 + 0.6 * numpy.arange(GATES) + 3.0 * numpy.sin(0.3 * numpy.arange(GATES) + number)
        turns = (2.0 * numpy.pi * (MIDDLE + 2.0 * winds / WAVELENGTH)).astype(numpy.float32)
        starts = random.random((PULSES, GATES, 1), dtype=numpy.float32) * numpy.float32(2.0 * numpy.pi)
        heard = numpy.cos(turns[:, None] * times + starts)
        heard *= (120.0 * numpy.exp(-numpy.arange(GATES) / 25.0)).astype(numpy.float32)[:, None]
        noise = random.integers(-200, 201, (PULSES, GATES, SAMPLES), dtype=numpy.int16)
        yield heard.astype(numpy.int16) + noise


def pinned(recording):
    array = cupyx.empty_pinned(recording.shape, dtype=recording.dtype)
    array[...] = recording
    return array


def winds_of(spectra):
    """The wind of each gate in metres a second, from the middle of what stands out of the noise near the strongest line."""
    spectra = spectra - numpy.median(spectra, axis=-1, keepdims=True)
    spectra[..., :2] = 0.0
    lines = numpy.arange(LINES)
    strongest = spectra.argmax(axis=-1)[..., None]
    heights = numpy.where(numpy.abs(lines - strongest) < 4, numpy.maximum(spectra, 0.0), 0.0)
    middle = (heights * lines).sum(axis=-1) / heights.sum(axis=-1)
    return (middle * (RATE / SAMPLES) - MIDDLE) * (0.5 * WAVELENGTH)


def make(variant):
    recorded = [pinned(one) if variant == "fix" else one for one in recordings()]
    window = cupy.asarray(numpy.hanning(SAMPLES).astype(numpy.float32))
    places = [cupy.empty((PULSES, GATES, SAMPLES), dtype=cupy.int16) for _ in range(2 if variant == "fix2" else 1)]
    means = cupy.zeros((SETS, GATES, LINES), dtype=cupy.float32)
    kept = variant == "useless"
    samples = cupy.empty((PULSES, GATES, SAMPLES), dtype=cupy.float32) if kept else None
    powers = cupy.empty((PULSES, GATES, LINES), dtype=cupy.float32) if kept else None
    main, copies = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    copied = [cupy.cuda.Event(disable_timing=True) for _ in places]
    used = [cupy.cuda.Event(disable_timing=True) for _ in places]
    turn, winds = [0], [numpy.zeros((SETS, GATES))]

    def spectrum(place, number):
        """Puts the mean of the pulses' spectra where those of this recording are kept."""
        if kept:
            shaped = cupy.multiply(place, window, out=samples)
            power = cupy.abs(cupy.fft.rfft(shaped, axis=-1), out=powers)
        else:
            shaped = cupy.multiply(place, window)
            power = cupy.abs(cupy.fft.rfft(shaped, axis=-1))
        cupy.square(power, out=power)
        power.mean(axis=0, out=means[number])

    def bring(number):
        """The recording of a turn comes by the other stream."""
        side = number % 2
        copies.wait_event(used[side])
        places[side].set(recorded[number % SETS], stream=copies)
        copied[side].record(copies)

    if variant == "fix2":
        bring(0)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            main.wait_event(copied[number % 2])
            spectrum(places[number % 2], number % SETS)
            used[number % 2].record(main)
            bring(number + 1)
        else:
            if variant == "fix":
                places[0].set(recorded[number % SETS], stream=main)
            else:
                places[0].set(recorded[number % SETS])  # cause: copy,wait
            spectrum(places[0], number % SETS)
        if number % LOOK_EVERY == LOOK_EVERY - 1:
            winds[0] = winds_of(means.get())

    def values():
        winds[0] = winds_of(means.get())
        return winds[0].ravel().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
