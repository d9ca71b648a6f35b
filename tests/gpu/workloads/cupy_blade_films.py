# SPDX-License-Identifier: Apache-2.0
"""CuPy: blades of wind turbines are warmed by a flash, and a camera for heat films how they cool: where layers of the blade have
come apart below its skin, it cools later. Of each film of 64 pictures (16 bits), the logarithm of the warmth of each point is
compared with waves of eight frequencies; the phases show what is wrong, deeper the slower the wave (pulsed phase thermography).

Wrong: a film, 42 MB, is copied from the camera's ordinary (pageable) memory, which takes several times as long as to look at it.
fix: the camera has pinned memory (copy-bound).
fix2: a film is copied from pageable memory, by another stream, while the one before it is looked at (copy-bound).
useless: what is computed goes to arrays that are made once.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=20, multiple=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PICTURES, HIGH, WIDE, FILMS, WAVES, SHOWN, COLD = 64, 512, 640, 6, 8, 20, 9000


@functools.cache
def films():
    """Films of counts, (PICTURES, HIGH, WIDE), where warmth goes down by the root of time, later at flaws."""
    random = numpy.random.default_rng(20)
    time = (0.5 + numpy.arange(PICTURES, dtype=numpy.float32))[:, None, None]
    down, right = numpy.mgrid[:HIGH, :WIDE].astype(numpy.float32)
    made = []
    for _ in range(FILMS):
        flaws = numpy.zeros((HIGH, WIDE), dtype=numpy.float32)
        for _ in range(12):
            row, column, size = random.uniform(0, HIGH), random.uniform(0, WIDE), random.uniform(6.0, 40.0)
            flaws += numpy.exp(-((down - row) ** 2 + (right - column) ** 2) / (2.0 * size * size), dtype=numpy.float32)
        warmth = 16000.0 / numpy.sqrt(time + 4.0 * flaws) + 30.0 * flaws
        noise = random.integers(0, 64, warmth.shape, dtype=numpy.uint16)
        made.append((COLD + 400.0 + warmth).astype(numpy.uint16) + noise)
    return made


def waves():
    """Cosines, then sines, of WAVES slow frequencies: (2 * WAVES, PICTURES)."""
    angles = 2.0 * numpy.pi * numpy.arange(1, WAVES + 1)[:, None] * numpy.arange(PICTURES) / PICTURES
    return cupy.asarray(numpy.concatenate((numpy.cos(angles), numpy.sin(angles))).astype(numpy.float32))


def make(variant):
    camera = list(films())
    if variant == "fix":
        for number, film in enumerate(camera):
            camera[number] = cupyx.empty_pinned(film.shape, dtype=film.dtype)
            camera[number][...] = film
    compared, cold = waves(), cupy.full((HIGH, WIDE), COLD, dtype=cupy.float32)
    landings = [cupy.empty((PICTURES, HIGH, WIDE), dtype=cupy.uint16) for _ in range(2)]
    seen, turn, usual = cupy.zeros((WAVES, HIGH * WIDE), dtype=cupy.float32), [0], [0.0, 0.0]
    main, side = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
    copied, looked = [cupy.cuda.Event() for _ in range(2)], [cupy.cuda.Event() for _ in range(2)]
    ready = [None] * 5
    if variant == "useless":
        ready = [cupy.empty((PICTURES, HIGH, WIDE), dtype=cupy.float32) for _ in range(2)]
        ready += [cupy.empty((rows, HIGH * WIDE), dtype=cupy.float32) for rows in (2 * WAVES, WAVES, WAVES)]

    def look(counts):
        """Adds the phases of a film, where it has any strength, to what was seen."""
        warmth = cupy.subtract(counts, cold, out=ready[0])
        cooling = cupy.log(warmth, out=ready[1])
        sums = cupy.dot(compared, cooling.reshape(PICTURES, HIGH * WIDE), out=ready[2])
        phases = cupy.arctan2(sums[WAVES:], sums[:WAVES], out=ready[3])
        strength = cupy.hypot(sums[WAVES:], sums[:WAVES], out=ready[4])
        cupy.multiply(phases, strength, out=phases)
        cupy.multiply(seen, 0.98, out=seen)
        cupy.add(seen, phases, out=seen)

    def show():
        """What the one at the screen sees: the means of the slowest and of the fastest wave."""
        slow, fast = cupy.stack((seen[0].mean(), seen[-1].mean())).get().tolist()
        usual[0] += 0.2 * (slow - usual[0])
        usual[1] += 0.2 * (fast - usual[1])

    def ahead(number):
        """Copies a film by the other stream, as soon as the film that was there has been looked at."""
        place = number % 2
        side.wait_event(looked[place])
        landings[place].set(camera[number % FILMS], stream=side)
        copied[place].record(side)

    if variant == "fix2":
        ahead(0)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            main.wait_event(copied[number % 2])
            look(landings[number % 2])
            looked[number % 2].record(main)
            ahead(number + 1)
        else:
            landings[0].set(camera[number % FILMS], stream=main)  # cause: copy,wait
            look(landings[0])
        if turn[0] % SHOWN == 0:
            show()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
