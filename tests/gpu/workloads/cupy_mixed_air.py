# SPDX-License-Identifier: Apache-2.0
"""CuPy: the lowest kilometres of the air over many places through days and nights: eddies mix warmth, by how much wind and
layering let them, which is solved implicitly (Thomas's algorithm); the levels of a column are gone through one by one, up and
down.

Wrong: a step is some six hundred short kernels, each of which Python launches slower than it runs.
fix: a step is one CUDA graph, captured from the same code (launch-bound).
fix2: what is done to a level is one ElementwiseKernel on the way up, and one on the way down (launch-bound).
useless: the mean warmth of the ground is read every 200 steps instead of every 20.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=700, warm_up=20)
cupy, numpy = fixable.load_cupy("numpy")

LEVELS, PLACES, HEIGHT, TICK, DAY = 40, 32768, 50.0, 60.0, 1440  # of a level in metres, seconds, ticks of a day

UP = """
    float over = above * (TICK / (HEIGHT * HEIGHT)), under = below * (TICK / (HEIGHT * HEIGHT));
    float scale = 1.0f / (1.0f + over + under - under * lower_share);
    share = over * scale;
    part = (warmth + under * lower_part) * scale;
""".replace("TICK", "%.1ff" % TICK).replace("HEIGHT", "%.1ff" % HEIGHT)


def make(variant):
    random = numpy.random.default_rng(20)
    ground = cupy.asarray((288.0 + 3.0 * random.standard_normal(PLACES)).astype(numpy.float32))
    gradient = 0.004 * HEIGHT * numpy.arange(LEVELS)[:, None]
    air = cupy.asarray((288.0 + gradient + 0.2 * random.standard_normal((LEVELS, PLACES))).astype(numpy.float32))
    wind = cupy.asarray((2.0 + 6.0 * random.random((LEVELS, PLACES))).astype(numpy.float32))
    heights = HEIGHT * numpy.arange(1, LEVELS)[:, None]
    length = cupy.asarray((0.4 * heights / (1.0 + 0.4 * heights / 150.0)).astype(numpy.float32))
    clouds = cupy.asarray(random.uniform(0.3, 1.0, PLACES).astype(numpy.float32))
    suns = cupy.asarray([max(0.0, math.sin(2.0 * math.pi * k / DAY)) for k in range(DAY)], dtype=cupy.float32)
    sun = cupy.zeros(1, dtype=cupy.float32)
    mixing = cupy.zeros((LEVELS + 1, PLACES), dtype=cupy.float32)  # between levels; none at the ground and at the top
    shares, parts = (cupy.zeros((LEVELS, PLACES), dtype=cupy.float32) for _ in range(2))
    nothing = cupy.zeros(PLACES, dtype=cupy.float32)
    look_every, turn, seen = 200 if variant == "useless" else 20, [0], []
    rate = numpy.float32(TICK / HEIGHT ** 2)
    if variant == "fix2":
        inputs = "float32 above, float32 below, float32 warmth, float32 lower_share, float32 lower_part"
        upwards = cupy.ElementwiseKernel(inputs, "float32 share, float32 part", UP, "upwards")
        downwards = cupy.ElementwiseKernel("float32 part, float32 share, float32 higher", "float32 warmth",
                                           "warmth = part + share * higher", "downwards")

    def eddies():
        """How well neighbouring levels mix: shear against layering."""
        shear = (wind[1:] - wind[:-1]) * (1.0 / HEIGHT)  # cause: launch
        layered = (air[1:] - air[:-1]) * (9.81 / 288.0 / HEIGHT)  # cause: launch
        let = cupy.maximum(shear * shear - layered, 1e-6)  # cause: launch
        mixing[1:-1] = cupy.minimum(length * length * cupy.sqrt(let), 100.0)  # cause: launch

    def level(number):
        over, under = mixing[number + 1] * rate, mixing[number] * rate  # cause: launch
        if number == 0:
            scale = 1.0 / (1.0 + over)  # cause: launch
            parts[0] = air[0] * scale  # cause: launch
        else:
            scale = 1.0 / (1.0 + over + under - under * shares[number - 1])  # cause: launch
            parts[number] = (air[number] + under * parts[number - 1]) * scale  # cause: launch
        shares[number] = over * scale  # cause: launch

    def mix():
        for number in range(LEVELS):
            level(number)  # cause: launch
        air[-1] = parts[-1]
        for number in range(LEVELS - 2, -1, -1):
            air[number] = parts[number] + shares[number] * air[number + 1]  # cause: launch

    def mix_at_once():
        for number in range(LEVELS):
            below = (shares[number - 1], parts[number - 1]) if number else (nothing, nothing)
            upwards(mixing[number + 1], mixing[number], air[number], *below, shares[number], parts[number])
        air[-1] = parts[-1]
        for number in range(LEVELS - 2, -1, -1):
            downwards(parts[number], shares[number], air[number + 1], air[number])

    def advance():
        given = 0.01 * (ground - air[0])  # cause: launch
        ground.__iadd__((TICK / 1e6) * (500.0 * sun - 120.0) * clouds - 0.1 * given)  # cause: launch
        air[0] += given  # cause: launch
        eddies()  # cause: launch
        (mix_at_once if variant == "fix2" else mix)()  # cause: launch

    def step(go_on=advance):
        sun[...] = suns[turn[0] % DAY]
        turn[0] += 1
        go_on()  # cause: launch
        if turn[0] % look_every == 0:
            seen[:] = [float(ground.mean())]

    def values():
        return [float(ground.mean())] + [float(row.mean()) for row in air]

    wait = cupy.cuda.runtime.deviceSynchronize
    if variant == "fix":
        stream = cupy.cuda.Stream(non_blocking=True)
        kept = ground.copy(), air.copy()
        wait()
        with stream:
            for _ in range(2):  # the pool then has all memory that a capture needs
                advance()
            stream.synchronize()
            stream.begin_capture()
            advance()
            graph = stream.end_capture()
            ground[...], air[...] = kept
            stream.synchronize()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
