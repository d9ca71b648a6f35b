# SPDX-License-Identifier: Apache-2.0
"""CuPy: 65,536 neurons (Morris and Lecar) go on in small steps of time; their equations are written as one writes them in NumPy.

Wrong: two slopes a step are some seventy short kernels, each of which Python launches slower than it runs.
fix: ten steps are one CUDA graph, captured from the same code (launch-bound).
fix2: a slope is one ElementwiseKernel (launch-bound).
useless: the spikes are counted every 1000 steps instead of every 50.
"""
import fixable

run = fixable.Program(__doc__, steps=5000, warm_up=50, multiple=50)
cupy, numpy = fixable.load_cupy("numpy")

NEURONS, TOGETHER, TICK = 1 << 16, 10, 0.1

SLOPE = """
    float calcium = 0.5f * (1.0f + tanhf((v + 1.2f) / 18.0f));
    float open = 0.5f * (1.0f + tanhf((v - 2.0f) / 30.0f));
    float speed = 0.04f * coshf((v - 2.0f) / 60.0f);
    dv = 0.05f * (drive - 4.4f * calcium * (v - 120.0f) - 8.0f * w * (v + 84.0f) - 2.0f * (v + 60.0f));
    dw = speed * (open - w);
"""


def make(variant):
    random = numpy.random.default_rng(20)

    def some(low, high):
        return cupy.asarray(random.uniform(low, high, NEURONS).astype(numpy.float32))

    v, w, drive = some(-60.0, -20.0), some(0.0, 0.3), some(80.0, 140.0)
    spikes = cupy.zeros(NEURONS, dtype=cupy.int32)
    look_every = 1000 if variant == "useless" else 50
    turn, seen = [0], []

    def slope(v, w):
        """How fast the voltage and the share of open channels change."""
        calcium = 0.5 * (1.0 + cupy.tanh((v + 1.2) * (1.0 / 18.0)))  # cause: launch
        is_open = 0.5 * (1.0 + cupy.tanh((v - 2.0) * (1.0 / 30.0)))  # cause: launch
        speed = 0.04 * cupy.cosh((v - 2.0) * (1.0 / 60.0))  # cause: launch
        current = drive - 4.4 * calcium * (v - 120.0) - 8.0 * w * (v + 84.0) - 2.0 * (v + 60.0)  # cause: launch
        return 0.05 * current, speed * (is_open - w)  # cause: launch

    if variant == "fix2":
        kernel = cupy.ElementwiseKernel("float32 v, float32 w, float32 drive", "float32 dv, float32 dw", SLOPE, "slope")

        def slope(v, w):
            return kernel(v, w, drive)

    def step():
        """By the method of Heun."""
        dv, dw = slope(v, w)
        later_dv, later_dw = slope(v + TICK * dv, w + TICK * dw)  # cause: launch
        after = v + (0.5 * TICK) * (dv + later_dv)  # cause: launch
        w.__iadd__((0.5 * TICK) * (dw + later_dw))  # cause: launch
        spikes.__iadd__((v < 0.0) & (after >= 0.0))  # cause: launch
        v[...] = after  # cause: launch

    def look():
        seen[:] = [float(spikes.sum()) / NEURONS]

    def values():
        return seen + cupy.asnumpy(v[:1024]).tolist()

    wait = cupy.cuda.runtime.deviceSynchronize

    if variant == "fix":
        stream = cupy.cuda.Stream(non_blocking=True)
        wait()
        with stream:
            for _ in range(2 * TOGETHER):  # the pool then has all memory that a capture needs
                step()
            stream.synchronize()
            stream.begin_capture()
            for _ in range(TOGETHER):
                step()
            graph = stream.end_capture()

        def captured(steps):
            with stream:
                for _ in range(steps // TOGETHER):
                    graph.launch(stream)
                    turn[0] += TOGETHER
                    if turn[0] % look_every == 0:
                        look()

        return fixable.Work(loop=captured, wait=wait, values=values)

    def loop(steps):
        for _ in range(steps):
            step()
            turn[0] += 1
            if turn[0] % look_every == 0:
                look()

    return fixable.Work(loop=loop, wait=wait, values=values)


run.main(make)
