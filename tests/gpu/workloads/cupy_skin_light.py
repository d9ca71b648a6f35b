# SPDX-License-Identifier: Apache-2.0
"""CuPy: a clip on a finger tells how much oxygen the blood has, from red and infrared light that comes back out of the skin and
that pulses with the heart. How clips read on dark and on light skin is computed for its makers: two million photons at a time are
scattered and absorbed in four layers, for two skins, two colours and four moments of a pulse.

Wrong: nothing: the ways of the photons take nearly all of a step, in one kernel. How many come out how far from the lamp, 32
numbers, is read behind each step (gpu-bound).
useless: these numbers stay on the device.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=16)
cupy, numpy = fixable.load_cupy("numpy")

PHOTONS, THREADS, LAYERS, RINGS, MOST, MOMENTS = 1 << 21, 256, 4, 32, 600, 4
SKINS, COLOURS, SENSOR = 2, 2, (6, 14)  # SENSOR: its rings, of 0.25 mm each
SETS = SKINS * COLOURS * MOMENTS

SOURCE = """
__device__ unsigned int mixed(unsigned int x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

__device__ float dice(unsigned int& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)(state >> 8) * 5.9604645e-8f + 2.9802322e-8f;
}

extern "C" __global__ void fly(const float4* layers, unsigned int seed, float* rings) {
    __shared__ float came[%(RINGS)d];
    if (threadIdx.x < %(RINGS)d) {
        came[threadIdx.x] = 0.0f;
    }
    __syncthreads();
    unsigned int state = mixed(seed + blockIdx.x * blockDim.x + threadIdx.x + 1u) | 1u;
    float x = 0.0f, y = 0.0f, z = 0.0f, a = 0.0f, b = 0.0f, c = 1.0f, weight = 1.0f;
    for (int k = 0; k < %(MOST)d; k++) {
        int layer = 0;
        while (layer < %(LAYERS)d - 1 && z > layers[layer].w) {
            layer++;
        }
        const float4 here = layers[layer];  // absorbs, scatters (in a mm), forward, its bottom
        const float away = -__logf(dice(state)) / (here.x + here.y);
        x += a * away;
        y += b * away;
        z += c * away;
        if (z < 0.0f) {
            if (c < -0.70f) {  // steep enough to leave the skin
                const int ring = (int)(4.0f * sqrtf(x * x + y * y));
                if (ring < %(RINGS)d) {
                    atomicAdd(&came[ring], weight);
                }
                break;
            }
            z = -z;
            c = -c;
        }
        weight *= here.y / (here.x + here.y);
        if (weight < 0.01f) {
            if (dice(state) > 0.1f) {
                break;
            }
            weight *= 10.0f;
        }
        // The new way, by Henyey and Greenstein.
        const float g = here.z, t = (1.0f - g * g) / (1.0f - g + 2.0f * g * dice(state));
        const float cosine = fminf(1.0f, fmaxf(-1.0f, (1.0f + g * g - t * t) / (2.0f * g)));
        const float sine = sqrtf(fmaxf(0.0f, 1.0f - cosine * cosine));
        float s, d;
        __sincosf(6.2831853f * dice(state) - 3.1415927f, &s, &d);
        if (fabsf(c) > 0.9999f) {
            a = sine * d;
            b = sine * s;
            c = c > 0.0f ? cosine : -cosine;
        } else {
            const float flat = sqrtf(1.0f - c * c);
            const float new_a = sine * (a * c * d - b * s) / flat + a * cosine;
            const float new_b = sine * (b * c * d + a * s) / flat + b * cosine;
            c = c * cosine - sine * d * flat;
            a = new_a;
            b = new_b;
        }
        const float length = rsqrtf(a * a + b * b + c * c);
        a *= length;
        b *= length;
        c *= length;
    }
    __syncthreads();
    if (threadIdx.x < %(RINGS)d) {
        atomicAdd(&rings[threadIdx.x], came[threadIdx.x]);
    }
}
""" % {"RINGS": RINGS, "MOST": MOST, "LAYERS": LAYERS}


def skins():
    """What the layers of each skin do with each colour at each moment of a pulse, (SETS, LAYERS, 4)."""
    sets = []
    for melanin in (0.6, 4.0):
        for blood, dark in ((0.25, 1.0), (0.40, 0.5)):  # red and infrared
            for moment in range(MOMENTS):
                full = 1.0 + 0.1 * moment
                sets.append([[melanin * dark, 25.0, 0.80, 0.08], [0.05 + 0.10 * blood * full, 20.0, 0.85, 0.60],
                             [0.05 + 0.25 * blood * full, 18.0, 0.85, 2.00], [0.03 + 0.05 * blood, 12.0, 0.85, 1e9]])
    return numpy.array(sets, dtype=numpy.float32)


def make(variant):
    fly = cupy.RawKernel(SOURCE, "fly", options=("--use_fast_math",))
    layers = [cupy.asarray(one) for one in skins()]
    turn, kept = [0], [None] * SETS

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        rings = cupy.zeros(RINGS, dtype=cupy.float32)
        fly((PHOTONS // THREADS,), (THREADS,), (layers[number], numpy.uint32(number * PHOTONS), rings))
        kept[number] = rings if variant == "useless" else rings.get()

    def values():
        """Which per cent of the light comes to the sensor, of each skin, colour and moment."""
        found = [cupy.asnumpy(rings) for rings in kept if rings is not None]
        return [100.0 * float(rings[SENSOR[0]:SENSOR[1]].sum()) / PHOTONS for rings in found]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
