# SPDX-License-Identifier: Apache-2.0
"""CuPy: a drift chamber shows the tracks of particles by 1024 thin wires at high voltage in a gas. Before it is built, physicists
try voltages for the wires: the potential on 3072 by 3072 points, with the charge of slow ions, comes from successive
over-relaxation by red and black points, 64 rounds from the last potential on, and from it the pull on electrons next to
the wires.

Wrong: behind each round the host reads by how much the potential has changed, writes it down, and looks whether that is little
enough to stop (it never is within 64 rounds); the GPU has nothing to do until the next round comes.
fix: the changes stay on the device, and are read together behind the last round (sync-bound).
fix2: a round is a CUDA graph of its two kernels, behind which its change is read (launch-bound).
useless: the potential next to the wires goes to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
cupy, numpy = fixable.load_cupy("numpy")

SIZE, APART, THICK, ROUNDS, THREADS = 3072, 96, 2, 64, 256  # points; a wire has 2 points to each side of its middle
OMEGA, ENOUGH = 1.93, 1e-3  # volts
VOLTS = ((1450.0, -180.0), (1480.0, -200.0), (1500.0, -220.0), (1525.0, -200.0), (1550.0, -190.0), (1500.0, -170.0))

CODE = r"""
extern "C" __global__ void sweep(float* potential, const unsigned char* kinds, const float* charge, const float* volts,
                                 float omega, int colour, float* change) {
    __shared__ float most[8];
    int row = blockIdx.y;
    int column = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((row + colour) & 1);
    float moved = 0.0f;
    if (column < SIZE) {
        int here = row * SIZE + column;
        float old = potential[here], now;
        int kind = kinds[here];
        if (kind == 0) {
            float around = potential[here - 1] + potential[here + 1] + potential[here - SIZE] + potential[here + SIZE];
            now = old + omega * (0.25f * (around + charge[here]) - old);
        } else {
            now = kind == 1 ? volts[0] : kind == 2 ? volts[1] : 0.0f;
        }
        potential[here] = now;
        moved = fabsf(now - old);
    }
    for (int far = 16; far > 0; far >>= 1)
        moved = fmaxf(moved, __shfl_down_sync(0xffffffffu, moved, far));
    if ((threadIdx.x & 31) == 0)
        most[threadIdx.x >> 5] = moved;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; k++)
            moved = fmaxf(moved, most[k]);
        if (moved > *(volatile float*)change)
            atomicMax((int*)change, __float_as_int(moved));
    }
}
"""


def chamber():
    """What is at each point (0 gas, 1 wires that sense, 2 wires that shape the field, 3 walls), and points next to the former."""
    kinds = numpy.zeros((SIZE, SIZE), dtype=numpy.uint8)
    beside = []
    for down in range(APART // 2, SIZE, APART):
        for right in range(APART // 2, SIZE, APART):
            senses = (down // APART + right // APART) % 2 == 0
            kinds[down - THICK:down + THICK + 1, right - THICK:right + THICK + 1] = 1 if senses else 2
            if senses:
                beside.append(down * SIZE + right + THICK + 4)
    kinds[0], kinds[-1], kinds[:, 0], kinds[:, -1] = 3, 3, 3, 3
    return kinds, numpy.array(beside, dtype=numpy.int64)


def make(variant):
    random = numpy.random.default_rng(20)
    kinds, beside = chamber()
    ions = 0.02 * random.random((SIZE, SIZE), dtype=numpy.float32)  # volts, as the charge at a point bends the potential
    kinds, beside, ions = cupy.asarray(kinds), cupy.asarray(beside), cupy.asarray(ions)
    table = cupy.asarray(VOLTS, dtype=cupy.float32)
    volts, changes = cupy.zeros(2, dtype=cupy.float32), cupy.zeros(ROUNDS + 1, dtype=cupy.float32)
    slots = [changes[k:k + 1] for k in range(ROUNDS + 1)]
    potential = cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
    flat = potential.ravel()
    near = cupy.empty(beside.size, dtype=cupy.float32) if variant == "useless" else None
    kernel = cupy.RawKernel(CODE, "sweep", options=("-DSIZE=%d" % SIZE,))
    blocks = ((SIZE // 2 + THREADS - 1) // THREADS, SIZE)
    omega, red, black = numpy.float32(OMEGA), numpy.int32(0), numpy.int32(1)
    stream = cupy.cuda.Stream(non_blocking=True)
    turn, usual = [0], [0.0, 0.0]

    def relax(k):
        """A round: the red points, then the black ones; how much a point has changed at most goes to a slot."""
        kernel(blocks, (THREADS,), (potential, kinds, ions, volts, omega, red, slots[k]))
        kernel(blocks, (THREADS,), (potential, kinds, ions, volts, omega, black, slots[k]))

    graphs = []
    cupy.cuda.runtime.deviceSynchronize()
    if variant == "fix2":
        with stream:
            relax(0)
            stream.synchronize()
            for k in range(ROUNDS):
                stream.begin_capture()
                relax(k)
                graphs.append(stream.end_capture())
            potential.fill(0)
            stream.synchronize()

    def pull():
        """The volts between a wire that senses and the point next to it, by the mean, to the last slot."""
        there = flat.take(beside, out=near) if variant == "useless" else flat.take(beside)
        changes[ROUNDS] = (volts[0] - there).mean()

    def solve():
        """The changes of each round, and the pull."""
        history = []
        for k in range(ROUNDS):
            if variant == "fix2":
                graphs[k].launch(stream)
            else:
                relax(k)
            if variant != "fix":
                history.append(slots[k].item())  # cause: wait,copy
                if history[-1] < ENOUGH:
                    break
        pull()
        if variant == "fix":
            return changes.get().tolist()
        return history + [slots[ROUNDS].item()]  # cause: wait,copy

    def step():
        with stream:
            volts[...] = table[turn[0] % len(VOLTS)]
            changes.fill(0)
            found = solve()  # cause: wait,copy
        turn[0] += 1
        usual[0] += 0.05 * (found[-1] / 100.0 - usual[0])
        usual[1] += 0.05 * (found[0] / 100.0 - usual[1])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
