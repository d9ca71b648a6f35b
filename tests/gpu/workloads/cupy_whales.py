# SPDX-License-Identifier: Apache-2.0
"""CuPy: calls of whales are looked for in the sound of sixteen hydrophones, which comes in stretches, with two samples of 12 bits
in three bytes; the host unpacks them.

Wrong: float() waits for how much the loudest call is alike, and only then the host unpacks the next stretch, while the GPU has
nothing.
fix: these numbers stay on the device, and are read every 20 stretches (sync-bound).
fix2: the bytes go to the GPU as they are, and a kernel unpacks them; the number is still waited for (host-bound).
useless: what the calls are multiplied with is computed in an array that is made once.
"""
import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=400, warm_up=TOGETHER, multiple=TOGETHER)
cupy, numpy = fixable.load_cupy("numpy")

PHONES, SAMPLES, CALLS, LONGEST, STRETCHES, MIDDLE, LIMIT = 16, 1 << 17, 96, 4096, 4, 2048, 1.2

UNPACK = """
    const int at = i / 2 * 3, middle = packed[at + 1];
    sound = (i %% 2 ? middle >> 4 | packed[at + 2] << 4 : packed[at] | (middle & 15) << 8) - %d;
""" % MIDDLE


def songs():
    """Calls whose tone goes up or down, each with the same strength."""
    at = numpy.arange(LONGEST) / LONGEST
    low, high = numpy.random.default_rng(21).uniform(50.0, 900.0, (2, CALLS, 1))
    tones = numpy.sin(2.0 * numpy.pi * (low + 0.5 * (high - low) * at) * at) * numpy.hanning(LONGEST)
    return (tones / numpy.linalg.norm(tones, axis=1, keepdims=True)).astype(numpy.float32)


def recorded(random, calls):
    """Noise of the sea with some calls in it, as the recorder stores it."""
    stretches = []
    for number in range(STRETCHES):
        sound = 120.0 * random.standard_normal((PHONES, SAMPLES))
        for call, first in zip(random.integers(0, CALLS, 4 * number), random.integers(0, SAMPLES - LONGEST, 4 * number)):
            sound[:, first:first + LONGEST] += 12000.0 * calls[call] * random.uniform(0.2, 1.0, (PHONES, 1))
        counts = numpy.clip(sound + MIDDLE, 0, 4095).astype(numpy.int64)
        one, two = counts[:, 0::2], counts[:, 1::2]
        stretches.append(numpy.stack([one & 255, one >> 8 | (two & 15) << 4, two >> 4], axis=2).astype(numpy.uint8))
    return stretches


def unpacked(packed):
    first, middle, last = packed.astype(numpy.int16).transpose(2, 0, 1)
    sound = numpy.empty((PHONES, SAMPLES), numpy.int16)
    sound[:, 0::2] = first | (middle & 15) << 8
    sound[:, 1::2] = middle >> 4 | last << 4
    sound -= MIDDLE
    return sound


def make(variant):
    calls = songs()
    stretches = recorded(numpy.random.default_rng(20), calls)
    wanted = cupy.conj(cupy.fft.rfft(cupy.asarray(calls), n=SAMPLES, axis=1))[:, None, :]
    product = cupy.empty((CALLS, PHONES, SAMPLES // 2 + 1), cupy.complex64) if variant == "useless" else None
    kernel = cupy.ElementwiseKernel("raw uint8 packed", "int16 sound", UNPACK, "unpack_samples")
    turn, pending, usual, heard = [0], [], [4000.0], [0]

    def loudest(sound):
        spectrum = cupy.fft.rfft(sound.astype(cupy.float32), axis=1)
        alike = cupy.fft.irfft(cupy.multiply(spectrum, wanted, out=product), n=SAMPLES, axis=2)
        return cupy.abs(alike).max()

    def judge(number):
        """A stretch is kept where something is louder than usual."""
        heard[0] += number > LIMIT * usual[0]
        usual[0] += 0.05 * (number - usual[0])

    def step():
        packed = stretches[turn[0] % STRETCHES]
        turn[0] += 1
        if variant == "fix2":
            sound = kernel(cupy.asarray(packed), cupy.empty((PHONES, SAMPLES), cupy.int16))
        else:
            sound = cupy.asarray(unpacked(packed))
        most = loudest(sound)
        if variant != "fix":
            judge(float(most))  # cause: wait,copy
            return
        pending.append(most)
        if len(pending) == TOGETHER:
            for number in cupy.stack(pending).get().tolist():
                judge(number)
            pending.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: [usual[0], heard[0] / turn[0]])


run.main(make)
