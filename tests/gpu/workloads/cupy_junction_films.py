# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: cameras over a junction film twelve lanes, and what is busy of each lane sets the traffic lights. The films
come to the GPU by its decoder; a step takes 16 frames of 1920 by 1080 points, how far each point is from the empty road, smooths
that, and counts what is above a threshold. The lights look at the shares of the last 40 steps.

Wrong: the pool of memory is emptied behind each step, to be fair to the decoder, so each step takes its large arrays from the
driver anew, and gives them back, for which it waits.
fix: the pool keeps its memory (alloc-bound).
useless: the shares come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

FRAMES, HEIGHT, WIDTH, LANES, FILMS, KEPT, SMOOTH, MOVED = 16, 1080, 1920, 12, 4, 40, 5, 18.0
LONG, BROAD = 150, 90  # a car, in points


def junction():
    """The empty road, and films of it with cars on it."""
    luck, lane = cupy.random.RandomState(20), WIDTH // LANES
    random = numpy.random.default_rng(20)
    road = 60.0 + 50.0 * luck.random_sample((HEIGHT, WIDTH), dtype=cupy.float32)
    films = []
    for _ in range(FILMS):
        film = road + luck.normal(0.0, 4.0, (FRAMES, HEIGHT, WIDTH), dtype=cupy.float32)
        for number in range(LANES):
            for _ in range(int(random.integers(0, 4))):
                top, speed, left = (int(random.integers(*limits)) for limits in ((0, 600), (2, 20), (5, lane - BROAD)))
                for frame in range(FRAMES):
                    down, right = top + frame * speed, number * lane + left
                    film[frame, down:down + LONG, right:right + BROAD] = 190.0
        films.append(cupy.clip(film, 0.0, 255.0).astype(cupy.uint8))
    return road, films


def make(variant):
    road, films = junction()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    shares = cupy.zeros((KEPT, LANES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((KEPT, LANES), dtype=numpy.float32) if variant == "useless" else None
    turn, usual = [0], numpy.zeros(LANES)

    def busy(film):
        """Which share of each lane has something on it, in the mean of the frames."""
        light = film.astype(cupy.float32)  # cause: alloc
        apart = cupy.abs(light - road)  # cause: alloc
        smooth = ndimage.uniform_filter(apart, size=(1, SMOOTH, SMOOTH), mode="nearest")  # cause: alloc
        there = smooth > MOVED  # cause: alloc
        lanes = there.reshape(FRAMES, HEIGHT, LANES, WIDTH // LANES)
        return lanes.mean(axis=(1, 3), dtype=cupy.float32).mean(axis=0)  # cause: alloc

    def step():
        number = turn[0] % KEPT
        shares[number] = busy(films[turn[0] % FILMS])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        turn[0] += 1
        if turn[0] % KEPT == 0:
            told = shares.get(out=landing) if variant == "useless" else shares.get()
            usual[:] += 0.1 * (told.mean(axis=0) - usual)

    def values():
        return list(usual) + [float(shares.mean())]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
