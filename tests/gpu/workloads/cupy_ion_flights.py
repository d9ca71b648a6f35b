# SPDX-License-Identifier: Apache-2.0
"""CuPy: a mass spectrometer tells ions by how long they fly. After each of 2048 shots the detector's voltage is written down at
8192 moments; the GPU takes away where the voltage stood before, filters by the form of one ion's pulse, looks for the tops of
pulses, and adds up how high they are, for each time of flight.

Wrong: the card that measures leaves the shots in common pageable memory, from where 33.5 MB come before each step; the GPU
waits.
fix: the same blocks lie in pinned memory, and the host does not wait for their copies (copy-bound).
fix2: the next block comes from pageable memory on another stream, while the GPU computes on this one (copy-bound).
useless: the large arrays on the device are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SHOTS, SAMPLES, BLOCKS, QUIET, TAPS, LIMIT, LOOK = 2048, 8192, 4, 256, 64, 20.0, 20
IONS = ((700, 0.9), (1290, 0.3), (1306, 0.1), (2410, 1.4), (3777, 0.6), (3795, 0.2), (5120, 0.8), (7001, 0.4))  # when, how many

filtered = cupy.ElementwiseKernel(
    "raw float32 volts, raw float32 pulse, int32 samples, int32 taps", "float32 smooth",
    """
    int at = (int)(i % samples);
    int most = at + 1 < taps ? at + 1 : taps;
    float sum = 0.0f;
    for (int k = 0; k < most; ++k) {
        sum += pulse[k] * volts[i - k];
    }
    smooth = sum;
    """, "filtered_by_pulse")

tops = cupy.ElementwiseKernel(
    "raw float32 smooth, float32 limit, int32 samples", "float32 height",
    """
    int at = (int)(i % samples);
    float own = smooth[i];
    bool within = own > limit && at > 0 && at < samples - 1;
    height = (within && own >= smooth[i - 1] && own > smooth[i + 1]) ? own : 0.0f;
    """, "tops_of_pulses")


def pulse_form():
    """The voltage of one ion's pulse, as long as the filter, which rings a bit."""
    time = numpy.arange(TAPS, dtype=numpy.float32)
    return (time / 3.0 * numpy.exp(1.0 - time / 3.0) * numpy.cos(time / 9.0)).astype(numpy.float32)


def block_of(random):
    """The voltages of all shots at all moments, in steps of the card."""
    volts = random.standard_normal((SHOTS, SAMPLES), dtype=numpy.float32)
    volts *= 3.0
    volts += 20.0 * random.standard_normal((SHOTS, 1), dtype=numpy.float32)
    form = pulse_form()
    for when, many in IONS:
        heights = (random.poisson(many, SHOTS) * random.gamma(9.0, 4.0, SHOTS)).astype(numpy.float32)
        volts[:, when:when + TAPS] += heights[:, None] * form
    return volts.astype(numpy.int16)


def pinned(block):
    there = cupyx.empty_pinned(block.shape, dtype=block.dtype)
    there[...] = block
    return there


def make(variant):
    random = numpy.random.default_rng(20)
    blocks = [block_of(random) for _ in range(BLOCKS)]
    if variant == "fix":
        blocks = [pinned(block) for block in blocks]
    form = pulse_form()
    pulse = cupy.asarray(numpy.ascontiguousarray(form[::-1]) / numpy.square(form).sum())
    raws = [cupy.empty((SHOTS, SAMPLES), dtype=cupy.int16) for _ in range(2 if variant == "fix2" else 1)]
    spectrum = cupy.zeros(SAMPLES, dtype=cupy.float32)
    kept = [cupy.empty((SHOTS, SAMPLES), dtype=cupy.float32) for _ in range(3)] if variant == "useless" else None
    main, turn, seen = cupy.cuda.Stream.null, [0], []

    def add_up(raw):
        """Adds what a block tells to the spectrum."""
        volts, smooth, heights = kept or [cupy.empty((SHOTS, SAMPLES), dtype=cupy.float32) for _ in range(3)]
        before = raw[:, :QUIET].mean(axis=1, keepdims=True, dtype=cupy.float32)
        cupy.subtract(raw, before, out=volts)
        filtered(volts, pulse, SAMPLES, TAPS, smooth)
        tops(smooth, LIMIT, SAMPLES, heights)
        cupy.multiply(spectrum, 0.98, out=spectrum)
        cupy.add(spectrum, heights.sum(axis=0), out=spectrum)

    def one_after_another():
        raws[0].set(blocks[turn[0] % BLOCKS], stream=main)  # cause: copy,wait
        add_up(raws[0])

    if variant == "fix2":
        copies = cupy.cuda.Stream(non_blocking=True)
        arrived = [cupy.cuda.Event(disable_timing=True) for _ in raws]
        used = [cupy.cuda.Event(disable_timing=True) for _ in raws]
        main.synchronize()
        raws[0].set(blocks[0], stream=copies)
        arrived[0].record(copies)

    def at_once():
        now = turn[0] % 2
        main.wait_event(arrived[now])
        add_up(raws[now])
        used[now].record(main)
        if turn[0]:
            copies.wait_event(used[1 - now])
        raws[1 - now].set(blocks[(turn[0] + 1) % BLOCKS], stream=copies)
        arrived[1 - now].record(copies)

    def step():
        if variant == "fix2":
            at_once()
        else:
            one_after_another()  # cause: copy,wait
        turn[0] += 1
        if turn[0] % LOOK == 0:
            seen.append(float(spectrum.max()))

    def values():
        """How much of each ion there is, and of all, in thousands."""
        found = spectrum.get()
        return [float(found[when:when + 2 * TAPS].sum()) / 1000.0 for when, _ in IONS] + [float(found.sum()) / 1000.0]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
