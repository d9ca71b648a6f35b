# SPDX-License-Identifier: Apache-2.0
"""CuPy: trains roll past 128 microphones, and the railway wants to know which of their brakes squeal. From two thirds of a second
of sound it is told how loud each of 2304 places beside the track is: blocks of sound are transformed, and for each frequency what
the microphones hear is added up as it would be in step if it came from a place (acoustic camera).

Wrong: the recorder's sound lies in pageable memory, and the GPU waits for the copy of 16.8 MB, which takes longer than all else.
fix: the recorder writes to pinned memory (copy-bound).
fix2: the next sound is copied, from pageable memory as before, while the GPU is at work on this one (copy-bound).
useless: what comes from each place is written to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

MICROPHONES, SAMPLES, BLOCK, SETS, ACROSS, FIRST, BINS = 128, 32768, 512, 6, 48, 12, 48
RATE, SOUND, SQUEAL, FAR, WIDE = 48000.0, 343.0, 2310.0, 2.5, 3.0  # per second; m/s; Hz; metres
BLOCKS, PLACES = SAMPLES // BLOCK, ACROSS * ACROSS


def microphones():
    """Where they are, on a spiral: (MICROPHONES, 3)."""
    number = numpy.arange(MICROPHONES)
    away, angle = 0.7 * numpy.sqrt((number + 0.5) / MICROPHONES), 2.399963 * number
    return numpy.stack((away * numpy.cos(angle), away * numpy.sin(angle), numpy.zeros(MICROPHONES)), axis=1)


def looked_at():
    """The places beside the track: (PLACES, 3)."""
    line = (numpy.arange(ACROSS) + 0.5) / ACROSS * WIDE - 0.5 * WIDE
    y, x = numpy.meshgrid(line, line, indexing="ij")
    return numpy.stack((x.ravel(), y.ravel(), numpy.full(PLACES, FAR)), axis=1)


def apart(places, others):
    return numpy.sqrt(numpy.square(places[:, None, :] - others[None, :, :]).sum(axis=2))


def recorded():
    """The sound of each microphone, as brakes go by: SETS of (MICROPHONES, SAMPLES)."""
    random = numpy.random.default_rng(20)
    noise = 0.3 * random.standard_normal((MICROPHONES, SAMPLES), dtype=numpy.float32)
    time = numpy.arange(SAMPLES, dtype=numpy.float32) * numpy.float32(2.0 * numpy.pi * SQUEAL / RATE)
    for number in range(SETS):
        brake = numpy.array([[0.4 * number - 1.0, 0.11 * number - 0.4, FAR]])
        away = apart(microphones(), brake).astype(numpy.float32)
        late = away * numpy.float32(2.0 * numpy.pi * SQUEAL / SOUND)
        heard = numpy.sin(time - late) + numpy.float32(0.4) * numpy.sin(numpy.float32(2.0) * (time - late))
        heard /= away
        heard += numpy.roll(noise, 997 * number, axis=1)
        yield heard


def steering():
    """By how much each frequency of each microphone is turned for each place: (BINS, PLACES, MICROPHONES)."""
    waves = cupy.asarray((2.0 * numpy.pi * RATE / BLOCK / SOUND * numpy.arange(FIRST, FIRST + BINS)).astype(numpy.float32))
    away = cupy.asarray(apart(looked_at(), microphones()).astype(numpy.float32))
    angle = waves[:, None, None] * away[None, :, :]
    return ((cupy.cos(angle) + 1j * cupy.sin(angle)) / MICROPHONES).astype(cupy.complex64)


def pinned(like):
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    records = [pinned(sound) if variant == "fix" else sound for sound in recorded()]
    turned, window = steering(), cupy.asarray(numpy.hanning(BLOCK).astype(numpy.float32))
    places = [cupy.empty((MICROPHONES, SAMPLES), dtype=cupy.float32) for _ in range(2 if variant == "fix2" else 1)]
    kept = cupy.empty((BINS, PLACES, BLOCKS), dtype=cupy.complex64) if variant == "useless" else None
    main, copies = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    turn, usual = [0], [0.0, 0.0, 0.0]

    def send_ahead(number):
        """Copies a sound; the kernels that read its place before are done, since their result was read."""
        places[number % 2].set(records[number % SETS], stream=copies)

    def brought(number):
        if variant == "fix2":
            main.wait_event(copies.record())
            return places[number % 2]
        if variant == "fix":
            places[0].set(records[number % SETS], stream=main)
        else:
            places[0].set(records[number % SETS])  # cause: copy
        return places[0]

    def loudness(sound):
        """How loud it is at each place."""
        blocks = sound.reshape(MICROPHONES, BLOCKS, BLOCK) * window
        spectra = cupy.fft.rfft(blocks, axis=2)[:, :, FIRST:FIRST + BINS]
        heard = cupy.ascontiguousarray(spectra.transpose(2, 0, 1))
        from_there = cupy.matmul(turned, heard) if kept is None else cupy.matmul(turned, heard, out=kept)
        strong = cupy.square(from_there.real) + cupy.square(from_there.imag)
        return strong.mean(axis=2).sum(axis=0)

    if variant == "fix2":
        send_ahead(0)

    def step():
        number = turn[0]
        turn[0] += 1
        found = loudness(brought(number))  # cause: copy
        if variant == "fix2":
            send_ahead(number + 1)
        loud = found.get()
        row, column = divmod(int(loud.argmax()), ACROSS)
        for at, value in enumerate((10.0 * float(numpy.log10(loud.max())), float(row), float(column))):
            usual[at] += 0.02 * (value - usual[at])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
