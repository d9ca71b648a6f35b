# SPDX-License-Identifier: Apache-2.0
"""CuPy: wind blows over a desert of 4096 by 4096 places. In a step it lifts sand, more in gusts, and lets it fall some places
further on; then sand slides down where a slope is steeper than sand can lie. 24 times it slides at most, the faster the steeper the
steepest slope was the last time; the desert is calm where no slope is too steep, which this wind never lets happen.

Wrong: the steepest slope is read each time the sand has slid, to see if all is calm; the GPU rests until the host launches more.
fix: the sand slides 24 times, and nothing is read between them (sync-bound).
useless: the array of the steepest slopes is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=12)
cupy, numpy = fixable.load_cupy("numpy")

SIDE, TIMES, HOP, READ = 4096, 24, 7, 20
REPOSE, CALM, LIFT, THREADS = 0.6, 0.601, 1.2, 256  # slopes that hold, and that end the sliding; what a gust lifts

SOURCE = r"""
extern "C" __global__ void blow(const float* sand, const float* gusts, int shift, float lift, int hop, int side, float* blown) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    int from = (x - hop + side) % side, moved = (y + shift) % side;
    float lifted = fminf(lift * gusts[moved * side + x], 0.5f * fmaxf(sand[y * side + x], 0.0f));
    float fallen = fminf(lift * gusts[moved * side + from], 0.5f * fmaxf(sand[y * side + from], 0.0f));
    blown[y * side + x] = sand[y * side + x] - lifted + fallen;
}

extern "C" __global__ void slide(const float* sand, const int* last, int* top, float repose, int side, float* slid) {
    __shared__ int most;
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    int left = x > 0 ? x - 1 : side - 1, right = x + 1 < side ? x + 1 : 0;
    int above = y > 0 ? y - 1 : side - 1, below = y + 1 < side ? y + 1 : 0;
    int near[4] = {y * side + left, y * side + right, above * side + x, below * side + x};
    float here = sand[y * side + x], gained = 0.0f, steep = 0.0f;
    float rate = fminf(0.04f + 0.002f * __int_as_float(*last), 0.06f);
    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    #pragma unroll
    for (int way = 0; way < 4; way++) {
        float up = sand[near[way]] - here, size = fabsf(up);
        if (size > repose)
            gained += rate * (up > 0.0f ? size - repose : repose - size);
        steep = fmaxf(steep, size);
    }
    slid[y * side + x] = here + gained;
    for (int lane = 16; lane > 0; lane /= 2)
        steep = fmaxf(steep, __shfl_xor_sync(0xffffffffu, steep, lane));
    if (threadIdx.x % 32 == 0)
        atomicMax(&most, __float_as_int(steep));  // what is not below zero is in the same order as an integer
    __syncthreads();
    if (threadIdx.x == 0 && most > *top)
        atomicMax(top, most);
}
"""


def desert(chance):
    """Heights of dunes across the wind, with some ripples."""
    down = cupy.linspace(0.0, 6.2831853, SIDE, endpoint=False, dtype=cupy.float32)[:, None]
    right = cupy.linspace(0.0, 6.2831853, SIDE, endpoint=False, dtype=cupy.float32)
    dunes = 12.0 + 6.0 * cupy.sin(24.0 * right + 2.0 * cupy.sin(3.0 * down)) + 0.5 * cupy.sin(5.0 * down)
    return (dunes + 0.4 * chance.random_sample((SIDE, SIDE), dtype=cupy.float32)).astype(cupy.float32)


def make(variant):
    chance = cupy.random.RandomState(20)
    sand = [desert(chance), cupy.zeros((SIDE, SIDE), dtype=cupy.float32)]
    gusts = chance.random_sample((SIDE, SIDE), dtype=cupy.float32)
    module = cupy.RawModule(code=SOURCE)
    blow, slide = module.get_function("blow"), module.get_function("slide")
    kept = cupy.zeros(TIMES + 1, dtype=cupy.float32) if variant == "useless" else None
    wide, lift, repose, hop = numpy.int32(SIDE), numpy.float32(LIFT), numpy.float32(REPOSE), numpy.int32(HOP)
    grid, turn, notes, steepest = (SIDE // THREADS, SIDE), [0], [], [None]

    def none_yet():
        """Zeros for the steepest slope each time, behind one for the time before the first."""
        if kept is None:
            return cupy.zeros(TIMES + 1, dtype=cupy.float32)
        kept.data.memset_async(0, kept.nbytes)
        return kept

    def settle():
        """Lets the sand slide until it is calm, or 24 times."""
        tops = steepest[0] = none_yet()
        for time in range(TIMES):
            slide(grid, (THREADS,), (sand[0], tops[time:], tops[time + 1:], repose, wide, sand[1]))
            sand.reverse()
            if variant != "fix" and float(tops[time + 1]) < CALM:  # cause: wait,copy
                break

    def step():
        blow(grid, (THREADS,), (sand[0], gusts, numpy.int32(turn[0] * 13 % SIDE), lift, hop, wide, sand[1]))
        sand.reverse()
        settle()  # cause: wait,copy
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(float(sand[0].mean()))

    def values():
        """The steepest slopes of the last step, and heights along a line across the dunes."""
        return steepest[0].tolist() + sand[0][SIDE // 2, :512].tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
