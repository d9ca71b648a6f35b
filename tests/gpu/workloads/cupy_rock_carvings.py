# SPDX-License-Identifier: Apache-2.0
"""CuPy: carvings in rocks are hard to see by plain light; so each rock is photographed 16 times, with a lamp at another place
each time, and for each of 6.3 million points it is told how its brightness depends on the lamp (a polynomial of six terms),
where a lamp would make it brightest, and so which way the stone faces there. What is steep and sharp is carved.

Wrong: each rock gets a pool of memory of its own, "so that nothing is left of it": all of its arrays are allocated by the driver,
and given back to it when the rock is done, which takes much longer than the kernels.
fix: CuPy's own pool, as it is without being asked, for all rocks (alloc-bound).
useless: what is told of a rock comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

LAMPS, HEIGHT, WIDTH, ROCKS, FLAT, STEEP = 16, 2048, 3072, 3, 1e-3, 0.45


def lamps(random):
    """Where the lamps are, and the matrix that makes the polynomial of a point's brightnesses."""
    around = numpy.arange(LAMPS) * (2.0 * numpy.pi / LAMPS) + random.uniform(-0.1, 0.1, LAMPS)
    out = numpy.where(numpy.arange(LAMPS) % 2 == 0, 0.85, 0.5)
    u, v = out * numpy.cos(around), out * numpy.sin(around)
    terms = numpy.stack((u * u, v * v, u * v, u, v, numpy.ones(LAMPS)), axis=1)
    return u, v, cupy.asarray(numpy.linalg.pinv(terms), dtype=cupy.float32)


def photographs(random, u, v, rock):
    """(LAMPS, HEIGHT, WIDTH) of uint8: a rough stone with rings and boats pecked into it."""
    y, x = [cupy.arange(size, dtype=cupy.float32) / 256.0 for size in (HEIGHT, WIDTH)]
    y = y[:, None]
    depth = 0.3 * cupy.sin(2.0 * x + rock) * cupy.cos(1.7 * y)
    for _ in range(12):
        down, right, wide = random.uniform(0.5, 7.5), random.uniform(0.5, 11.5), random.uniform(0.1, 0.5)
        ring = cupy.hypot(x - right, y - down) - wide
        depth -= 0.05 * cupy.exp(-cupy.square(ring / 0.04))
    noise = cupy.asarray(random.standard_normal((HEIGHT, WIDTH), dtype=numpy.float32))
    depth += 0.0005 * noise
    down, right = cupy.zeros_like(depth), cupy.zeros_like(depth)
    down[1:-1] = 128.0 * (depth[2:] - depth[:-2])
    right[:, 1:-1] = 128.0 * (depth[:, 2:] - depth[:, :-2])
    length = cupy.sqrt(1.0 + down * down + right * right)
    pictures = cupy.empty((LAMPS, HEIGHT, WIDTH), dtype=cupy.uint8)
    for lamp in range(LAMPS):
        up = float(numpy.sqrt(1.0 - u[lamp] ** 2 - v[lamp] ** 2))
        light = (up - float(u[lamp]) * right - float(v[lamp]) * down) / length
        pictures[lamp] = (200.0 * cupy.maximum(light, 0.0) + 20.0).astype(cupy.uint8)
    return pictures


def facing(solve, pictures):
    """Which way each point faces: along u and v."""
    bright = pictures.reshape(LAMPS, -1).astype(cupy.float32)  # cause: alloc
    uu, vv, uv, u, v, _ = cupy.matmul(solve, bright)  # cause: alloc
    under = 4.0 * uu * vv - uv * uv  # cause: alloc
    under = cupy.where(cupy.abs(under) < FLAT, cupy.float32(FLAT), under)  # cause: alloc
    along = (uv * v - 2.0 * vv * u) / under  # cause: alloc
    across = (uv * u - 2.0 * uu * v) / under  # cause: alloc
    far = cupy.maximum(cupy.sqrt(along * along + across * across), 1.0)  # cause: alloc
    return (along / far).reshape(HEIGHT, WIDTH), (across / far).reshape(HEIGHT, WIDTH)  # cause: alloc


def carved(solve, pictures):
    """Which share of the rock is carved, how steep it is there, and how steep it is on the whole."""
    along, across = facing(solve, pictures)  # cause: alloc
    steep = cupy.sqrt(along * along + across * across)  # cause: alloc
    bend = cupy.zeros_like(steep)  # cause: alloc
    bend[:, 1:-1] += along[:, 2:] - along[:, :-2]  # cause: alloc
    bend[1:-1] += across[2:] - across[:-2]  # cause: alloc
    found = (steep > STEEP) & (cupy.abs(bend) > 0.02)  # cause: alloc
    share = found.mean(dtype=cupy.float32)
    return cupy.stack((share, (steep * found).mean(), steep.mean()))  # cause: alloc


def make(variant):
    random = numpy.random.default_rng(20)
    u, v, solve = lamps(random)
    rocks = [photographs(random, u, v, rock) for rock in range(ROCKS)]
    cupy.get_default_memory_pool().free_all_blocks()
    landing = cupyx.empty_pinned(3, dtype=numpy.float32) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0, 0.0]

    def told(pictures):
        answer = carved(solve, pictures)  # cause: alloc
        return answer.get(out=landing).tolist() if landing is not None else answer.get().tolist()

    def looked_at(pictures):
        if variant == "fix":
            return told(pictures)
        pool = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc):
            answer = told(pictures)  # cause: alloc
        pool.free_all_blocks()  # cause: alloc
        return answer

    def step():
        answer = looked_at(rocks[turn[0] % ROCKS])  # cause: alloc
        turn[0] += 1
        for place, number in enumerate(answer):
            usual[place] += 0.1 * (number - usual[place])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
