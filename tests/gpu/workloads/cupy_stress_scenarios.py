# SPDX-License-Identifier: Apache-2.0
"""CuPy: what a portfolio of options may lose is looked for in scenarios of the market, which a model of the bank has made and
which lie on the host in pieces; each option is valued anew in each scenario (Black and Scholes), and the worst loss is noted.

Wrong: the pieces lie in pinned memory, but each one is copied on the stream of the kernels, which wait for it and then let the
next copy wait.
fix: the next piece is copied on a stream of its own while the kernels are at work on this one (copy-bound).
fix2: the scenarios are kept in half precision, and become float32 in the kernel (copy-bound).
fix3: the worst losses stay on the device, and are read every 20 pieces (sync-bound).
useless: the worst loss comes to pinned memory.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=4000, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SCENARIOS, FACTORS, OPTIONS, GROUPS, THREADS, SETS = 65536, 96, 1152, 8, 256, 6

KERNELS = """
__device__ float of(float x) { return x; }

__device__ float of(unsigned short x) {
    // From half precision.
    float y;
    asm("cvt.f32.f16 %%0, %%1;" : "=f"(y) : "h"(x));
    return y;
}

__device__ float below(float x) {
    // The normal distribution, by Abramowitz and Stegun 26.2.17.
    const float t = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    const float tail = 0.39894228f * __expf(-0.5f * x * x) * t
        * (0.31938153f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
    return x > 0.0f ? 1.0f - tail : tail;
}

template <typename T> __device__ void valued(const T* shocks, const float* options, const int* factors, float* parts) {
    // A thread has a scenario, and values a group of the options in it.
    const int scenario = blockIdx.x * blockDim.x + threadIdx.x, each = %(OPTIONS)d / %(GROUPS)d;
    float sum = 0.0f;
    for (int k = blockIdx.y * each; k < (blockIdx.y + 1) * each; k++) {
        const float4 option = reinterpret_cast<const float4*>(options)[k];  // log of price / strike, deviation, count, value
        const float moved = of(shocks[factors[k] * %(SCENARIOS)d + scenario]);
        const float d1 = (option.x + moved) / option.y + 0.5f * option.y;
        sum += option.z * (__expf(option.x + moved) * below(d1) - below(d1 - option.y) - option.w);
    }
    parts[blockIdx.y * %(SCENARIOS)d + scenario] = sum;
}

extern "C" __global__ void value(const float* shocks, const float* options, const int* factors, float* parts) {
    valued(shocks, options, factors, parts);
}

extern "C" __global__ void value_half(const unsigned short* shocks, const float* options, const int* factors, float* parts) {
    valued(shocks, options, factors, parts);
}

extern "C" __global__ void total(const float* parts, float* gains) {
    const int scenario = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int group = 0; group < %(GROUPS)d; group++) {
        sum += parts[group * %(SCENARIOS)d + scenario];
    }
    gains[scenario] = sum;
}
""" % globals()


def pieces(random, kind):
    """What the factors of the market do in the scenarios: they move together, and each one for itself."""
    for _ in range(SETS):
        piece = cupyx.empty_pinned((FACTORS, SCENARIOS), dtype=kind)
        own = random.standard_normal((FACTORS, SCENARIOS), dtype=numpy.float32)
        piece[:] = 0.03 * own + 0.03 * random.standard_normal(SCENARIOS, dtype=numpy.float32)
        yield piece


def portfolio(random):
    apart = random.uniform(-0.2, 0.2, OPTIONS)
    deviation = random.uniform(0.1, 0.4, OPTIONS)
    count = random.uniform(-1.0, 2.0, OPTIONS)
    d1 = apart / deviation + 0.5 * deviation
    normal = numpy.vectorize(lambda x: 0.5 * (1.0 + math.erf(x / 2.0 ** 0.5)))
    worth = numpy.exp(apart) * normal(d1) - normal(d1 - deviation)
    return numpy.stack((apart, deviation, count, worth), axis=1).astype(numpy.float32), random.integers(0, FACTORS, OPTIONS)


def make(variant):
    random = numpy.random.default_rng(20)
    kind = numpy.float16 if variant == "fix2" else numpy.float32
    on_host = list(pieces(random, kind))
    module = cupy.RawModule(code=KERNELS, options=("--use_fast_math",))
    value = module.get_function("value_half" if variant == "fix2" else "value")
    total = module.get_function("total")
    options, factors = portfolio(random)
    options, factors = cupy.asarray(options), cupy.asarray(factors, dtype=cupy.int32)
    places = [cupy.empty((FACTORS, SCENARIOS), dtype=kind) for _ in range(2 if variant == "fix" else 1)]
    parts, gains = cupy.empty((GROUPS, SCENARIOS), dtype=cupy.float32), cupy.empty(SCENARIOS, dtype=cupy.float32)
    main, beside = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    copied, used = [[cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
    landing = cupyx.empty_pinned(1, dtype=numpy.float32) if variant == "useless" else None
    turn, worst, usual, pending = [0], [0.0], [0.0], []

    def ahead(number):
        """A piece is on its way to its place as soon as the kernels need no more what is there."""
        beside.wait_event(used[number % 2])
        places[number % 2].set(on_host[number % SETS], stream=beside)
        copied[number % 2].record(beside)

    def there(number):
        if variant == "fix":
            ahead(number + 1)
            main.wait_event(copied[number % 2])
            return places[number % 2]
        places[0].set(on_host[number % SETS], stream=main)  # cause: copy
        return places[0]

    def note(loss):
        worst[0] = max(worst[0], loss)
        usual[0] += 0.02 * (loss - usual[0])

    def price():
        shocks = there(turn[0])  # cause: copy
        value((SCENARIOS // THREADS, GROUPS), (THREADS,), (shocks, options, factors, parts))
        total((SCENARIOS // THREADS,), (THREADS,), (parts, gains))
        if variant == "fix":
            used[turn[0] % 2].record(main)
        turn[0] += 1
        loss = gains.min(keepdims=True)
        if variant == "fix3":
            pending.append(loss)
            if turn[0] % LOOK_EVERY == 0:
                for number in cupy.concatenate(pending).tolist():
                    note(-number)
                pending.clear()
        elif variant == "useless":
            loss.get(stream=main, out=landing, blocking=False)
            main.synchronize()
            note(-float(landing[0]))
        else:
            note(-loss.item())

    def loop(steps):
        with main:
            for _ in range(steps):
                price()  # cause: copy

    cupy.cuda.runtime.deviceSynchronize()
    if variant == "fix":
        ahead(0)
    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: [worst[0], usual[0]])


run.main(make)
