# SPDX-License-Identifier: Apache-2.0
"""CuPy: 30,000 pieces of debris go round the flattened Earth, through the last of its air; the method of Runge and Kutta is
written as one writes it in NumPy.

Wrong: a step is some two hundred short kernels, each of which Python launches slower than it runs.
fix: a step is one CUDA graph, captured from the same code (launch-bound).
fix2: what pulls at the pieces is one ElementwiseKernel (launch-bound).
useless: the lowest height, which is looked at every 20 steps, comes by way of pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=1500, warm_up=2 * LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

PIECES, TICK = 30000, 10.0  # seconds
PULL, RADIUS, FLAT, AIR, THINNER = 398600.4418, 6378.137, 1.08263e-3, 2e-9, 60.0  # in kilometres

SLOPE = """
    double square = x * x + y * y + z * z, far = sqrt(square), pull = -%(PULL)r / (square * far);
    double flat = 1.5 * %(FLAT)r * %(RADIUS)r * %(RADIUS)r / square, tilt = 5.0 * z * z / square;
    double air = -%(AIR)r * exp((%(RADIUS)r + 400.0 - far) / %(THINNER)r) * sqrt(vx * vx + vy * vy + vz * vz);
    double across = pull * (1.0 + flat * (1.0 - tilt));
    ax = across * x + air * vx;
    ay = across * y + air * vy;
    az = pull * (1.0 + flat * (3.0 - tilt)) * z + air * vz;
""" % globals()


def debris():
    """Places and speeds of pieces on circles, 400 to 900 km high and tilted in all ways."""
    random = numpy.random.default_rng(20)
    far = RADIUS + random.uniform(400.0, 900.0, PIECES)
    speed = numpy.sqrt(PULL / far)
    angle, node, tilt = random.uniform(0.0, 2.0 * numpy.pi, (3, PIECES))
    out = numpy.stack([numpy.cos(node), numpy.sin(node), numpy.zeros(PIECES)])
    side = numpy.stack([-numpy.sin(node) * numpy.cos(tilt), numpy.cos(node) * numpy.cos(tilt), numpy.sin(tilt)])
    place = far * (numpy.cos(angle) * out + numpy.sin(angle) * side)
    return numpy.concatenate([place, speed * (numpy.cos(angle) * side - numpy.sin(angle) * out)])


def make(variant):
    state = cupy.asarray(debris())
    landing = cupyx.empty_pinned((1,), numpy.float64) if variant == "useless" else numpy.zeros(1)
    turn, seen = [0], []
    wait = cupy.cuda.runtime.deviceSynchronize

    def slope(now):
        x, y, z, vx, vy, vz = now
        change = cupy.empty_like(now)
        change[:3] = now[3:]  # cause: launch
        square = x * x + y * y + z * z  # cause: launch
        far = cupy.sqrt(square)  # cause: launch
        pull = -PULL / (square * far)  # cause: launch
        flat = (1.5 * FLAT * RADIUS * RADIUS) / square  # cause: launch
        tilt = 5.0 * z * z / square  # cause: launch
        speed = cupy.sqrt(vx * vx + vy * vy + vz * vz)  # cause: launch
        air = -AIR * cupy.exp((RADIUS + 400.0 - far) / THINNER) * speed  # cause: launch
        across = pull * (1.0 + flat * (1.0 - tilt))  # cause: launch
        change[3] = across * x + air * vx  # cause: launch
        change[4] = across * y + air * vy  # cause: launch
        change[5] = pull * (1.0 + flat * (3.0 - tilt)) * z + air * vz  # cause: launch
        return change

    if variant == "fix2":
        kernel = cupy.ElementwiseKernel("float64 x, float64 y, float64 z, float64 vx, float64 vy, float64 vz",
                                        "float64 ax, float64 ay, float64 az", SLOPE, "slope")

        def slope(now):
            change = cupy.empty_like(now)
            change[:3] = now[3:]
            kernel(*now, change[3], change[4], change[5])
            return change

    def advance():
        one = slope(state)  # cause: launch
        two = slope(state + 0.5 * TICK * one)  # cause: launch
        three = slope(state + 0.5 * TICK * two)  # cause: launch
        four = slope(state + TICK * three)  # cause: launch
        state.__iadd__((TICK / 6.0) * (one + 2.0 * two + 2.0 * three + four))  # cause: launch

    def step(go_on=advance):
        go_on()  # cause: launch
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            cupy.sqrt((state[:3] * state[:3]).sum(axis=0)).min(keepdims=True).get(out=landing)
            seen[:] = [float(landing[0]) - RADIUS]

    def values():
        return seen + (cupy.asnumpy(state[:3, :1000]).reshape(-1) / RADIUS).tolist()

    if variant == "fix":
        stream, start = cupy.cuda.Stream(non_blocking=True), state.copy()
        wait()
        with stream:
            for _ in range(2):  # the pool then has all memory that a capture needs
                advance()
            stream.synchronize()
            stream.begin_capture()
            advance()
            graph = stream.end_capture()
            state[...] = start
            stream.synchronize()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
