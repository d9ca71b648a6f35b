# SPDX-License-Identifier: Apache-2.0
"""CuPy: the batteries of electric buses on their way: 8192 cells, in each of which lithium moves in and out of round grains
of two kinds, that have 16 shells each (single particle model); by this a cell has its voltage, and gets warm.

Wrong: a second of the way is some seventy array operations, short kernels, which Python launches slower than they run.
fix: ten seconds are one CUDA graph, captured from the same code (launch-bound).
fix2: ten seconds are one RawKernel, with a thread for each cell (launch-bound).
useless: the lowest voltage is looked at every 50 steps instead of every 5.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
cupy, numpy = fixable.load_cupy("numpy")

CELLS, SHELLS, TOGETHER, ROUTE, THREADS, TICK = 8192, 16, 10, 1200, 64, 1.0  # a route takes 1200 seconds
PACE, NEG_SPEED, POS_SPEED, NEG_RATE, POS_RATE, HEATED = 7.4e-5, 4e-4, 3e-4, 3.2, 2.4, 3500.0
USUAL, WARMS, COOLS, OHM, VOLT = 298.0, 0.11, 0.0011, 0.03, 2.0 * 8.617e-5
LAST = TICK * 3.0 / (1.0 - (1.0 - 1.0 / SHELLS) ** 3)  # by the volume of the outermost shell

KERNEL = "".join("#define %s %r%s\n" % (name, value, "f" if isinstance(value, float) else "")
                 for name, value in list(globals().items()) if name.isupper()) + """
__device__ void spread(float* shells, float speed, float flow, const float* faces, const float* inner, const float* outer) {
    float carried = 0.0f;
    for (int k = 0; k < SHELLS - 1; k++) {
        const float through = speed * (shells[k + 1] - shells[k]) * faces[k];
        shells[k] += through * inner[k] - carried;
        carried = through * outer[k];
    }
    shells[SHELLS - 1] -= carried + flow * LAST;
}

extern "C" __global__ void seconds(float* state, float* share, float* drives, float* faces, float* inner, float* outer) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    float own[2 * SHELLS + 2], *neg = own, *pos = own + SHELLS, &kelvin = own[2 * SHELLS], &lowest = own[2 * SHELLS + 1];
    for (int k = 0; k < 2 * SHELLS + 2; k++) own[k] = state[k * CELLS + cell];
    for (int second = 0; second < TOGETHER; second++) {
        const float current = drives[second] * share[cell], quick = expf(HEATED * (1.0f / USUAL - 1.0f / kelvin));
        spread(neg, NEG_SPEED * quick, PACE * current, faces, inner, outer);
        spread(pos, POS_SPEED * quick, -PACE * current, faces, inner, outer);
        const float x = fminf(fmaxf(neg[SHELLS - 1], 0.01f), 0.99f), y = fminf(fmaxf(pos[SHELLS - 1], 0.01f), 0.99f);
        const float open_neg = 0.08f + 0.6f * expf(-18.0f * x) + 0.03f * tanhf(6.0f - 12.0f * x);
        const float open_pos = 4.3f - 0.8f * y - 0.1f * tanhf(10.0f * y - 7.5f);
        const float lost = asinhf(current / (NEG_RATE * quick * sqrtf(x * (1.0f - x))))
            + asinhf(current / (POS_RATE * quick * sqrtf(y * (1.0f - y))));
        const float below = VOLT * kelvin * lost + OHM * current;
        lowest = fminf(lowest, open_pos - open_neg - below);
        kelvin += TICK * (WARMS * below * current - COOLS * (kelvin - USUAL));
    }
    for (int k = 0; k < 2 * SHELLS + 2; k++) state[k * CELLS + cell] = own[k];
}
"""


def make(variant):
    random, at = numpy.random.default_rng(20), numpy.arange(ROUTE) * (2.0 * numpy.pi / ROUTE)
    taken = numpy.sin(at) + 1.2 * numpy.sin(30.0 * at) + 0.3 * random.standard_normal(ROUTE)  # 1: all that is in it, in an hour
    taken, drives = cupy.asarray(taken - taken.mean(), dtype=cupy.float32), cupy.zeros(TOGETHER, dtype=cupy.float32)
    edges = numpy.arange(SHELLS + 1)[:, None] / SHELLS
    volumes = numpy.diff(edges ** 3, axis=0) / 3.0
    parts = SHELLS * edges[1:-1] ** 2, TICK / volumes[:-1], TICK / volumes[1:], random.uniform(0.7, 1.3, CELLS)
    faces, inner, outer, share = [cupy.asarray(part, dtype=cupy.float32) for part in parts]  # cells have not the same share
    starts = numpy.repeat([0.5, 0.55, USUAL, 9.0], [SHELLS, SHELLS, 1, 1])[:, None]
    state = cupy.asarray(numpy.tile(starts.astype(numpy.float32), (1, CELLS)))
    neg, pos, kelvin, lowest = state[:SHELLS], state[SHELLS:2 * SHELLS], state[2 * SHELLS], state[2 * SHELLS + 1]
    look_every, turn, seen = 50 if variant == "useless" else 5, [0], []

    def spread(shells, speed, flow):
        through = speed * (shells[1:] - shells[:-1]) * faces  # cause: launch
        shells[:-1] += through * inner  # cause: launch
        shells[1:] -= through * outer  # cause: launch
        shells[-1] -= flow * LAST  # cause: launch

    def second(drive):
        current = drive * share  # cause: launch
        quick = cupy.exp(HEATED * (1.0 / USUAL - 1.0 / kelvin))  # cause: launch
        spread(neg, NEG_SPEED * quick, PACE * current)  # cause: launch
        spread(pos, POS_SPEED * quick, -PACE * current)  # cause: launch
        x, y = cupy.clip(neg[-1], 0.01, 0.99), cupy.clip(pos[-1], 0.01, 0.99)  # cause: launch
        open_neg = 0.08 + 0.6 * cupy.exp(-18.0 * x) + 0.03 * cupy.tanh(6.0 - 12.0 * x)  # cause: launch
        open_pos = 4.3 - 0.8 * y - 0.1 * cupy.tanh(10.0 * y - 7.5)  # cause: launch
        lost = cupy.arcsinh(current / (NEG_RATE * quick * cupy.sqrt(x * (1.0 - x))))  # cause: launch
        lost += cupy.arcsinh(current / (POS_RATE * quick * cupy.sqrt(y * (1.0 - y))))  # cause: launch
        below = VOLT * kelvin * lost + OHM * current  # cause: launch
        cupy.minimum(lowest, open_pos - open_neg - below, out=lowest)  # cause: launch
        kelvin.__iadd__(TICK * (WARMS * below * current - COOLS * (kelvin - USUAL)))  # cause: launch

    def seconds():
        for number in range(TOGETHER):
            second(drives[number])  # cause: launch

    if variant == "fix2":
        kernel = cupy.RawKernel(KERNEL, "seconds")

        def seconds():
            kernel((CELLS // THREADS,), (THREADS,), (state, share, drives, faces, inner, outer))

    def step(go_on=seconds):
        at = turn[0] * TOGETHER % ROUTE
        drives[...] = taken[at:at + TOGETHER]
        turn[0] += 1
        go_on()  # cause: launch
        if turn[0] % look_every == 0:
            seen[:] = [float(lowest.min())]

    wait, values = cupy.cuda.runtime.deviceSynchronize, lambda: state.mean(axis=1).get().tolist() + seen
    if variant == "fix":
        stream, kept = cupy.cuda.Stream(non_blocking=True), state.copy()
        wait()
        with stream:
            for _ in range(2):  # the pool then has all memory that a capture needs
                seconds()
            stream.synchronize()
            stream.begin_capture()
            seconds()
            graph = stream.end_capture()
            state[...] = kept

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
