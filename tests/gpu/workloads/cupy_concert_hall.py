# SPDX-License-Identifier: Apache-2.0
"""CuPy: how a concert hall will sound is computed before it is built: two million rays of sound fly from a place on the stage
through the hall, are thrown back by its walls, balconies and panels, and lose some of their strength at each, by pitch; what
comes by at four seats, and when, makes echoes there, with which a piece of music is heard as from that seat.

Wrong: nothing: the flight of the rays takes nearly all of a step, in one kernel. Behind each place on the stage a few numbers
are read (gpu-bound).
useless: the numbers are read behind 20 places.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=240, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, numpy = fixable.load_cupy("numpy")

RAYS, THREADS, BOUNCES, SEATS, PITCHES, BINS, RATE, PLACES = 1 << 21, 128, 30, 4, 6, 1024, 22050, 12
LONG, WIDE, HIGH, REACH, SOUND, BIN_S, SCATTER, PANELS, EARLY = 44.0, 24.0, 18.0, 1.2, 343.0, 0.002, 0.3, 84, 40
WALLS, SAMPLES, KEEP = 6 + PANELS, 1 << 20, 0.05  # EARLY: bins of the first 80 ms

KERNEL = "".join("#define %s %r%s\n" % (name, value, "f" if isinstance(value, float) else "")
                 for name, value in list(globals().items()) if name.isupper()) + """
__device__ float chance(unsigned int* luck) {
    *luck = *luck * 747796405u + 2891336453u;
    unsigned int word = ((*luck >> ((*luck >> 28) + 4u)) ^ *luck) * 277803737u;
    return (((word >> 22) ^ word) >> 8) * 5.9604645e-8f;
}

__device__ void any_way(float* way, unsigned int* luck) {
    const float z = 2.0f * chance(luck) - 1.0f, angle = 6.2831853f * chance(luck), flat = sqrtf(1.0f - z * z);
    way[0] = flat * cosf(angle);
    way[1] = flat * sinf(angle);
    way[2] = z;
}

extern "C" __global__ void fly(const float* walls, const float* left, const float* seats, const float* stage, float* echoes) {
    // A wall is a corner, two edges over their squared lengths, and the direction that it faces: 12 numbers.
    __shared__ float wall[WALLS * 12];
    for (int n = threadIdx.x; n < WALLS * 12; n += THREADS) wall[n] = walls[n];
    __syncthreads();
    unsigned int luck = (blockIdx.x * THREADS + threadIdx.x) * 9781u + 20u;
    float at[3] = {stage[0], stage[1], stage[2]}, way[3], strength[PITCHES], gone = 0.0f;
    for (int k = 0; k < PITCHES; k++) strength[k] = 1.0f;
    any_way(way, &luck);
    for (int bounce = 0; bounce < BOUNCES; bounce++) {
        float far = 1e9f;
        int met = -1;
        for (int n = 0; n < WALLS; n++) {
            const float* w = wall + 12 * n;
            const float x = w[0] - at[0], y = w[1] - at[1], z = w[2] - at[2];
            const float t = (x * w[9] + y * w[10] + z * w[11]) / (way[0] * w[9] + way[1] * w[10] + way[2] * w[11]);
            const float px = t * way[0] - x, py = t * way[1] - y, pz = t * way[2] - z;
            const float a = px * w[3] + py * w[4] + pz * w[5], b = px * w[6] + py * w[7] + pz * w[8];
            if (t > 1e-3f && t < far && a >= 0.0f && a <= 1.0f && b >= 0.0f && b <= 1.0f) {
                far = t;
                met = n;
            }
        }
        if (met < 0) return;  // through a slit between two walls
        for (int seat = 0; seat < SEATS; seat++) {
            const float x = seats[3 * seat] - at[0], y = seats[3 * seat + 1] - at[1], z = seats[3 * seat + 2] - at[2];
            const float along = x * way[0] + y * way[1] + z * way[2];
            const int bin = (int)((gone + along) / (SOUND * BIN_S));
            if (along > 0.0f && along < far && x * x + y * y + z * z - along * along < REACH * REACH && bin < BINS) {
                for (int k = 0; k < PITCHES; k++) atomicAdd(echoes + (seat * PITCHES + k) * BINS + bin, strength[k]);
            }
        }
        const float* w = wall + 12 * met;
        const float against = way[0] * w[9] + way[1] * w[10] + way[2] * w[11];
        for (int axis = 0; axis < 3; axis++) at[axis] += far * way[axis];
        for (int k = 0; k < PITCHES; k++) strength[k] *= left[met * PITCHES + k];
        if (chance(&luck) < SCATTER) {
            any_way(way, &luck);
            const float side = way[0] * w[9] + way[1] * w[10] + way[2] * w[11];
            if (side * against > 0.0f) for (int axis = 0; axis < 3; axis++) way[axis] -= 2.0f * side * w[9 + axis];
        } else {
            for (int axis = 0; axis < 3; axis++) way[axis] -= 2.0f * against * w[9 + axis];
        }
        gone += far;
    }
}
"""


def hall(random):
    """Walls as the kernel has them, and which share of the sound they throw back, by pitch."""
    box = ((LONG, 0, 0), (0, WIDE, 0), (0, 0, HIGH))
    plates = [((0, 0, 0), box[a], box[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    plates += [(box[3 - a - b], box[a], box[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    for _ in range(PANELS):
        corner = random.uniform((8.0, 1.0, 9.0), (LONG - 5.0, WIDE - 4.0, HIGH - 1.0))
        plates.append((corner, (random.uniform(1.0, 3.0), 0.0, 0.3), (0.0, random.uniform(1.0, 3.0), random.normal(0.0, 0.2))))
    corners, one, other = numpy.array(plates, dtype=numpy.float64).transpose(1, 0, 2)
    other = other - one * ((one * other).sum(axis=1) / (one * one).sum(axis=1))[:, None]
    facing = numpy.cross(one, other)
    facing /= numpy.linalg.norm(facing, axis=1)[:, None]
    parts = corners, one / (one * one).sum(axis=1)[:, None], other / (other * other).sum(axis=1)[:, None], facing
    left = 1.0 - random.uniform(0.05, 0.3, (WALLS, PITCHES))
    left[0] = 0.3  # where people sit
    return cupy.asarray(numpy.concatenate(parts, axis=1), dtype=cupy.float32), cupy.asarray(left, dtype=cupy.float32)


def make(variant):
    random, fly = numpy.random.default_rng(20), cupy.RawKernel(KERNEL, "fly")
    walls, left = hall(random)
    seats = cupy.asarray(random.uniform((15.0, 3.0, 1.2), (LONG - 4.0, WIDE - 3.0, 6.0), (SEATS, 3)), dtype=cupy.float32)
    places = cupy.asarray(random.uniform((1.0, 6.0, 1.5), (7.0, WIDE - 6.0, 2.0), (PLACES, 3)), dtype=cupy.float32)
    noise = cupy.asarray(random.standard_normal((SEATS, BINS, int(RATE * BIN_S))), dtype=cupy.float32)
    music = cupy.fft.rfft(cupy.asarray(random.standard_normal(SAMPLES), dtype=cupy.float32))
    echoes = cupy.zeros((SEATS, PITCHES, BINS), dtype=cupy.float32)
    turn, pending, usual = [0], [], [0.0] * (2 * SEATS)

    def heard():
        """How clear the music is at each seat, and how loud."""
        strength = echoes.sum(axis=1)
        clear = strength[:, :EARLY].sum(axis=1) / cupy.maximum(strength.sum(axis=1), 1.0)
        answer = (noise * cupy.sqrt(strength)[:, :, None]).reshape(SEATS, -1)
        sound = cupy.fft.irfft(cupy.fft.rfft(answer, n=SAMPLES, axis=1) * music, n=SAMPLES, axis=1)
        return cupy.concatenate((clear, cupy.log10(cupy.square(sound).mean(axis=1) + 1.0)))

    def note(numbers):
        for k, number in enumerate(numbers):
            usual[k] += KEEP * (number - usual[k])

    def step():
        echoes.fill(0.0)
        fly((RAYS // THREADS,), (THREADS,), (walls, left, seats, places[turn[0] % PLACES], echoes))
        turn[0] += 1
        pending.append(heard())
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            for numbers in cupy.stack(pending).tolist():
                note(numbers)
            pending.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
