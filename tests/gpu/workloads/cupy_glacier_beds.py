# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: a plane flies over a glacier with a radar, and the thickness of the ice is told from the echoes of its bed.
A line is 4096 traces of 4096 samples, 16 bits each: what rings in the antenna is taken off, the pulses, which rise in pitch, are
made short, and the traces are focused along the flight, by Fourier transforms; the strongest echo below the surface is the bed.

Wrong: each line of 34 MB goes from pageable memory, and the GPU waits for it.
fix: the lines lie in pinned memory (copy-bound).
fix2: the next line is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the array of how strong the echoes are is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=10)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

TRACES, SAMPLES, LINES, STACK, ABOVE, READ = 4096, 4096, 6, 8, 1024, 20
PULSE, PITCH, RISE, BENT, METRES = 256, 0.08, 0.24 / 256, 150.0, 1.4  # samples; cycles a sample; focus; ice in a sample


def pulse(after):
    """What is sent, by the samples since it began."""
    inside = (after >= 0.0) & (after < PULSE)
    return inside * cupy.cos(6.2831853 * (PITCH + 0.5 * RISE * after) * after)


def lines(pinned):
    """Traces of each line in memory of the host: the surface, some layers in the ice, the bed, and noise."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    time = cupy.arange(SAMPLES, dtype=cupy.float32)
    along = cupy.linspace(0.0, 6.2831853, TRACES, dtype=cupy.float32)[:, None]
    for _ in range(LINES):
        turned = [float(angle) for angle in luck.uniform(0.0, 6.28, 2)]
        surface = 400.0 + 60.0 * cupy.sin(along + turned[0])
        thick = 1600.0 + 500.0 * cupy.sin(along + turned[1]) + 60.0 * cupy.sin(7.0 * along)
        traces = 0.2 * chance.standard_normal((TRACES, SAMPLES), dtype=cupy.float32) + cupy.cos(0.3 * time)
        for share, strong in ((0.0, 6.0), (0.2, 0.3), (0.45, 0.2), (1.0, 0.8)):
            traces += strong * pulse(time - (surface + share * thick))
        line = (cupyx.empty_pinned if pinned else numpy.empty)((TRACES, SAMPLES), dtype=numpy.int16)
        line[...] = cupy.asnumpy((2000.0 * traces).astype(cupy.int16))
        yield line


def matched():
    """What the spectra are multiplied with, (TRACES, SAMPLES // 2 + 1): the pulse, and the focus along the flight."""
    sent = cupy.conj(cupy.fft.rfft(pulse(cupy.arange(SAMPLES, dtype=cupy.float32))))
    waves = cupy.fft.fftfreq(TRACES)[:, None]
    return (sent * cupy.exp(1j * BENT * waves * waves)).astype(cupy.complex64)


def make(variant):
    flown = list(lines(variant == "fix"))
    sharpen = matched()
    far = cupy.where(cupy.arange(SAMPLES) < ABOVE, 0.0, cupy.arange(SAMPLES) / SAMPLES).astype(cupy.float32)
    cupy.get_default_memory_pool().free_all_blocks()
    places = [cupy.zeros((TRACES, SAMPLES), dtype=cupy.int16) for _ in range(2 if variant == "fix2" else 1)]
    kept = cupy.zeros((TRACES, SAMPLES), dtype=cupy.float32) if variant == "useless" else None
    thickness = cupy.zeros((LINES, TRACES // STACK), dtype=cupy.float32)
    here, ahead = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    arrived, free = ([cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2))
    turn, told = [0], [0.0]

    def survey(line, found):
        """How thick the ice is along a line, in metres."""
        traces = line.astype(cupy.float32)
        traces -= traces.mean(axis=0)
        spectra = cupy.fft.rfft2(traces)
        spectra *= sharpen
        echoes = cupy.fft.ifft2(spectra, s=(TRACES, SAMPLES))  # of half a spectrum, so that the echoes are complex
        strong = cupy.absolute(echoes) if kept is None else cupy.absolute(echoes, out=kept)
        stacked = strong.reshape(TRACES // STACK, STACK, SAMPLES).mean(axis=1)
        stacked = ndimage.uniform_filter1d(stacked, 3, axis=0, mode="nearest")
        surface = stacked[:, :ABOVE].argmax(axis=1)
        found[...] = METRES * ((stacked * far).argmax(axis=1) - surface)

    def bring(number):
        """Copies a line on the other stream, behind the kernels that have read its place."""
        ahead.wait_event(free[number % 2])
        places[number % 2].set(flown[number % LINES], stream=ahead)
        arrived[number % 2].record(ahead)

    if variant == "fix2":
        here.synchronize()
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            here.wait_event(arrived[number % 2])
            survey(places[number % 2], thickness[number % LINES])
            free[number % 2].record(here)
            bring(number + 1)
        else:
            places[0].set(flown[number % LINES], stream=here)  # cause: wait,copy
            survey(places[0], thickness[number % LINES])
        turn[0] += 1
        if turn[0] % READ == 0:
            told[0] += 0.1 * (float(thickness[number % LINES].mean()) - told[0])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: thickness.mean(axis=1).tolist() + told)


run.main(make)
