# SPDX-License-Identifier: Apache-2.0
"""CuPy: a magnet (Ising) at 24 temperatures at once; each is swept over on its own, and then neighbours may exchange their
temperatures, by how much energy they have (parallel tempering).

Wrong: the energy of each magnet is read by float() behind its sweep, and the GPU has nothing until the next one's is launched.
fix: the energies stay on the device, and are read at once behind the last sweep, before the exchange (sync-bound).
fix2: what is launched for a magnet is one CUDA graph; its energy is still waited for (launch-bound).
useless: the random numbers for the exchanges are drawn before the loop.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=900, warm_up=20)
cupy, numpy = fixable.load_cupy("numpy")

MAGNETS, SIZE, ROWS, THREADS, DRAWN = 24, 4096, 32, 256, 512
HOTTEST, APART = 0.435, 0.0002  # around the temperature where order begins

KERNELS = """
#define SIZE %(SIZE)d
#define ROWS %(ROWS)d

__device__ unsigned int mixed(unsigned int h) {
    h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
    return h;
}

extern "C" __global__ void sweep(signed char* spins, const float* beta, const unsigned int* clock, int magnet, int color) {
    // Half of the spins, as on a board of chess; none of them is a neighbour of another one.
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, y = i / (SIZE / 2);
    const unsigned int x = i %% (SIZE / 2) * 2 + ((y + color) & 1);
    const unsigned int up = (y + SIZE - 1) %% SIZE, down = (y + 1) %% SIZE;
    const unsigned int left = (x + SIZE - 1) %% SIZE, right = (x + 1) %% SIZE;
    const int spin = spins[y * SIZE + x];
    const int around = spins[up * SIZE + x] + spins[down * SIZE + x] + spins[y * SIZE + left] + spins[y * SIZE + right];
    const unsigned int luck = mixed(mixed(clock[0] * 64u + magnet * 2u + color) + mixed(i));
    if (luck * 2.3283064e-10f < __expf(-2.0f * beta[magnet] * spin * around)) {
        spins[y * SIZE + x] = -spin;
    }
}

extern "C" __global__ void measure(const signed char* spins, int* energy, int magnet) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, x = i %% SIZE, first = i / SIZE * ROWS;
    int sum = 0;
    for (unsigned int y = first; y < first + ROWS; y++) {
        sum -= spins[y * SIZE + x] * (spins[y * SIZE + (x + 1) %% SIZE] + spins[(y + 1) %% SIZE * SIZE + x]);
    }
    for (int n = 16; n; n /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, n);
    }
    if (threadIdx.x %% 32 == 0) {
        atomicAdd(energy + magnet, sum);
    }
}
""" % globals()


def make(variant):
    random = numpy.random.default_rng(20)
    module = cupy.RawModule(code=KERNELS)
    sweep, measure = module.get_function("sweep"), module.get_function("measure")
    spins = cupy.ones((MAGNETS, SIZE, SIZE), dtype=cupy.int8)
    betas = [HOTTEST + APART * k for k in range(MAGNETS)]
    beta, clock = cupy.asarray(betas, dtype=cupy.float32), cupy.zeros(1, dtype=cupy.uint32)
    energy, energies = cupy.zeros(MAGNETS, dtype=cupy.int32), [0.0] * MAGNETS
    numbers = [numpy.int32(k) for k in range(MAGNETS)]
    luck, turn = random.random((DRAWN, MAGNETS)).tolist() if variant == "useless" else None, [0]
    at = list(range(MAGNETS))  # the magnet that has the hottest temperature, the next one, ...

    def advance(k):
        for color in numbers[:2]:
            sweep((SIZE * SIZE // 2 // THREADS,), (THREADS,), (spins[k], beta, clock, numbers[k], color))
        measure((SIZE * SIZE // ROWS // THREADS,), (THREADS,), (spins[k], energy, numbers[k]))

    def exchange():
        chances = luck[turn[0] % DRAWN] if luck else random.random(MAGNETS).tolist()
        for k in range(turn[0] % 2, MAGNETS - 1, 2):
            one, other = at[k], at[k + 1]
            if chances[k] < math.exp(min(0.0, (betas[one] - betas[other]) * (energies[one] - energies[other]))):
                betas[one], betas[other] = betas[other], betas[one]
                at[k], at[k + 1] = other, one
        beta.set(numpy.array(betas, dtype=numpy.float32))

    def step(go_on=advance):
        clock.__iadd__(1)
        energy.fill(0)
        for k in range(MAGNETS):
            go_on(k)
            if variant != "fix":
                energies[k] = float(energy[k])  # cause: wait,copy
        if variant == "fix":
            energies[:] = energy.get().tolist()
        exchange()
        turn[0] += 1

    def values():
        return [energies[k] / (SIZE * SIZE) for k in at]

    wait = cupy.cuda.runtime.deviceSynchronize
    if variant == "fix2":
        stream, graphs = cupy.cuda.Stream(non_blocking=True), []
        advance(0)  # the kernels are there before the capture
        spins.fill(1)
        wait()
        with stream:
            for k in range(MAGNETS):
                stream.begin_capture()
                advance(k)
                graphs.append(stream.end_capture())

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda k: graphs[k].launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
