# SPDX-License-Identifier: Apache-2.0
"""CuPy: a refinery boils sugar in 64 vacuum pans. Steam heats a pan, water leaves it, a valve lets syrup in; crystals, which are
counted by 384 sizes, grow by how much more sugar the syrup holds than it can; what has gone into crystals is weighed, and is
lost to the syrup. A step is a strike of 40 ticks with one of eight syrups; the weight of crystals at its end is kept.

Wrong: a tick is nine small kernels, each launched by itself, and the GPU is done with one before the next one comes.
fix: the 40 ticks are one CUDA graph (launch-bound).
useless: the weights, which are read once in 50 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=16)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PANS, SIZES, TICKS, SYRUPS, THREADS, READ = 64, 384, 40, 8, 128, 50  # TICKS is even

warm = cupy.ElementwiseKernel("float32 steam", "float32 heat", "heat += 0.05f * (steam - heat)", "warm")
boil = cupy.ElementwiseKernel("float32 heat", "float32 water", "water *= 1.0f - 0.0003f * (heat - 60.0f)", "boil")
feed = cupy.ElementwiseKernel(
    "float32 level, float32 rich", "float32 water, float32 sugar",
    """
    const float valve = fminf(fmaxf(4.0f * (level - water), 0.0f), 0.05f);
    water += valve * (1.0f - rich);
    sugar += valve * rich;
    """, "feed")
judge = cupy.ElementwiseKernel(
    "float32 sugar, float32 water, float32 heat", "float32 over",
    "over = sugar / (water * (1.2f + 0.0286f * heat)) - 1.0f", "judge")
grow = cupy.ElementwiseKernel(
    "float32 over", "float32 speed", "speed = fminf(15.0f * powf(fmaxf(over, 0.0f), 1.3f), 0.9f)", "grow")
carry = cupy.ElementwiseKernel(
    "raw float32 before, raw float32 speed", "float32 after",
    """
    const float smaller = i %% %d > 0 ? before[i - 1] : 0.0f;
    after = before[i] + speed[i / %d] * (smaller - before[i]);
    """ % (SIZES, SIZES), "carry")
born = cupy.ElementwiseKernel(
    "float32 over", "float32 smallest", "smallest += 2.0f * fmaxf(over, 0.0f) * fmaxf(over, 0.0f)", "born")
spend = cupy.ElementwiseKernel(
    "float32 weight", "float32 sugar, float32 last", "sugar -= weight - last; last = weight", "spend")
weigh = cupy.RawKernel(r"""
extern "C" __global__ void weigh(const float* crystals, float* weight) {
    __shared__ float sums[%d];
    const int own = threadIdx.x, pan = blockIdx.x;
    float sum = 0.0f;
    for (int size = own; size < %d; size += %d) {
        const float wide = 0.01f * (size + 0.5f);
        sum += crystals[pan * %d + size] * wide * wide * wide;
    }
    sums[own] = sum;
    __syncthreads();
    for (int half = %d; half > 0; half /= 2) {
        if (own < half) sums[own] += sums[own + half];
        __syncthreads();
    }
    if (own == 0) weight[pan] = sums[0];
}
""" % (THREADS, SIZES, THREADS, SIZES, THREADS // 2), "weigh")

stream = cupy.cuda.Stream(non_blocking=True)
stream.use()


def make(variant):
    luck = numpy.random.default_rng(20)

    def drawn(low, high, *shape):
        return cupy.asarray(luck.uniform(low, high, shape).astype(numpy.float32))

    steam, level, rich = drawn(72.0, 80.0, PANS), drawn(0.9, 1.1, PANS), drawn(0.74, 0.78, PANS)
    sugars = drawn(3.4, 3.8, SYRUPS, PANS)
    seeds = numpy.exp(-0.5 * ((numpy.arange(SIZES) - 40.0) / 8.0) ** 2)
    seeds = cupy.asarray((luck.uniform(0.2, 0.4, (PANS, 1)) * seeds).astype(numpy.float32))
    heat, water, sugar, over, speed, weight, last = (cupy.zeros(PANS, dtype=cupy.float32) for _ in range(7))
    crystals = [cupy.zeros((PANS, SIZES), dtype=cupy.float32) for _ in range(2)]
    kept = cupy.zeros((SYRUPS, PANS), dtype=cupy.float32)
    told = (cupyx.empty_pinned if variant == "useless" else numpy.empty)((SYRUPS, PANS), dtype=numpy.float32)
    turn = [0]

    def tick(before, after):
        """The kernels of a tick."""
        warm(steam, heat)  # cause: launch
        boil(heat, water)  # cause: launch
        feed(level, rich, water, sugar)  # cause: launch
        judge(sugar, water, heat, over)  # cause: launch
        grow(over, speed)  # cause: launch
        carry(before, speed, after)  # cause: launch
        born(over, after[:, 0])  # cause: launch
        weigh((PANS,), (THREADS,), (after, weight))  # cause: launch
        spend(weight, sugar, last)  # cause: launch

    def strike():
        for number in range(TICKS):
            tick(crystals[number % 2], crystals[(number + 1) % 2])  # cause: launch

    def start(number):
        """Fills the pans."""
        heat.fill(70.0)
        water.fill(1.0)
        cupy.copyto(sugar, sugars[number])
        cupy.copyto(crystals[0], seeds)
        weigh((PANS,), (THREADS,), (seeds, last))

    if variant == "fix":
        start(0)
        strike()  # the kernels are compiled before they are captured
        stream.synchronize()
        stream.begin_capture()
        strike()
        graph = stream.end_capture()

    def step():
        number = turn[0] % SYRUPS
        start(number)
        if variant == "fix":
            graph.launch(stream)
        else:
            strike()  # cause: launch
        cupy.copyto(kept[number], weight)
        turn[0] += 1
        if turn[0] % READ == 0:
            kept.get(out=told)

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: kept.get().reshape(-1).tolist())


run.main(make)
