# SPDX-License-Identifier: Apache-2.0
"""CuPy: what the ground sent back after each shot at sea (seismic records) is prepared for the picture of the layers below: the
sound of the shot is taken out, loud and quiet times are made alike, and echoes are put to the times they would have without
the way aside. Records come from the host and go back to it, in pinned memory.

Wrong: a record is copied there, prepared, and copied back on one stream; while it is copied, no kernel runs and nothing is
copied the other way.
fix: there are three streams: one copies records there, one prepares them, one copies them back (copy-bound).
fix2: records are copied as int16, as they were measured, and come back in half precision (copy-bound).
useless: the host does not look for dead hydrophones in each record any more, only in each twentieth.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=24, multiple=12)
cupy, numpy, cupyx = fixable.load_cupy("numpy", "cupyx")

TRACES, SAMPLES, RECORDS, SLOTS, THREADS, LOOK_EVERY, LOUDEST = 2048, 4096, 4, 3, 256, 20, 8.0
INTERVAL, SPACING, SPEED = 0.002, 2.5, 1800.0  # seconds, meters, meters per second

KERNELS = """
#define SAMPLES %(SAMPLES)d
#define AROUND 16

extern "C" __global__ void level(const float* traces, float* out) {
    // By how loud it is around each sample.
    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = i %% SAMPLES;
    float sum = 0.0f;
    for (int k = -AROUND; k <= AROUND; k++) {
        const float x = t + k >= 0 && t + k < SAMPLES ? traces[i + k] : 0.0f;
        sum += x * x;
    }
    out[i] = traces[i] * rsqrtf(sum / (2 * AROUND + 1) + 1e-4f);
}

extern "C" __global__ void straighten(const float* traces, float* out, const float* aside) {
    // A sample comes from where the longer way of the echo has put it; aside: that way's time, in samples.
    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = i %% SAMPLES, trace = i / SAMPLES;
    const float from = sqrtf((float)t * t + aside[trace] * aside[trace]);
    const int at = (int)from;
    const float part = from - at;
    const float* here = traces + trace * SAMPLES;
    out[i] = at + 1 < SAMPLES ? here[at] * (1.0f - part) + here[at + 1] * part : 0.0f;
}
""" % globals()


def shot_sound():
    at = (numpy.arange(128) - 32.0) * INTERVAL * numpy.pi * 25.0
    return ((1.0 - 2.0 * at * at) * numpy.exp(-at * at)).astype(numpy.float32)


def records(kind):
    """Echoes of some layers with noise, in pinned memory."""
    random = numpy.random.default_rng(20)
    aside = numpy.arange(TRACES) * SPACING / SPEED / INTERVAL
    for _ in range(RECORDS):
        sound, record = shot_sound(), 0.1 * random.standard_normal((TRACES, SAMPLES), dtype=numpy.float32)
        for layer in random.integers(300, SAMPLES - 400, 12):
            arrives = numpy.sqrt(float(layer) ** 2 + aside ** 2).astype(int)
            for trace in numpy.nonzero(arrives < SAMPLES - len(sound))[0]:
                record[trace, arrives[trace]:arrives[trace] + len(sound)] += sound
        place = cupyx.empty_pinned((TRACES, SAMPLES), dtype=kind)
        place[:] = record if kind == numpy.float32 else numpy.clip(record * (32767.0 / LOUDEST), -32767, 32767)
        yield place


def make(variant):
    there, back = (numpy.int16, numpy.float16) if variant == "fix2" else (numpy.float32, numpy.float32)
    module = cupy.RawModule(code=KERNELS)
    level, straighten = module.get_function("level"), module.get_function("straighten")
    stored, shape = list(records(there)), (TRACES, SAMPLES)
    spectrum = numpy.fft.rfft(shot_sound(), SAMPLES)
    undo = cupy.asarray((spectrum.conj() / (numpy.abs(spectrum) ** 2 + 1.0)).astype(numpy.complex64))
    aside = cupy.arange(TRACES, dtype=cupy.float32) * numpy.float32(SPACING / SPEED / INTERVAL)
    arrived = [cupy.zeros(shape, dtype=there) for _ in range(SLOTS)]
    ready = [cupy.zeros(shape, dtype=back) for _ in range(SLOTS)]
    landing = [cupyx.zeros_pinned(shape, dtype=back) for _ in range(SLOTS)]
    leveled, straight = cupy.empty(shape, dtype=cupy.float32), cupy.empty(shape, dtype=cupy.float32)
    up = cupy.cuda.Stream(non_blocking=True)
    work, down = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)] if variant == "fix" else (up, up)
    came, made, went = [[cupy.cuda.Event(disable_timing=True) for _ in range(SLOTS)] for _ in range(3)]
    for event in made + went:
        event.record(work)
    cupy.cuda.runtime.deviceSynchronize()
    turn, dead, blocks, size = [0], [], (TRACES * SAMPLES // THREADS,), (THREADS,)

    def prepare(record, out):
        if variant == "fix2":
            record = record.astype(cupy.float32) * numpy.float32(LOUDEST / 32767.0)
        spectrum = cupy.fft.rfft(record, axis=1)
        spectrum *= undo
        level(blocks, size, (cupy.fft.irfft(spectrum, n=SAMPLES, axis=1), leveled))
        if variant == "fix2":
            straighten(blocks, size, (leveled, straight, aside))
            out[...] = straight
        else:
            straighten(blocks, size, (leveled, out, aside))

    def look(record):
        """Hydrophones that heard nothing."""
        return int((numpy.abs(record[::64]).mean(axis=1) < 0.01).sum())

    def step():
        slot, oldest = turn[0] % SLOTS, (turn[0] + 1) % SLOTS
        up.wait_event(made[slot])
        arrived[slot].set(stored[turn[0] % RECORDS], stream=up)  # cause: copy
        came[slot].record(up)
        work.wait_event(came[slot])
        work.wait_event(went[slot])
        with work:
            prepare(arrived[slot], ready[slot])
        made[slot].record(work)
        down.wait_event(made[slot])
        ready[slot].get(stream=down, out=landing[slot], blocking=False)  # cause: copy
        went[slot].record(down)
        turn[0] += 1
        went[oldest].synchronize()  # before its place is used again
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            dead[:] = [look(landing[oldest])]

    def values():
        return [float(x) for x in landing[0][::256, 512::512].reshape(-1)]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
