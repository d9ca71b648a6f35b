# SPDX-License-Identifier: Apache-2.0
"""CuPy: the shape of a stadium's roof is found, a net of 1280 by 1280 cables between a rim that goes up and down, in wind from
ever other sides: the net swings freely, and whenever its energy of motion has passed a peak, all of it is stopped (dynamic
relaxation with kinetic damping).

Wrong: the host reads the energy after each iteration, decides whether the net shall be stopped, and launches the next one then.
fix: a kernel decides, and the next iteration reads from the device's memory what it has decided (sync-bound).
useless: the energy comes to pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=900, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIDE, ACROSS, DOWN, ITERATIONS, SUMMING, WINDS = 1280, 32, 8, 50, 1024, 48
TIGHT, STIFF, RIM, BLOWS = 0.1, 0.2, 20.0, 1.0e-5  # forces of a cable as it is built and per strain, height, and force
BLOCKS, KEEP = (SIDE // ACROSS) * (SIDE // DOWN), 0.05

KERNELS = "".join("#define %s %r%s\n" % (name, value, "f" if isinstance(value, float) else "")
                  for name, value in list(globals().items()) if name.isupper()) + """
#define NODES (SIDE * SIDE)

__device__ void pull(const float* moved, int other, float far_x, float far_y, const float* own, float* force) {
    // What the cable to another node does.
    const float x = far_x + moved[other] - own[0], y = far_y + moved[other + NODES] - own[1];
    const float z = moved[other + 2 * NODES] - own[2], length = sqrtf(x * x + y * y + z * z);
    const float by = (TIGHT + STIFF * (length - 1.0f)) / length;
    force[0] += by * x;
    force[1] += by * y;
    force[2] += by * z;
}

extern "C" __global__ void swing(const float* moved, float* then, float* speed, const float* wind, const float* verdict,
                                 float* parts) {
    // verdict[1] is 0 where the net shall be stopped, and 1 otherwise.
    __shared__ float sums[DOWN];
    const int x = blockIdx.x * ACROSS + threadIdx.x, y = blockIdx.y * DOWN + threadIdx.y, i = y * SIDE + x;
    const float own[3] = {moved[i], moved[i + NODES], moved[i + 2 * NODES]};
    float energy = 0.0f, force[3] = {wind[0] * (x * (1.0f / SIDE)), wind[1] * (y * (1.0f / SIDE)), wind[2]};
    const bool held = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1;
    if (!held) {
        pull(moved, i - 1, -1.0f, 0.0f, own, force);
        pull(moved, i + 1, 1.0f, 0.0f, own, force);
        pull(moved, i - SIDE, 0.0f, -1.0f, own, force);
        pull(moved, i + SIDE, 0.0f, 1.0f, own, force);
    }
    for (int axis = 0; axis < 3; axis++) {
        const float fast = held ? 0.0f : speed[i + axis * NODES] * verdict[1] + force[axis];
        speed[i + axis * NODES] = fast;
        then[i + axis * NODES] = own[axis] + fast;
        energy += fast * fast;
    }
    for (int n = 16; n; n /= 2) energy += __shfl_down_sync(0xffffffffu, energy, n);
    if (threadIdx.x == 0) sums[threadIdx.y] = energy;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        for (int n = 1; n < DOWN; n++) energy += sums[n];
        parts[blockIdx.y * gridDim.x + blockIdx.x] = energy;
    }
}

extern "C" __global__ void judge(const float* parts, float* verdict, int decides) {
    // Adds the parts up, in one block; verdict: the energy, whether the net goes on, and the energy of the iteration before.
    __shared__ float sums[SUMMING];
    float energy = 0.0f;
    for (int n = threadIdx.x; n < BLOCKS; n += SUMMING) energy += parts[n];
    sums[threadIdx.x] = energy;
    for (int n = SUMMING / 2; n; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) sums[threadIdx.x] += sums[threadIdx.x + n];
    }
    if (threadIdx.x == 0) {
        const bool goes_on = sums[0] >= verdict[2];
        verdict[0] = sums[0];
        if (decides) {
            verdict[1] = goes_on ? 1.0f : 0.0f;
            verdict[2] = goes_on ? sums[0] : 0.0f;
        }
    }
}
"""


def make(variant):
    random, along = numpy.random.default_rng(20), numpy.linspace(-1.0, 1.0, SIDE, dtype=numpy.float32)
    module = cupy.RawModule(code=KERNELS)
    swing, judge = module.get_function("swing"), module.get_function("judge")
    saddle = numpy.zeros((3, SIDE, SIDE), dtype=numpy.float32)
    saddle[2] = RIM * (along ** 2 - along[:, None] ** 2)
    nets, speed = [cupy.asarray(saddle), cupy.asarray(saddle)], cupy.zeros((3, SIDE, SIDE), dtype=cupy.float32)
    winds = cupy.asarray(BLOWS * random.normal((0.3, 0.0, -0.6), (0.3, 0.3, 0.8), (WINDS, 3)), dtype=cupy.float32)
    parts, verdict = cupy.zeros(BLOCKS, dtype=cupy.float32), cupy.asarray([0.0, 1.0, 0.0], dtype=cupy.float32)
    landing = cupyx.empty_pinned(1, dtype=numpy.float32) if variant == "useless" else None
    decides, turn, before, usual = numpy.int32(variant == "fix"), [0], [0.0], [RIM, RIM / 3.0]

    def energy_of_motion():
        if variant == "useless":
            return float(verdict[:1].get(out=landing)[0])
        return float(verdict[0])  # cause: wait,copy

    def iterate(wind):
        swing((SIDE // ACROSS, SIDE // DOWN), (ACROSS, DOWN), (nets[0], nets[1], speed, wind, verdict, parts))
        judge((1,), (SUMMING,), (parts, verdict, decides))
        nets.reverse()
        if variant == "fix":
            return
        energy = energy_of_motion()  # cause: wait,copy
        if energy >= before[0]:
            before[0] = energy
        else:
            before[0] = 0.0
            speed.fill(0.0)

    def step():
        """The wind is another one after each 50 iterations."""
        wind = winds[turn[0] % WINDS]
        turn[0] += 1
        for _ in range(ITERATIONS):
            iterate(wind)  # cause: wait,copy
        if turn[0] % LOOK_EVERY == 0:
            height = cupy.abs(nets[0][2])
            usual[0] += KEEP * (float(height.max()) - usual[0])
            usual[1] += KEEP * (float(height.mean()) - usual[1])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
