# SPDX-License-Identifier: Apache-2.0
"""CuPy: the flow before an event camera, whose pixels tell each on its own when they see a change, is found by making pictures
sharp: all events of a packet are moved back along a dozen flows, and the flow whose picture of events is the sharpest is the
start for the next packet. The recording is read from pinned memory.

Wrong: an event is four float32 (x, y, time, sign), and a packet is copied in the stream of the kernels; they wait for the whole
packet, and the next packet's copy waits for them.
fix: the next packet is copied on a stream of its own, to a second place, while the kernels are at work on this one (copy-bound).
fix2: the events are sent as the camera packs them, in two words of 32 bits, and taken apart on the GPU (copy-bound).
useless: the pictures lie in an array that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=1600, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

EVENTS, PACKETS, WIDTH, HEIGHT, FLOWS, THREADS = 3 << 20, 4, 1280, 720, 12, 256
LONG = 100000  # microseconds of a packet
CORNERS, TRUE = 6000, ((14.0, -6.0), (15.0, -5.0), (16.0, -5.5), (15.0, -6.5))

KERNEL = """
__device__ void add(float x, float y, float time, int sign, const float* flows, int* pictures) {
    const float part = time * %(PER_LONG).9ff;
    for (int flow = 0; flow < %(FLOWS)d; flow++) {
        const int left = __float2int_rn(x - flows[2 * flow] * part);
        const int top = __float2int_rn(y - flows[2 * flow + 1] * part);
        if (left >= 0 && left < %(WIDTH)d && top >= 0 && top < %(HEIGHT)d) {
            atomicAdd(pictures + (flow * %(HEIGHT)d + top) * %(WIDTH)d + left, sign);
        }
    }
}

extern "C" __global__ void add_numbers(const float* packet, const float* flows, int* pictures) {
    const int event = blockIdx.x * blockDim.x + threadIdx.x;
    const float* mine = packet + event;
    add(mine[0], mine[%(EVENTS)d], mine[2 * %(EVENTS)d], mine[3 * %(EVENTS)d] > 0.0f ? 1 : -1, flows, pictures);
}

extern "C" __global__ void add_words(const unsigned* packet, const float* flows, int* pictures) {
    const int event = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned place = packet[event], time = packet[%(EVENTS)d + event];
    add(place & 0xffffu, place >> 16, time >> 1, time & 1u ? 1 : -1, flows, pictures);
}
"""


def recorded():
    """Packets of events as the camera packs them, of corners that move along with the flow: (2, EVENTS)."""
    random = numpy.random.default_rng(20)
    corners = random.random((2, CORNERS), dtype=numpy.float32) * numpy.array([[WIDTH], [HEIGHT]], dtype=numpy.float32)
    signs = random.integers(0, 2, CORNERS, dtype=numpy.uint32)
    for flow in TRUE:
        which = random.integers(0, CORNERS, EVENTS)
        time = numpy.sort(random.integers(0, LONG, EVENTS, dtype=numpy.uint32))
        seen = corners[:, which] + numpy.array(flow, dtype=numpy.float32)[:, None] * (time / LONG).astype(numpy.float32)
        seen += random.standard_normal((2, EVENTS), dtype=numpy.float32) * 0.6
        x = numpy.clip(numpy.rint(seen[0]), 0, WIDTH - 1).astype(numpy.uint32)
        y = numpy.clip(numpy.rint(seen[1]), 0, HEIGHT - 1).astype(numpy.uint32)
        yield numpy.stack((x | y << numpy.uint32(16), time << numpy.uint32(1) | signs[which]))


def numbers(words):
    """The same events as numbers: (4, EVENTS)."""
    place, time = words
    sign = numpy.where(time & numpy.uint32(1), 1.0, -1.0)
    return numpy.stack((place & numpy.uint32(0xffff), place >> numpy.uint32(16), time >> numpy.uint32(1), sign)).astype(numpy.float32)


def pinned(like):
    """The same array in pinned memory."""
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    packed = variant == "fix2"
    packets = [pinned(words if packed else numbers(words)) for words in recorded()]
    settings = {"PER_LONG": 1.0 / LONG, "FLOWS": FLOWS, "WIDTH": WIDTH, "HEIGHT": HEIGHT, "EVENTS": EVENTS}
    add = cupy.RawKernel(KERNEL % settings, "add_words" if packed else "add_numbers")
    places = [cupy.empty(packets[0].shape, dtype=packets[0].dtype) for _ in range(2 if variant == "fix" else 1)]
    main, copies = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    angle = numpy.arange(FLOWS - 1, dtype=numpy.float32) * numpy.float32(2.0 * numpy.pi / (FLOWS - 1))
    around = numpy.concatenate((numpy.zeros((1, 2), numpy.float32), numpy.stack((numpy.cos(angle), numpy.sin(angle)), axis=1)))
    kept = cupy.empty((FLOWS, HEIGHT, WIDTH), dtype=cupy.int32) if variant == "useless" else None
    flow, turn, usual = numpy.array([10.0, -2.0], dtype=numpy.float32), [0], [0.0, 0.0, 0.0]

    def send_ahead(number):
        """Starts the copy of a packet; the kernels that read its place before are done, since their result was read."""
        places[number % 2].set(packets[number % PACKETS], stream=copies)

    def brought(number):
        if variant == "fix":
            main.wait_event(copies.record())
            send_ahead(number + 1)
            return places[number % 2]
        places[0].set(packets[number % PACKETS], stream=main)  # cause: copy
        return places[0]

    def sharpness(packet, flows):
        """How much the pixels in the rows of each flow's picture differ."""
        if kept is None:
            pictures = cupy.zeros((FLOWS, HEIGHT, WIDTH), dtype=cupy.int32)
        else:
            pictures = kept
            pictures.fill(0)
        add((EVENTS // THREADS,), (THREADS,), (packet, flows, pictures))
        return pictures.astype(cupy.float32).var(axis=2).mean(axis=1)

    def note(sharp):
        """The sharpest flow, and how sharp it is."""
        usual[0] += 0.05 * (sharp - usual[0])
        usual[1] += 0.05 * (float(flow[0]) - usual[1])
        usual[2] += 0.05 * (float(flow[1]) - usual[2])

    if variant == "fix":
        send_ahead(0)

    def step():
        packet = brought(turn[0])  # cause: copy
        reach = numpy.float32(2.0 if turn[0] % 2 else 0.5)
        turn[0] += 1
        flows = flow + reach * around
        sharp = sharpness(packet, cupy.asarray(flows)).get()
        best = int(sharp.argmax())
        flow[:] = flows[best]
        note(float(sharp[best]))

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
