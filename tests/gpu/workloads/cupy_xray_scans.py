# SPDX-License-Identifier: Apache-2.0
"""CuPy: a thin sample is scanned by a beam of X-rays, and a detector behind it counts how each spot scatters them; the picture
of the sample, finer than any lens could make it, is what fits to all of these patterns (ptychography). 64 patterns at a time
are compared with what the picture gives so far; there are more of them than the GPU could keep, of which 1024 are here.

Wrong: the roots of the counts are kept as float32 in pageable memory, and the copies of them take longer than the kernels.
fix: they lie in pinned memory (copy-bound).
fix2: the counts come as they were measured, 16 bits each, from pageable memory, and the GPU takes the roots (copy-bound).
useless: waves and changes go to arrays that are allocated once.
"""
import fixable

LOOK_EVERY = 16

run = fixable.Program(__doc__, steps=960, warm_up=2 * LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIDE, SPOTS, APART, WIDE, BATCH, THREADS = 256, 32, 24, 1024, 64, 256  # spots each way, pixels between them
SHARE, TINY, BRIGHTEST = 0.15, 1e-4, 60000.0
BATCHES, BLOCKS = SPOTS * SPOTS // BATCH, BATCH * SIDE * SIDE // THREADS

CODE = r"""
extern "C" {

// A thread has a pixel of a spot: 256 by 256 pixels each.
__device__ int place_of(int pixel, const int *tops, const int *lefts, int wide) {
    int spot = pixel >> 16;
    return (tops[spot] + ((pixel >> 8) & 255)) * wide + lefts[spot] + (pixel & 255);
}

__global__ void light(const float2 *sample, const float2 *beam, const int *tops, const int *lefts, int wide, float2 *waves) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    float2 one = sample[place_of(pixel, tops, lefts, wide)], other = beam[pixel & 65535];
    waves[pixel] = make_float2(one.x * other.x - one.y * other.y, one.x * other.y + one.y * other.x);
}

__global__ void put(const float2 *changes, const float2 *beam, const int *tops, const int *lefts, int wide, float share,
                    float2 *sample) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    float2 one = changes[pixel], other = beam[pixel & 65535];
    float *there = (float *)(sample + place_of(pixel, tops, lefts, wide));
    atomicAdd(there, share * (one.x * other.x + one.y * other.y));
    atomicAdd(there + 1, share * (one.y * other.x - one.x * other.y));
}

}
"""


def beam_of():
    """The beam: brightest in the middle, and not quite in focus; its strongest point is 1."""
    y, x = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32) - SIDE / 2
    far = x * x + y * y
    return (numpy.exp(-far / (2.0 * 36.0 ** 2)) * numpy.exp(0.002j * far)).astype(numpy.complex64)


def truth():
    """The sample as it is: it lets all light through, and holds it up more or less."""
    random = numpy.random.default_rng(20)
    waves = numpy.fft.fftfreq(WIDE)
    smooth = numpy.exp(-(waves[:, None] ** 2 + waves ** 2) / (2.0 * 0.02 ** 2))
    late = numpy.fft.ifft2(numpy.fft.fft2(random.standard_normal((WIDE, WIDE))) * smooth).real
    return numpy.exp(0.6j * late / late.std()).astype(numpy.complex64)


def pinned(like):
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    module = cupy.RawModule(code=CODE)
    light, put = module.get_function("light"), module.get_function("put")
    beam, width = cupy.asarray(beam_of()), numpy.int32(WIDE)
    order = numpy.random.default_rng(21).permutation(SPOTS * SPOTS).reshape(BATCHES, BATCH)
    tops, lefts = [cupy.asarray((part * APART).astype(numpy.int32)) for part in numpy.divmod(order, SPOTS)]
    frames = cupy.empty((BATCH, SIDE, SIDE), dtype=cupy.uint16 if variant == "fix2" else cupy.float32)
    kept = {}
    if variant == "useless":
        kept["lit"] = cupy.empty((BATCH, SIDE, SIDE), dtype=cupy.complex64)
        kept["size"], kept["ratio"] = [cupy.empty((BATCH, SIDE, SIDE), dtype=cupy.float32) for _ in range(2)]
    turn, pending, usual = [0], [], [0.0]

    def waves_of(picture, batch):
        """The light behind each spot of a batch."""
        waves = kept["lit"] if "lit" in kept else cupy.empty((BATCH, SIDE, SIDE), dtype=cupy.complex64)
        light((BLOCKS,), (THREADS,), (picture, beam, tops[batch], lefts[batch], width, waves))
        return waves

    def measured():
        """What the detector has counted, and what is kept of it on the host, by batches."""
        real = cupy.asarray(truth())
        for batch in range(BATCHES):
            far = cupy.fft.fft2(waves_of(real, batch), axes=(1, 2), norm="ortho")
            strong = cupy.square(cupy.abs(far))
            counts = cupy.minimum(strong * (BRIGHTEST / 4.0), BRIGHTEST).astype(cupy.uint16)
            if variant != "fix2":
                counts = cupy.sqrt(counts.astype(cupy.float32))
            yield pinned(counts.get()) if variant == "fix" else counts.get()

    patterns = list(measured())
    scale = numpy.float32((BRIGHTEST / 4.0) ** -0.5)
    picture = cupy.ones((WIDE, WIDE), dtype=cupy.complex64)

    def roots():
        """The frames that have come, as they are compared."""
        return cupy.sqrt(frames.astype(cupy.float32)) if variant == "fix2" else frames

    def fit(batch):
        """Makes the picture fit better to a batch; tells how far off it was."""
        near = waves_of(picture, batch)
        far = cupy.fft.fft2(near, axes=(1, 2), norm="ortho")
        size = cupy.abs(far, out=kept.get("size"))
        ratio = cupy.multiply(roots(), scale, out=kept.get("ratio"))
        off = cupy.square(ratio - size).mean()
        size += TINY
        ratio /= size
        far *= ratio
        changes = cupy.fft.ifft2(far, axes=(1, 2), norm="ortho")
        changes -= near
        put((BLOCKS,), (THREADS,), (changes, beam, tops[batch], lefts[batch], width, numpy.float32(SHARE), picture))
        return off

    def step():
        batch = turn[0] % BATCHES
        turn[0] += 1
        if variant == "fix":
            frames.set(patterns[batch], stream=cupy.cuda.get_current_stream())
        else:
            frames.set(patterns[batch])  # cause: copy
        pending.append(fit(batch))
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.1 * (1000.0 * float(cupy.stack(pending).mean()) - usual[0])
            pending.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: [1.0 + usual[0]])


run.main(make)
