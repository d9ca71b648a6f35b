# SPDX-License-Identifier: Apache-2.0
"""Numba: wet paint runs down a sheet of metal that hangs in a coating line; how thick the film is, is followed in time steps
which are as long as the fastest wave in the film allows (Courant's condition).

Wrong: the length of each time step is read, to know what time it is, and the GPU has nothing until the next one is launched.
fix: the clock is on the device too, and is read every 40 steps of eight time steps each (sync-bound).
fix2: the length is worked out by all threads of the one kernel, from the fastest wave, which is what is read (launch-bound).
useless: the length comes to pinned memory.
"""
import fixable

LOOK_EVERY = 40

run = fixable.Program(__doc__, steps=2400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
numpy, numba, cuda = fixable.load_numba()

HEIGHT, WIDTH, THREADS, ROWS, EACH = 4096, 4096, 256, 8, 8
BLOCKS = (WIDTH // THREADS, HEIGHT // ROWS)
float32, int32 = numba.float32, numba.int32
THIRD, SIXTH, SLOPE, SAFE = (numpy.float32(number) for number in (1 / 3, 1 / 6, 0.6, 0.4))


@cuda.jit(device=True)
def length_of(most):
    """The time step that a film of this thickness allows."""
    return SAFE / (most * most * (float32(1.0) + float32(4.0) * THIRD * SLOPE * most))


@cuda.jit(device=True)
def go_on(film, out, length, most, at_most):
    """A time step for some rows, and the thickest place of them. Paint flows by the film's third power: down, and to where there
    is less of it."""
    x, first, thread = cuda.grid(1), int32(cuda.blockIdx.y * ROWS), cuda.threadIdx.x
    left, right = (x + WIDTH - 1) % WIDTH, (x + 1) % WIDTH
    above, here = film[(first + HEIGHT - 1) % HEIGHT, x], film[first, x]
    cube = here * here * here
    flow = THIRD * above * above * above + SIXTH * SLOPE * (above * above * above + cube) * (above - here)
    thickest = float32(0.0)
    for row in range(ROWS):
        y = first + row
        below = film[(y + 1) % HEIGHT, x]
        a, b = film[y, left], film[y, right]
        cube, next_cube = here * here * here, below * below * below
        next_flow = THIRD * cube + SIXTH * SLOPE * (cube + next_cube) * (here - below)
        from_left = SIXTH * SLOPE * (a * a * a + cube) * (a - here)
        to_right = SIXTH * SLOPE * (cube + b * b * b) * (here - b)
        new = here + length * (flow - next_flow + from_left - to_right)
        out[y, x] = new
        if new > thickest:
            thickest = new
        here, flow = below, next_flow
    at_most[thread] = thickest
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half and at_most[thread + half] > at_most[thread]:
            at_most[thread] = at_most[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.max(most, 0, at_most[0])


@cuda.jit
def advance(film, out, length, most):
    at_most = cuda.shared.array(THREADS, float32)
    go_on(film, out, length[0], most, at_most)


@cuda.jit
def choose(most, length, clock):
    clock[0] += length[0]
    length[0] = length_of(most[0])
    most[0] = float32(0.0)


@cuda.jit
def advance_by_most(film, out, most, next_most, cleared):
    at_most = cuda.shared.array(THREADS, float32)
    if cuda.threadIdx.x == 0 and cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        cleared[0] = float32(0.0)
    go_on(film, out, length_of(most[0]), next_most, at_most)


def sheet(random):
    """Paint that was sprayed in stripes, with drops."""
    x, y = numpy.arange(WIDTH, dtype=numpy.float32), numpy.arange(HEIGHT, dtype=numpy.float32)[:, None]
    film = 1.0 + 0.15 * numpy.sin(x / 90.0) * numpy.cos(y / 140.0)
    return (film + 0.1 * random.random((HEIGHT, WIDTH), dtype=numpy.float32)).astype(numpy.float32)


def make(variant):
    wet = sheet(numpy.random.default_rng(20))
    films = [cuda.to_device(wet), cuda.to_device(wet)]
    thickest = wet.max()
    start = SAFE / (thickest * thickest * (1 + 4 * THIRD * SLOPE * thickest))
    length, clock = cuda.to_device(numpy.array([start], dtype=numpy.float32)), cuda.to_device(numpy.zeros(1))
    begin = thickest if variant == "fix2" else 0.0
    mosts = [cuda.to_device(numpy.array([most], dtype=numpy.float32)) for most in (begin, 0.0, 0.0)]
    landing = cuda.pinned_array(1, numpy.float32) if variant == "useless" else numpy.zeros(1, dtype=numpy.float32)
    turn, hour, seen = [0], [0.0], [0.0]

    def one_more():
        film, out = films
        if variant == "fix2":
            most, next_most, cleared = mosts
            most.copy_to_host(landing)
            deep = float(landing[0])
            hour[0] += 0.4 / (deep * deep * (1.0 + 0.8 * deep))
            advance_by_most[BLOCKS, THREADS](film, out, most, next_most, cleared)
            mosts[:] = next_most, cleared, most
        else:
            if variant != "fix":
                length.copy_to_host(landing)  # cause: wait,copy
                hour[0] += float(landing[0])
            advance[BLOCKS, THREADS](film, out, length, mosts[0])
            choose[1, 1](mosts[0], length, clock)
        films[:] = out, film

    def step():
        for _ in range(EACH):
            one_more()  # cause: wait,copy
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            seen[0] = float(clock.copy_to_host()[0]) if variant == "fix" else hour[0]

    return fixable.Work(step, cuda.synchronize, lambda: [seen[0] / turn[0]] + films[0][0].copy_to_host()[::64].tolist())


run.main(make)
