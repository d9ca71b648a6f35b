# SPDX-License-Identifier: Apache-2.0
"""CuPy: a radio telescope looks for short bursts from other galaxies (fast radio bursts), which come the later the lower their
frequency is; by how much, nobody knows: each block of the telescope's data is put right for 256 delays, and in each of the
series that come of it the strongest moment is looked for.

Wrong: the blocks are NumPy arrays of float32 in pageable memory; their way to the GPU takes longer than the search.
fix: the blocks lie in pinned memory (copy-bound).
fix2: the telescope's bytes are sent as they are, from pageable memory, and become float32 on the GPU (copy-bound).
useless: a block goes to an array on the GPU that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

CHANNELS, TIMES, DELAYS, BLOCKS, WIDTHS, THREADS = 1024, 16384, 256, 4, 5, 256
LONGEST = 4096  # samples, by which the lowest channel may come late
LEFT = TIMES - LONGEST

KERNEL = """
extern "C" __global__ void put_right(const float* block, const int* late, float* series) {
    // One moment of one series: all channels, each at its own time.
    const int time = blockIdx.x * blockDim.x + threadIdx.x, which = blockIdx.y;
    const int* mine = late + which * %(CHANNELS)d;
    float sum = 0.0f;
    for (int channel = 0; channel < %(CHANNELS)d; channel++) {
        sum += block[channel * %(TIMES)d + time + mine[channel]];
    }
    series[which * %(LEFT)d + time] = sum;
}
"""


def delays():
    """By how many samples each channel is late, for each of the series: (DELAYS, CHANNELS)."""
    often = numpy.linspace(1.5, 1.2, CHANNELS)  # GHz
    shape = (often ** -2 - often[0] ** -2) / (often[-1] ** -2 - often[0] ** -2)
    most = numpy.arange(1, DELAYS + 1)[:, None] * (LONGEST - 1) / DELAYS
    return numpy.rint(most * shape).astype(numpy.int32)


def heard(late):
    """Blocks of the telescope's bytes, with noise and a burst: (CHANNELS, TIMES)."""
    random = numpy.random.default_rng(20)
    for number in range(BLOCKS):
        block = random.standard_normal((CHANNELS, TIMES), dtype=numpy.float32)
        block *= random.uniform(10.0, 16.0, (CHANNELS, 1)).astype(numpy.float32)
        first, wide = 2000 + 1700 * number, 4 + 3 * number
        for channel, delay in enumerate(late[40 + 60 * number]):
            block[channel, first + delay:first + delay + wide] += 6.0
        yield numpy.clip(block + 96.0, 0.0, 255.0).astype(numpy.uint8)


def pinned(like):
    """The same array in pinned memory."""
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    late = delays()
    blocks = list(heard(late))
    if variant != "fix2":
        blocks = [block.astype(numpy.float32) for block in blocks]
    if variant == "fix":
        blocks = [pinned(block) for block in blocks]
    put_right = cupy.RawKernel(KERNEL % {"CHANNELS": CHANNELS, "TIMES": TIMES, "LEFT": LEFT}, "put_right")
    late = cupy.asarray(late)
    series = cupy.empty((DELAYS, LEFT), dtype=cupy.float32)
    place = cupy.empty((CHANNELS, TIMES), dtype=cupy.float32) if variant in ("fix", "useless") else None
    turn, usual = [0], [0.0, 0.0]

    def brought(block):
        if variant == "fix":
            place.set(block, stream=cupy.cuda.get_current_stream())
            return place
        if variant == "useless":
            place.set(block)
            return place
        return cupy.asarray(block)  # cause: copy

    def even(block):
        """All channels with the mean 0 and the deviation 1."""
        block = block.astype(cupy.float32)
        block -= block.mean(axis=1, keepdims=True)
        block *= 1.0 / cupy.sqrt(cupy.square(block).mean(axis=1, keepdims=True))
        return block

    def strongest(block):
        """How far the strongest moment of each series is above the noise, for 1, 2, 4, ... samples: (WIDTHS, DELAYS)."""
        put_right((LEFT // THREADS, DELAYS), (THREADS,), (even(block), late, series))
        sums, found = series, []
        for _ in range(WIDTHS):
            found.append(sums.max(axis=1) / sums.std(axis=1))
            sums = sums[:, 0::2] + sums[:, 1::2]
        return cupy.stack(found)

    def note(found):
        """Of a loud one, the block would be kept."""
        usual[0] += 0.05 * (float(found.max()) - usual[0])
        usual[1] += 0.05 * (int(found.argmax()) % DELAYS - usual[1])

    def step():
        block = brought(blocks[turn[0] % BLOCKS])  # cause: copy
        turn[0] += 1
        note(strongest(block).get())

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
