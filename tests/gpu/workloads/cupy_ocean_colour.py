# SPDX-License-Identifier: Apache-2.0
"""CuPy: how much plankton is in the sea is told from its colour, as a satellite sees it in six bands: what the air adds is taken
away (80 kinds of haze are weighed by the two bands of near infrared, four times over, as bright water shines there too),
chlorophyll comes from the ratio of blue to green, fronts from how it changes over some kilometres, and both go to maps of a week.

Wrong: a scene comes from pageable memory, 37.7 MB by a copy that the host waits for, and that takes longer than what is computed.
fix: scenes are in pinned memory, and the host does not wait (copy-bound).
fix2: a scene is copied from pageable memory by another stream while the one before it is computed (copy-bound).
useless: the arrays of a scene are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

BANDS, ROWS, COLS, SCENES, KINDS, RADIUS, TOLD = (443.0, 490.0, 510.0, 555.0, 765.0, 865.0), 1536, 2048, 6, 80, 32, 20
AREA, THREADS, AIR, COUNT = ROWS * COLS, 256, (0.11, 0.075, 0.064, 0.045, 0.013, 0.008), 1e-5

CODE = r"""
extern "C" __global__ void plankton(const unsigned short* scene, const float* kinds, const float* air, int area,
                                    float* green, float* clear) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= area) return;
    float seen[6];
    for (int b = 0; b < 6; ++b) seen[b] = scene[(long long)b * area + i] * 1e-5f - air[b];
    float shine = 0.0f, value = 0.0f;
    for (int turn = 0; turn < 4; ++turn) {
        float far = fmaxf(seen[5] - 0.6f * shine, 1e-4f);
        float ratio = fmaxf(seen[4] - shine, 1e-4f) / far;
        float weight = 1e-6f, haze[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int k = 0; k < KINDS; ++k) {
            const float* kind = kinds + 6 * k;
            float miss = 30.0f * (ratio - kind[4]);
            float fit = expf(-miss * miss);
            float thick = fit * (1.0f - expf(-kind[5] * far)) / kind[5];
            weight += fit;
            for (int b = 0; b < 4; ++b) haze[b] += thick * kind[b];
        }
        float blue = fmaxf(seen[0] - haze[0] / weight, seen[1] - haze[1] / weight);
        float other = fmaxf(seen[3] - haze[3] / weight, 2e-4f);
        float r = fminf(fmaxf(log10f(fmaxf(blue, 2e-4f) / other), -0.4f), 0.9f);
        value = 0.366f + r * (-3.067f + r * (1.930f + r * (0.649f - 1.532f * r)));
        shine = 0.5f * (shine + 4e-4f * sqrtf(exp10f(value)));
    }
    green[i] = value;
    clear[i] = seen[5] < 0.03f ? 1.0f : 0.0f;
}
extern "C" __global__ void smooth(const float* from, const float* weights, int rows, int cols, int down, float* to) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= rows * cols) return;
    int row = i / cols, col = i % cols;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k) {
        int r = down ? min(max(row + k, 0), rows - 1) : row;
        int c = down ? col : min(max(col + k, 0), cols - 1);
        sum += weights[k + RADIUS] * from[r * cols + c];
    }
    to[i] = sum;
}
extern "C" __global__ void week(const float* green, const float* even, const float* clear, int rows, int cols,
                                float* mean, float* fronts) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= rows * cols) return;
    int row = i / cols, col = i % cols;
    float x = even[row * cols + min(col + 1, cols - 1)] - even[row * cols + max(col - 1, 0)];
    float y = even[min(row + 1, rows - 1) * cols + col] - even[max(row - 1, 0) * cols + col];
    float share = 0.05f * clear[i];
    mean[i] += share * (exp10f(green[i]) - mean[i]);
    fronts[i] += share * (sqrtf(x * x + y * y) - fronts[i]);
}
""".replace("KINDS", str(KINDS)).replace("RADIUS", str(RADIUS))


def scenes():
    """What the satellite counts, (bands, ROWS, COLS): patches of plankton, haze and some clouds."""
    luck = cupy.random.RandomState(20)

    def patches(cells):
        coarse = luck.standard_normal((ROWS // cells, COLS // cells), dtype=cupy.float32)
        return cupy.repeat(cupy.repeat(coarse, cells, axis=0), cells, axis=1)

    for _ in range(SCENES):
        grown = 10.0 ** (0.4 * patches(64) + 0.1 * patches(8) - 0.3)
        haze = 0.006 * cupy.exp(0.9 * patches(256))
        seen = []
        for wave, air in zip(BANDS, AIR):
            blue, least = ((700.0 - wave) / 257.0, 0.0015) if wave < 700.0 else (0.01, 0.0)
            water = 0.03 * blue * blue * cupy.exp(-1.5 * blue * grown ** 0.4) + least
            light = air + water + haze * (865.0 / wave) ** 1.2 + 0.0002 * patches(1)
            seen.append((light / COUNT).clip(0.0, 65535.0).astype(cupy.uint16))
        yield cupy.stack(seen).get()


def hazes():
    """Of each kind: how bright it is in the four visible bands and at 765 nm, by that at 865 nm, and how soon it gets thick."""
    steep = numpy.linspace(-0.2, 2.2, KINDS)[:, None]
    bright = (865.0 / numpy.array(BANDS)) ** steep
    thick = numpy.linspace(1.0, 8.0, KINDS)[:, None]
    return cupy.asarray(numpy.concatenate((bright[:, :5], thick), axis=1).astype(numpy.float32))


def make(variant):
    kept = []
    for counts in scenes():
        one = (cupyx.empty_pinned if variant == "fix" else numpy.empty)(counts.shape, dtype=numpy.uint16)
        one[...] = counts
        kept.append(one)
    module = cupy.RawModule(code=CODE)
    plankton, smooth, week = (module.get_function(name) for name in ("plankton", "smooth", "week"))
    kinds, air = hazes(), cupy.asarray(numpy.array(AIR, dtype=numpy.float32))
    near = numpy.exp(-0.5 * (numpy.arange(-RADIUS, RADIUS + 1) / (0.4 * RADIUS)) ** 2)
    weights = cupy.asarray((near / near.sum()).astype(numpy.float32))
    mean, fronts = cupy.zeros((ROWS, COLS), dtype=cupy.float32), cupy.zeros((ROWS, COLS), dtype=cupy.float32)
    slots = [cupy.empty((len(BANDS), ROWS, COLS), dtype=cupy.uint16) for _ in range(2 if variant == "fix2" else 1)]
    null, side = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
    came, done = [[cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
    rows, cols, area = numpy.int32(ROWS), numpy.int32(COLS), numpy.int32(AREA)
    blocks, threads = (AREA // THREADS,), (THREADS,)
    turn, usual = [0], [0.0, 0.0]

    def four():
        return [cupy.empty((ROWS, COLS), dtype=cupy.float32) for _ in range(4)]

    made_once = four() if variant == "useless" else None

    def examine(scene):
        green, clear, half, even = made_once or four()
        plankton(blocks, threads, (scene, kinds, air, area, green, clear))
        smooth(blocks, threads, (green, weights, rows, cols, numpy.int32(0), half))
        smooth(blocks, threads, (half, weights, rows, cols, numpy.int32(1), even))
        week(blocks, threads, (green, even, clear, rows, cols, mean, fronts))

    def in_turn(number):
        scene = kept[number % SCENES]
        if variant == "fix":
            slots[0].set(scene, stream=null)
        else:
            slots[0].set(scene)  # cause: copy,wait
        examine(slots[0])

    def ahead(number):
        slot, other = number % 2, 1 - number % 2
        null.wait_event(came[slot])
        examine(slots[slot])
        null.record(done[slot])
        side.wait_event(done[other])
        slots[other].set(kept[(number + 1) % SCENES], stream=side)
        side.record(came[other])

    if variant == "fix2":
        slots[0].set(kept[0])
        null.record(came[0])

    def step():
        (ahead if variant == "fix2" else in_turn)(turn[0])  # cause: copy,wait
        turn[0] += 1
        if turn[0] % TOLD == 0:
            usual[:] = cupy.stack((mean.mean(), fronts.mean())).get().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
