# SPDX-License-Identifier: Apache-2.0
"""CuPy: how the air goes around a model of a car in a wind tunnel is seen by fine drops in it, which a laser lights twice: what
each small window of the first picture shows is looked for in the second one by a Fourier transform, and the peak tells how far
the drops have gone (particle image velocimetry). The pictures come in bursts of four pairs, from pinned memory of the host.

Wrong: a burst is copied on the stream of the kernels: they wait for it, and the next burst's copy waits for them.
fix: the next burst is copied on a stream of its own, to a second place, while the kernels are at work on this one (copy-bound).
fix2: the pictures are kept as the 8 bits that the camera gives, not as the 16 bits that its library makes of them (copy-bound).
useless: the mean flow is read once for 200 bursts, not for 20.
"""
import fixable

LOOK_EVERY, LOOK_SELDOM = 20, 200

run = fixable.Program(__doc__, steps=1000, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

ROWS, COLUMNS, SIDE, PAIRS, SETS, DROPS, BRIGHT, KEEP, THREADS = 2048, 2560, 32, 4, 3, 64000, 150.0, 0.05, 256
DOWN, ALONG = ROWS // SIDE, COLUMNS // SIDE
WINDOWS = PAIRS * DOWN * ALONG

KERNEL = """
__device__ float beside(float before, float here, float after) {
    // Where the top of a parabola through three points lies.
    return 0.5f * (before - after) / fminf(before - 2.0f * here + after, -1e-6f);
}

extern "C" __global__ void peaks(const float* maps, const long long* places, float* flow) {
    // Each thread has a window's map, and the place of its highest point; beyond the middle begin the ways back.
    const int window = blockIdx.x * blockDim.x + threadIdx.x;
    const float* map = maps + window * %(SIDE)d * %(SIDE)d;
    const int y = (int)(places[window] / %(SIDE)d), x = (int)(places[window] %% %(SIDE)d);
    const int above = (y + %(SIDE)d - 1) %% %(SIDE)d, below = (y + 1) %% %(SIDE)d;
    const int left = (x + %(SIDE)d - 1) %% %(SIDE)d, right = (x + 1) %% %(SIDE)d;
    const float here = map[y * %(SIDE)d + x];
    flow[window] = (y < %(SIDE)d / 2 ? y : y - %(SIDE)d)
        + beside(map[above * %(SIDE)d + x], here, map[below * %(SIDE)d + x]);
    flow[%(WINDOWS)d + window] = (x < %(SIDE)d / 2 ? x : x - %(SIDE)d)
        + beside(map[y * %(SIDE)d + left], here, map[y * %(SIDE)d + right]);
}
""" % globals()


def lit(random, drops):
    """A picture of drops, each of which is a spot of some pixels, with the camera's noise; 8 bits a pixel."""
    spot = numpy.arange(-1, 2)
    whole = numpy.rint(drops).astype(numpy.int64)
    y, x = (whole[0] + spot[:, None])[:, None, :], (whole[1] + spot[:, None])[None, :, :]
    light = BRIGHT * numpy.exp(-(y - drops[0]) ** 2 - (x - drops[1]) ** 2)
    picture = numpy.bincount((y * COLUMNS + x).ravel(), light.ravel(), minlength=ROWS * COLUMNS)
    picture += random.integers(0, 30, ROWS * COLUMNS, dtype=numpy.uint8)
    return numpy.minimum(picture, 255.0).astype(numpy.uint8).reshape(ROWS, COLUMNS)


def recorded(kind):
    """Bursts of pairs in pinned memory, (2, PAIRS, ROWS, COLUMNS): the air goes along, and in whirls behind the car."""
    random = numpy.random.default_rng(20)
    size = numpy.array([[ROWS], [COLUMNS]], dtype=numpy.float64)
    for _ in range(SETS):
        burst = cupyx.empty_pinned((2, PAIRS, ROWS, COLUMNS), dtype=kind)
        for pair in range(PAIRS):
            drops = 12.0 + (size - 24.0) * random.random((2, DROPS))
            angle = 2.0 * numpy.pi * drops / size + 0.3 * random.random()
            gone = numpy.stack((3.0 * numpy.sin(2.0 * angle[1]) * numpy.sin(angle[0]), 4.0 + 2.0 * numpy.cos(angle[0])))
            burst[0, pair], burst[1, pair] = lit(random, drops), lit(random, drops + gone)
        yield burst


def make(variant):
    kind = numpy.uint8 if variant == "fix2" else numpy.uint16
    bursts, peaks = list(recorded(kind)), cupy.RawKernel(KERNEL, "peaks")
    places = [cupy.empty((2, PAIRS, ROWS, COLUMNS), dtype=kind) for _ in range(2 if variant == "fix" else 1)]
    main, beside = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    came, used = [[cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
    usual, turn, told = cupy.zeros((2, DOWN, ALONG), dtype=cupy.float32), [0], [0.0, 0.0]
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY

    def send_ahead(number):
        """A burst is on its way to its place as soon as the kernels need no more what is there."""
        beside.wait_event(used[number % 2])
        places[number % 2].set(bursts[number % SETS], stream=beside)
        came[number % 2].record(beside)

    def brought(number):
        if variant == "fix":
            send_ahead(number + 1)
            main.wait_event(came[number % 2])
            return places[number % 2]
        places[0].set(bursts[number % SETS], stream=main)  # cause: copy
        return places[0]

    def flow_of(burst):
        """How many pixels the drops of each window have gone down and along: (2, PAIRS, DOWN, ALONG)."""
        parts = burst.reshape(2, PAIRS, DOWN, SIDE, ALONG, SIDE).transpose(0, 1, 2, 4, 3, 5)
        parts = parts.astype(cupy.float32, order="C").reshape(2, WINDOWS, SIDE, SIDE)
        parts -= parts.mean(axis=(2, 3), keepdims=True)
        spectra = cupy.fft.rfft2(parts)
        maps = cupy.fft.irfft2(spectra[0].conj() * spectra[1], s=(SIDE, SIDE)).reshape(WINDOWS, SIDE * SIDE)
        flow = cupy.empty((2, WINDOWS), dtype=cupy.float32)
        peaks((WINDOWS // THREADS,), (THREADS,), (maps, maps.argmax(axis=1), flow))
        return flow.reshape(2, PAIRS, DOWN, ALONG)

    def step():
        number = turn[0]
        turn[0] += 1
        flow = flow_of(brought(number))  # cause: copy
        if variant == "fix":
            used[number % 2].record(main)
        cupy.add(usual, KEEP * (flow.mean(axis=1) - usual), out=usual)
        if turn[0] % look_every == 0:
            told[:] = cupy.abs(usual).mean(axis=(1, 2)).tolist()

    cupy.cuda.runtime.deviceSynchronize()
    if variant == "fix":
        send_ahead(0)
    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(told))


run.main(make)
