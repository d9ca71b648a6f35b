# SPDX-License-Identifier: Apache-2.0
"""Numba: frames of a camera are brightened and smoothed on the GPU; each goes there and back in pinned memory that is made for it.

Wrong: memory is pinned for each frame anew and given back later, which takes the driver longer than all the rest.
fix: the two pinned arrays are made once (alloc-bound).
useless: one kernel does what two did.
"""
import fixable

import math

run = fixable.Program(__doc__, steps=900, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

HEIGHT, WIDTH, FRAMES = 1024, 2048, 3
THREADS = (64, 4)
BLOCKS = (WIDTH // THREADS[0], HEIGHT // THREADS[1])
float32 = numba.float32


@cuda.jit
def brighten(frame, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        out[y, x] = math.sqrt(frame[y, x])


@cuda.jit
def smooth(frame, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        beside = frame[y, max(x - 1, 0)] + frame[y, min(x + 1, WIDTH - 1)]
        beside += frame[max(y - 1, 0), x] + frame[min(y + 1, HEIGHT - 1), x]
        out[y, x] = float32(0.5) * frame[y, x] + float32(0.125) * beside


@cuda.jit
def both(frame, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        beside = math.sqrt(frame[y, max(x - 1, 0)]) + math.sqrt(frame[y, min(x + 1, WIDTH - 1)])
        beside += math.sqrt(frame[max(y - 1, 0), x]) + math.sqrt(frame[min(y + 1, HEIGHT - 1), x])
        out[y, x] = float32(0.5) * math.sqrt(frame[y, x]) + float32(0.125) * beside


def make(variant):
    random = numpy.random.default_rng(20)
    camera = random.random((FRAMES, HEIGHT, WIDTH), dtype=numpy.float32)
    shape = (HEIGHT, WIDTH)
    frame, between, done = (cuda.device_array(shape, numpy.float32) for _ in range(3))
    stream = cuda.stream()
    kept = [cuda.pinned_array(shape, numpy.float32) for _ in range(2)] if variant == "fix" else None
    turn, seen = [0], []

    def step():
        there, back = kept or [cuda.pinned_array(shape, numpy.float32) for _ in range(2)]  # cause: alloc
        there[:] = camera[turn[0] % FRAMES]
        turn[0] += 1
        frame.copy_to_device(there, stream=stream)
        if variant == "useless":
            both[BLOCKS, THREADS, stream](frame, done)
        else:
            brighten[BLOCKS, THREADS, stream](frame, between)
            smooth[BLOCKS, THREADS, stream](between, done)
        done.copy_to_host(back, stream=stream)
        stream.synchronize()
        seen[:] = back[::64, ::64].reshape(-1).tolist()

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
