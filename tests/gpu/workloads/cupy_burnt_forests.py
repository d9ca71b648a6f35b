# SPDX-License-Identifier: Apache-2.0
"""CuPy: where forests have burnt is found in pictures that a satellite has taken before and after, of 5490 by 5490 points in
four colours: what burnt wood reflects in two kinds of infrared has changed by much more than is usual in that picture, and
neither clouds nor fields count.

Wrong: CuPy allocates by the driver (cudaMallocAsync), whose pool keeps nothing: at each number that the host reads it gives all
that is free back to the system, and gets it anew for the arrays after it.
fix: CuPy's own memory pool, as it is without being asked (alloc-bound).
fix2: the numbers stay on the GPU as arrays, and nothing is read but the burnt areas, behind ten pictures (sync-bound).
useless: numbers come to pinned memory.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIDE, PART, DAYS, BRIGHT, WOODY, STRANGE, HECTARE = 5490, 915, 3, 2600.0, 0.6, 2.5, 0.04  # a point is 20 m wide
BLUE, RED, NEAR, SHORT = range(4)  # colours: blue, red, near infrared, and infrared of shorter waves than heat has
WOOD, FIELD, BURNT, CLOUD = numpy.array(((300, 350, 3200, 1500), (700, 900, 2200, 2300), (350, 500, 1300, 2400),
                                         (5200, 5000, 5600, 4400)), dtype=numpy.float32)


def pictures():
    """A picture of each day, (4, SIDE, SIDE): woods and fields, over which clouds go, and ever more burnt places."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[:PART, :PART] * (2.0 * numpy.pi / PART)
    wood = numpy.sin(3.0 * x + numpy.cos(2.0 * y)) + numpy.sin(4.0 * y - x) > -0.4
    for day in range(DAYS):
        clouds = numpy.sin(2.0 * x + 2.1 * day) + numpy.cos(3.0 * y - 1.3 * day) > 1.5
        fires = (numpy.sin(5.0 * x + 1.0) * numpy.sin(6.0 * y) > 0.93 - 0.08 * day) & wood
        colours = numpy.where(wood, WOOD[:, None, None], FIELD[:, None, None])
        colours = numpy.where(fires, BURNT[:, None, None], colours)
        colours = numpy.where(clouds, CLOUD[:, None, None], colours)
        colours = colours * random.normal(1.0, 0.06, colours.shape)
        yield numpy.tile(colours.clip(1.0, 10000.0).astype(numpy.uint16), (1, SIDE // PART, SIDE // PART))


def contrast(one, other):
    """The normalised difference of two colours."""
    one, other = one.astype(cupy.float32), other.astype(cupy.float32)  # cause: alloc
    return (one - other) / (one + other)  # cause: alloc


def cloudy(picture):
    """Clouds are bright in blue, and have no colour."""
    pale = cupy.abs(contrast(picture[BLUE], picture[RED])) < 0.2  # cause: alloc
    return (picture[BLUE] > BRIGHT) & pale  # cause: alloc


def make(variant):
    days = [cupy.asarray(picture) for picture in pictures()]
    allocator = cupy.cuda.MemoryPool().malloc if variant == "fix" else cupy.cuda.MemoryAsyncPool().malloc
    landing = cupyx.empty_pinned(1, dtype=numpy.float32) if variant == "useless" else None
    turn, pending, areas = [0], [], [0.0, 0.0]

    def number(array):
        """A number that the host goes on with; with fix2 it stays an array without dimensions."""
        if variant == "fix2":
            return array.astype(cupy.float32)
        if variant == "useless":
            array.astype(cupy.float32).reshape(1).get(out=landing)
            return float(landing[0])
        return float(array)  # cause: wait,copy

    def burnt(before, after):
        """For each point whether there was forest that has burnt since."""
        change = contrast(before[NEAR], before[SHORT]) - contrast(after[NEAR], after[SHORT])  # cause: alloc
        seen = contrast(before[NEAR], before[RED]) > WOODY  # cause: alloc
        seen &= ~(cloudy(before) | cloudy(after))  # cause: alloc
        count = number(cupy.count_nonzero(seen)) + 1.0  # cause: alloc
        mean = number((change * seen).sum(dtype=cupy.float32)) / count  # cause: alloc
        away = (change - mean) * seen  # cause: alloc
        square = number((away * away).sum(dtype=cupy.float32)) / count  # cause: alloc
        return away > STRANGE * square ** 0.5  # cause: alloc

    def step():
        before, after = days[turn[0] % DAYS], days[(turn[0] + 1) % DAYS]
        turn[0] += 1
        pending.append(cupy.count_nonzero(burnt(before, after)))  # cause: alloc
        if turn[0] % LOOK_EVERY == 0:
            found = cupy.stack(pending).get() * HECTARE
            pending.clear()
            areas[:] = [float(found.mean()), float(found.max())]

    def loop(steps):
        with cupy.cuda.using_allocator(allocator):
            for _ in range(steps):
                step()  # cause: alloc

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(areas))


run.main(make)
