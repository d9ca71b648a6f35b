# SPDX-License-Identifier: Apache-2.0
"""Numba: edges of pictures are found by a row of small functions, each of which makes an array on the device for what it gives.

Wrong: Numba keeps no memory: each array is allocated by the driver, and given back to it, which waits for the GPU.
fix: the arrays are made once, and used again (alloc-bound).
useless: the number that is looked at now and then comes by way of pinned memory.
"""
import fixable

import math

run = fixable.Program(__doc__, steps=800, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

HEIGHT, WIDTH, PICTURES, LOOK_EVERY = 2048, 2048, 4, 20
THREADS = (64, 4)
BLOCKS = (WIDTH // THREADS[0], HEIGHT // THREADS[1])
float32 = numba.float32


@cuda.jit
def blur_rows(picture, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        left, right = picture[y, max(x - 1, 0)], picture[y, min(x + 1, WIDTH - 1)]
        out[y, x] = float32(0.25) * (left + right) + float32(0.5) * picture[y, x]


@cuda.jit
def blur_columns(picture, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        above, below = picture[max(y - 1, 0), x], picture[min(y + 1, HEIGHT - 1), x]
        out[y, x] = float32(0.25) * (above + below) + float32(0.5) * picture[y, x]


@cuda.jit
def slope_across(picture, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        out[y, x] = picture[y, min(x + 1, WIDTH - 1)] - picture[y, max(x - 1, 0)]


@cuda.jit
def slope_down(picture, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        out[y, x] = picture[min(y + 1, HEIGHT - 1), x] - picture[max(y - 1, 0), x]


@cuda.jit
def steepness(across, down, out):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        out[y, x] = math.sqrt(across[y, x] * across[y, x] + down[y, x] * down[y, x])


@cuda.jit
def thin(steep, across, down, out):
    """Only the steepest of each slope is left."""
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        if abs(across[y, x]) > abs(down[y, x]):
            one, other = steep[y, max(x - 1, 0)], steep[y, min(x + 1, WIDTH - 1)]
        else:
            one, other = steep[max(y - 1, 0), x], steep[min(y + 1, HEIGHT - 1), x]
        out[y, x] = steep[y, x] if steep[y, x] >= one and steep[y, x] >= other else float32(0.0)


@cuda.jit
def count_edges(edges, threshold, count):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT and edges[y, x] > threshold:
        cuda.atomic.add(count, 0, 1)


def make(variant):
    random = numpy.random.default_rng(20)
    waves = numpy.sin(numpy.linspace(0.0, 60.0, WIDTH))[None, :] * numpy.cos(numpy.linspace(0.0, 45.0, HEIGHT))[:, None]
    pictures = [cuda.to_device((waves + 0.02 * random.standard_normal((HEIGHT, WIDTH))).astype(numpy.float32))
                for _ in range(PICTURES)]
    count = cuda.to_device(numpy.zeros(1, numpy.int64))
    landing = cuda.pinned_array(1, numpy.int64) if variant == "useless" else numpy.zeros(1, numpy.int64)
    kept, turn, seen = {}, [0], []

    def array(kernel):
        if variant != "fix":
            return cuda.device_array((HEIGHT, WIDTH), numpy.float32)  # cause: alloc
        if kernel not in kept:
            kept[kernel] = cuda.device_array((HEIGHT, WIDTH), numpy.float32)
        return kept[kernel]

    def applied(kernel, *inputs):
        out = array(kernel)  # cause: alloc
        kernel[BLOCKS, THREADS](*inputs, out)
        return out

    def edges_of(picture):
        smooth = applied(blur_columns, applied(blur_rows, picture))  # cause: alloc
        across, down = applied(slope_across, smooth), applied(slope_down, smooth)  # cause: alloc
        return applied(thin, applied(steepness, across, down), across, down)  # cause: alloc

    def step():
        picture = pictures[turn[0] % PICTURES]
        turn[0] += 1
        edges = edges_of(picture)  # cause: alloc
        count_edges[BLOCKS, THREADS](edges, float32(0.07), count)
        if turn[0] % LOOK_EVERY == 0:
            count.copy_to_host(landing)
            seen[:] = [float(landing[0])]

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
