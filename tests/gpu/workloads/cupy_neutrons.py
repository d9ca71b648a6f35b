# SPDX-License-Identifier: Apache-2.0
"""CuPy: whether a ball of uranium keeps its chain reaction up is told by four million neutrons, from one generation to the
next: each one flies straight on for a while, and is scattered, swallowed, or splits a nucleus, from which new ones start.

Wrong: behind each flight the host asks how many neutrons still fly, and has nothing launched until it knows.
fix: it asks behind every eighth flight; neutrons that fly no more do nothing (sync-bound).
useless: the answer comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

NEUTRONS, THREADS, MOST, ASK_EVERY = 1 << 22, 256, 120, 8
RADIUS, MEAN_FREE, SWALLOWED, SPLIT, TWO = 8.7, 3.1, 0.06, 0.21, 0.42  # cm, cm, and chances; TWO: not three but two are born
HOLD = 0.05

KERNELS = """
__device__ float chance(unsigned int* luck) {
    // Between 0 and 1, and neither of them.
    *luck = *luck * 747796405u + 2891336453u;
    unsigned int word = ((*luck >> ((*luck >> 28) + 4u)) ^ *luck) * 277803737u;
    word = (word >> 22) ^ word;
    return ((word >> 8) + 0.5f) * 5.9604645e-8f;
}

__device__ void turn(float* way, int i, unsigned int* luck) {
    const float z = 2.0f * chance(luck) - 1.0f, angle = 6.2831853f * chance(luck), flat = sqrtf(fmaxf(0.0f, 1.0f - z * z));
    way[i] = flat * cosf(angle);
    way[i + %(NEUTRONS)d] = flat * sinf(angle);
    way[i + 2 * %(NEUTRONS)d] = z;
}

extern "C" __global__ void begin(const float* sites, const long long* which, float* place, float* way, unsigned int* lucks,
                                 signed char* flies, signed char* born) {
    // Each neutron starts where a nucleus was split.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const long long site = which[i];
    for (int axis = 0; axis < 3; axis++) {
        place[i + axis * %(NEUTRONS)d] = sites[site + axis * %(NEUTRONS)d];
    }
    unsigned int luck = lucks[i];
    turn(way, i, &luck);
    lucks[i] = luck;
    flies[i] = 1;
    born[i] = 0;
}

extern "C" __global__ void fly(float* place, float* way, unsigned int* lucks, signed char* flies, signed char* born) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!flies[i]) {
        return;
    }
    unsigned int luck = lucks[i];
    const float far = -%(MEAN_FREE)ff * logf(chance(&luck));
    float square = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        const float at = place[i + axis * %(NEUTRONS)d] + far * way[i + axis * %(NEUTRONS)d];
        place[i + axis * %(NEUTRONS)d] = at;
        square += at * at;
    }
    const float what = chance(&luck);
    if (square > %(RADIUS)ff * %(RADIUS)ff || what < %(SWALLOWED)ff) {
        flies[i] = 0;
    } else if (what < %(SWALLOWED)ff + %(SPLIT)ff) {
        flies[i] = 0;
        born[i] = chance(&luck) < %(TWO)ff ? 2 : 3;
    } else {
        turn(way, i, &luck);
    }
    lucks[i] = luck;
}
"""
NUMBERS = {"NEUTRONS": NEUTRONS, "RADIUS": RADIUS, "MEAN_FREE": MEAN_FREE, "SWALLOWED": SWALLOWED, "SPLIT": SPLIT, "TWO": TWO}


def make(variant):
    module = cupy.RawModule(code=KERNELS % NUMBERS)
    begin, fly = module.get_function("begin"), module.get_function("fly")
    grid, block = (NEUTRONS // THREADS,), (THREADS,)
    random = numpy.random.default_rng(20)
    lucks = cupy.asarray(random.integers(0, 1 << 32, NEUTRONS, dtype=numpy.uint32))
    start = random.standard_normal((3, NEUTRONS), dtype=numpy.float32)
    places = [cupy.asarray(start), cupy.empty((3, NEUTRONS), dtype=cupy.float32)]  # of the last generation, and of this one
    way = cupy.empty((3, NEUTRONS), dtype=cupy.float32)
    flies, born = cupy.ones(NEUTRONS, dtype=cupy.int8), cupy.ones(NEUTRONS, dtype=cupy.int8)
    numbers = cupy.arange(NEUTRONS, dtype=cupy.int64)
    landing = cupyx.empty_pinned(1, dtype=numpy.int64) if variant == "useless" else None
    mean = [1.0]

    def parents():
        """For each neutron of a generation, the one of the last generation that split the nucleus."""
        until = cupy.cumsum(born, dtype=cupy.int64)
        return cupy.searchsorted(until, numbers * until[-1] // NEUTRONS, side="right")

    def flying():
        count = cupy.count_nonzero(flies)
        if variant == "useless":
            count.reshape(1).get(out=landing)
            return int(landing[0])
        return int(count)  # cause: wait,copy

    def fly_all():
        """Flights until no neutron flies any more."""
        for number in range(1, MOST + 1):
            fly(grid, block, (places[1], way, lucks, flies, born))
            if variant == "fix" and number % ASK_EVERY:
                continue
            if not flying():  # cause: wait,copy
                break

    def step():
        begin(grid, block, (places[0], parents(), places[1], way, lucks, flies, born))
        fly_all()  # cause: wait,copy
        places.reverse()
        more = int(born.sum(dtype=cupy.int64)) / NEUTRONS
        mean[0] += HOLD * (more - mean[0])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(mean))


run.main(make)
