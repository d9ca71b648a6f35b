# SPDX-License-Identifier: Apache-2.0
"""CuPy: a sonar watches over a harbour: what 64 hydrophones hear of each ping is compared with the ping (matched filter), put
together to 192 beams, and added to a picture, from which divers and boats stand out by their contrast.

Wrong: since the GPU was once full, free_all_blocks() is called behind each ping; all arrays of the next one are allocated anew by
the driver, and freed by it, which waits for the GPU.
fix: the pool keeps what it has (alloc-bound).
fix2: how loud the beams are is read every 20 pings, not behind each one (sync-bound).
useless: how loud the beams are comes to pinned memory.
"""
import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=600, warm_up=TOGETHER, multiple=TOGETHER)
cupy, numpy, cupyx = fixable.load_cupy("numpy", "cupyx")

PHONES, BEAMS, SAMPLES, PING, SETS, TARGETS, WANTED = 64, 192, 16384, 1024, 4, 6, 60.0


def chirp():
    at = numpy.arange(PING) / PING
    return (numpy.hanning(PING) * numpy.exp(1j * numpy.pi * 200.0 * at * at)).astype(numpy.complex64)


def harbour():
    """What the hydrophones hear of some pings, with targets that go on a bit from one to the next."""
    random = numpy.random.default_rng(20)
    sides, ways = random.uniform(-0.9, 0.9, TARGETS), random.integers(1000, SAMPLES - 2 * PING, TARGETS)
    for number in range(SETS):
        heard = 0.2 * random.standard_normal((2, PHONES, SAMPLES), dtype=numpy.float32)
        heard = heard[0] + numpy.complex64(1j) * heard[1]
        for side, way in zip(sides + 0.01 * number, ways + 20 * number):
            arrives = numpy.exp(-1j * numpy.pi * numpy.arange(PHONES) * side).astype(numpy.complex64)
            heard[:, way:way + PING] += arrives[:, None] * chirp()
        yield cupy.asarray(heard)


def make(variant):
    pings = list(harbour())
    sides = numpy.linspace(-1.0, 1.0, BEAMS)
    steering = cupy.asarray(numpy.exp(1j * numpy.pi * sides[:, None] * numpy.arange(PHONES)).astype(numpy.complex64) / PHONES)
    pattern = cupy.asarray(numpy.fft.fft(chirp(), SAMPLES).conj().astype(numpy.complex64))
    spread = cupy.asarray((20.0 * numpy.log10(1.0 + numpy.arange(SAMPLES) / 1000.0)).astype(numpy.float32))
    picture = cupy.zeros((BEAMS, SAMPLES), dtype=cupy.float32)
    loud = cupyx.zeros_pinned(BEAMS, dtype=numpy.float32) if variant == "useless" else numpy.zeros(BEAMS, dtype=numpy.float32)
    pool, turn, gain = cupy.get_default_memory_pool(), [0], [1.0]

    def hear(ping):
        """Adds a ping to the picture, and gives how loud the loudest echo of each beam was."""
        heard = ping * gain[0]  # cause: alloc
        spectrum = cupy.fft.fft(heard, axis=1)  # cause: alloc
        matched = spectrum * pattern  # cause: alloc
        echoes = cupy.fft.ifft(matched, axis=1)  # cause: alloc
        beams = steering @ echoes  # cause: alloc
        power = beams.real ** 2 + beams.imag ** 2  # cause: alloc
        level = 10.0 * cupy.log10(power + 1e-9)  # cause: alloc
        level += spread
        noise = level.mean(axis=0)  # cause: alloc
        contrast = cupy.clip(level - noise, 0.0, 40.0)  # cause: alloc
        picture[...] = 0.8 * picture + 0.2 * contrast  # cause: alloc
        return level.max(axis=1)  # cause: alloc

    def heed(beams):
        """Brings how loud the beams are to the host, and listens to the next ping more or less."""
        beams.get(out=loud)
        gain[0] *= 10.0 ** (0.1 * (WANTED - float(loud.max())) / 20.0)

    def step():
        beams = hear(pings[turn[0] % SETS])  # cause: alloc
        turn[0] += 1
        if variant != "fix2" or turn[0] % TOGETHER == 0:
            heed(beams)
        del beams
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    def values():
        return [float(x) for x in cupy.asnumpy(picture[::32, ::1024]).reshape(-1)]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
