# SPDX-License-Identifier: Apache-2.0
"""Numba: a microscope with a sheet of light takes stacks of pictures of an embryo; each stack becomes one picture of what is
brightest along its depth, and another one of how deep that lies.

Wrong: the stacks lie in pageable memory, from where their copy takes many times what the kernels do.
fix: the stacks are read into pinned memory (copy-bound).
useless: one kernel does what two did.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
numpy, numba, cuda = fixable.load_numba()

DEPTH, HEIGHT, WIDTH, STACKS = 80, 512, 640, 4
THREADS = (64, 4)
BLOCKS = (WIDTH // THREADS[0], HEIGHT // THREADS[1])
int32 = numba.int32


@cuda.jit
def smooth(stack, out):
    """Each picture with the ones above and below it."""
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        for z in range(DEPTH):
            above, below = int32(stack[max(z - 1, 0), y, x]), int32(stack[min(z + 1, DEPTH - 1), y, x])
            out[z, y, x] = (above + 2 * int32(stack[z, y, x]) + below) // 4


@cuda.jit
def project(stack, brightest, depth):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        most, where = -1, 0
        for z in range(DEPTH):
            here = int32(stack[z, y, x])
            if here > most:
                most, where = here, z
        brightest[y, x] = most
        depth[y, x] = where


@cuda.jit
def both(stack, brightest, depth):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        most, where = -1, 0
        above = int32(stack[0, y, x])
        here = above
        for z in range(DEPTH):
            below = int32(stack[min(z + 1, DEPTH - 1), y, x])
            mean = (above + 2 * here + below) // 4
            if mean > most:
                most, where = mean, z
            above, here = here, below
        brightest[y, x] = most
        depth[y, x] = where


def embryo(random):
    """Stacks of a shell of cells that grows, with the noise of the camera."""
    z, y, x = numpy.ogrid[-1.0:1.0:DEPTH * 1j, -1.0:1.0:HEIGHT * 1j, -1.0:1.0:WIDTH * 1j]
    far = numpy.sqrt(z * z + y * y + x * x).astype(numpy.float32)
    cells = (1.5 + numpy.sin(25.0 * x) * numpy.sin(25.0 * y) * numpy.cos(12.0 * z)).astype(numpy.float32)
    for number in range(STACKS):
        light = 900.0 * cells * numpy.exp(-((far - 0.6 - 0.05 * number) / 0.05) ** 2)
        yield (100.0 + light + random.integers(0, 40, light.shape, dtype=numpy.int32)).astype(numpy.uint16)


def make(variant):
    taken = []
    for stack in embryo(numpy.random.default_rng(20)):
        place = cuda.pinned_array(stack.shape, numpy.uint16) if variant == "fix" else numpy.empty_like(stack)
        place[:] = stack
        taken.append(place)
    stack, between = (cuda.device_array((DEPTH, HEIGHT, WIDTH), numpy.uint16) for _ in range(2))
    brightest, depth = (cuda.device_array((HEIGHT, WIDTH), kind) for kind in (numpy.uint16, numpy.uint8))
    shown, deep = numpy.zeros((HEIGHT, WIDTH), numpy.uint16), numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
    turn, seen = [0], []

    def step():
        stack.copy_to_device(taken[turn[0] % STACKS])  # cause: copy
        turn[0] += 1
        if variant == "useless":
            both[BLOCKS, THREADS](stack, brightest, depth)
        else:
            smooth[BLOCKS, THREADS](stack, between)
            project[BLOCKS, THREADS](between, brightest, depth)
        brightest.copy_to_host(shown)
        depth.copy_to_host(deep)
        seen[:] = shown[::64, ::64].reshape(-1).tolist() + deep[::64, ::64].reshape(-1).tolist()

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
