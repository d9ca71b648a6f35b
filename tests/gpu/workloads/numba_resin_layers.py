# SPDX-License-Identifier: Apache-2.0
"""Numba: a figure is cut into layers for a printer that hardens resin by light: each layer is a picture of 7680 by 4320 pixels, lit
where the figure is. Its triangles are cut by a plane, and each row is filled between the edges that were met.

Wrong: the picture is copied to an array of NumPy, in pageable memory; this takes many times as long as what makes the picture.
fix: it comes to pinned memory (copy-bound).
fix2: eight pixels come in a byte, as the rows were filled, to the same kind of memory; the printer takes that as well (copy-bound).
useless: one kernel fills the rows and makes bytes of them, not two.
"""
import math

import fixable

LAYERS, LOOK_EVERY = 100, 10

run = fixable.Program(__doc__, steps=700, warm_up=LAYERS, multiple=LAYERS)
numpy, numba, cuda = fixable.load_numba()

int32, uint32, float32 = numba.int32, numba.uint32, numba.float32
WIDTH, HEIGHT, THREADS = 7680, 4320, 256
WORDS = WIDTH // 32  # of a row, a bit for each pixel
RINGS, SPOKES, HALF = 384, 768, numpy.float32(0.5)
LAST_BITS = numpy.uint32(0xFFFFFFFF)


@cuda.jit
def cut(corners, plane, toggles):
    """Where a triangle meets the plane, and at which pixel of each row the figure begins or ends there."""
    number = cuda.grid(1)
    if number >= corners.shape[1]:
        return
    ends = cuda.local.array(4, float32)
    found = 0
    for k in range(3):
        low, high = 3 * k, 3 * ((k + 1) % 3)
        if (corners[low + 2, number] > plane) != (corners[high + 2, number] > plane):
            if corners[low + 2, number] > corners[high + 2, number]:
                low, high = high, low
            start = corners[low + 2, number]
            share = (plane - start) / (corners[high + 2, number] - start)
            for axis in range(2):
                begin = corners[low + axis, number]
                ends[2 * found + axis] = begin + share * (corners[high + axis, number] - begin)
            found += 1
    if found != 2:
        return
    x, y, to_x, to_y = ends[0], ends[1], ends[2], ends[3]
    if y > to_y:
        x, y, to_x, to_y = to_x, to_y, x, y
    first, last = max(0, int(math.ceil(y - HALF))), min(HEIGHT, int(math.ceil(to_y - HALF)))
    for row in range(first, last):
        at = x + (float32(row) + HALF - y) * (to_x - x) / (to_y - y)
        column = max(0, int(math.ceil(at - HALF)))
        if column < WIDTH:
            cuda.atomic.xor(toggles, row * WORDS + (column >> 5), uint32(1 << (column & 31)))


@cuda.jit(device=True)
def filled(toggles, parity):
    """The bits of a thread's pixels, of which each is lit behind an odd number of edges; the block has a row."""
    word, row = cuda.threadIdx.x, cuda.blockIdx.x
    bits, shift, reach = uint32(0), 1, 1
    if word < WORDS:
        bits = toggles[row * WORDS + word]
        toggles[row * WORDS + word] = uint32(0)
    while shift < 32:  # each bit becomes the parity of those up to it
        bits = uint32(bits ^ uint32(bits << shift))
        shift *= 2
    parity[word] = int32(bits >> 31)
    cuda.syncthreads()
    while reach < THREADS:
        before = int32(0)
        if word >= reach:
            before = parity[word - reach]
        cuda.syncthreads()
        parity[word] = parity[word] ^ before
        cuda.syncthreads()
        reach *= 2
    if word > 0 and parity[word - 1] != 0:
        bits = uint32(bits ^ LAST_BITS)
    return bits


@cuda.jit
def fill(toggles, inside):
    parity = cuda.shared.array(THREADS, int32)
    bits = filled(toggles, parity)
    if cuda.threadIdx.x < WORDS:
        inside[cuda.blockIdx.x, cuda.threadIdx.x] = bits


@cuda.jit
def expand(inside, picture):
    x, row = cuda.grid(1), cuda.blockIdx.y
    picture[row, x] = 255 if (inside[row, x >> 5] >> (x & 31)) & 1 else 0


@cuda.jit
def fill_and_expand(toggles, picture):
    parity = cuda.shared.array(THREADS, int32)
    words = cuda.shared.array(THREADS, uint32)
    row = cuda.blockIdx.x
    words[cuda.threadIdx.x] = filled(toggles, parity)
    cuda.syncthreads()
    for x in range(cuda.threadIdx.x, WIDTH, THREADS):
        picture[row, x] = 255 if (words[x >> 5] >> (x & 31)) & 1 else 0


def figure():
    """A twisted vase of 590 thousand triangles: (x, y, z) of their three corners, in pixels and layers."""
    t = numpy.linspace(0.0, 1.0, RINGS + 1)[:, None]
    angle = numpy.linspace(0.0, 2.0 * numpy.pi, SPOKES, endpoint=False)
    radius = 1700.0 * numpy.sqrt(numpy.clip(4.0 * t * (1.0 - t), 0.0, 1.0)) * (1.0 + 0.2 * numpy.cos(7.0 * angle + 5.0 * t))
    z = numpy.broadcast_to(LAYERS * t, radius.shape)
    points = numpy.stack((WIDTH / 2 + 1.6 * radius * numpy.cos(angle), HEIGHT / 2 + radius * numpy.sin(angle), z))
    after = numpy.roll(points, -1, axis=2)
    here, there = (points[:, :-1], after[:, :-1]), (points[:, 1:], after[:, 1:])
    triangles = ((here[0], here[1], there[0]), (here[1], there[1], there[0]))
    corners = [numpy.concatenate([corner.reshape(3, -1) for corner in triangle]) for triangle in triangles]
    return numpy.ascontiguousarray(numpy.concatenate(corners, axis=1), dtype=numpy.float32)


def make(variant):
    corners = cuda.to_device(figure())
    toggles = cuda.to_device(numpy.zeros(HEIGHT * WORDS, dtype=numpy.uint32))
    inside = cuda.device_array((HEIGHT, WORDS), dtype=numpy.uint32)
    picture = cuda.device_array((HEIGHT, WIDTH), dtype=numpy.uint8)
    if variant == "fix":
        landing = cuda.pinned_array((HEIGHT, WIDTH), dtype=numpy.uint8)
    elif variant == "fix2":
        landing = numpy.zeros((HEIGHT, WORDS), dtype=numpy.uint32)
    else:
        landing = numpy.zeros((HEIGHT, WIDTH), dtype=numpy.uint8)
    blocks = (corners.shape[1] + THREADS - 1) // THREADS
    turn, lit = [0], []

    def look():
        """How much of the layer is lit, by some of its pixels."""
        some = landing[::16] & 1 if variant == "fix2" else landing[::16, ::32] != 0
        lit.append(float(some.mean()))
        del lit[:-LAYERS // LOOK_EVERY]

    def step():
        number = turn[0] % LAYERS
        turn[0] += 1
        cut[blocks, THREADS](corners, numpy.float32(number + 0.5), toggles)
        if variant == "useless":
            fill_and_expand[HEIGHT, THREADS](toggles, picture)
        else:
            fill[HEIGHT, THREADS](toggles, inside)
        if variant == "fix2":
            inside.copy_to_host(landing)
        else:
            if variant != "useless":
                expand[(WIDTH // THREADS, HEIGHT), THREADS](inside, picture)
            picture.copy_to_host(landing)  # cause: copy
        if number % LOOK_EVERY == 0:
            look()

    return fixable.Work(step, cuda.synchronize, lambda: list(lit))


run.main(make)
