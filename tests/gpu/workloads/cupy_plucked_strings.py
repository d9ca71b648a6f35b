# SPDX-License-Identifier: Apache-2.0
"""CuPy: 768 strings of many guitars are plucked, and sound as their equation of waves has it, with stiffness and friction, in
blocks of 24 samples, of which 96000 are a second (finite differences).

Wrong: each sample takes sixteen array operations, each of which is a tiny kernel that waits until Python has come to it.
fix: what is launched for a block is one CUDA graph (launch-bound).
fix2: a sample is computed by one elementwise kernel, and heard by another one (launch-bound).
useless: the block comes to pinned memory.
"""
import fixable

SAMPLES = 24  # of a block; three arrays take turns

run = fixable.Program(__doc__, steps=1000, warm_up=20)
cupy, numpy = fixable.load_cupy("numpy")

STRINGS, POINTS, RATE, PICKUP, SCORE, PLUCKED, EDGE = 768, 128, 96000, 17, 64, 24, 2
ONE_SAMPLE = """
    const T bent = left2 - 4 * left + 6 * mid - 4 * right + right2;
    const T speed = (mid - old) * keeps;
    later = mid + speed + fast * (left + right - 2 * mid) - stiff * bent;
"""


def make(variant):
    random = numpy.random.default_rng(20)
    pitch = 40.0 * 2.0 ** (numpy.arange(STRINGS) / 300.0)
    pace = 2.0 * pitch * POINTS / RATE  # points that a wave moves in a sample
    fast = cupy.asarray(numpy.square(pace)[:, None], dtype=cupy.float32)
    stiff = cupy.asarray(0.02 * random.random((STRINGS, 1)), dtype=cupy.float32)
    keeps = cupy.asarray(1.0 - 3.0 * (1.0 + random.random((STRINGS, 1))) / RATE, dtype=cupy.float32)
    loud = cupy.asarray(random.random(STRINGS) / STRINGS, dtype=cupy.float32)
    strings = [cupy.zeros((STRINGS, POINTS), dtype=cupy.float32) for _ in range(3)]
    speed, force, bent, other = [cupy.zeros((STRINGS, POINTS - 2 * EDGE), dtype=cupy.float32) for _ in range(4)]
    heard = cupy.zeros((SAMPLES, STRINGS), dtype=cupy.float32)
    landing = cupy.cuda.alloc_pinned_memory(4 * SAMPLES) if variant == "useless" else bytearray(4 * SAMPLES)
    block = numpy.frombuffer(landing, numpy.float32, SAMPLES)
    at = numpy.linspace(0.0, 1.0, POINTS)
    score = []  # the shapes of the strings that are plucked, in turns
    for _ in range(SCORE):
        shapes, where = numpy.zeros((STRINGS, POINTS)), random.uniform(0.1, 0.4, PLUCKED)[:, None]
        shapes[random.permutation(STRINGS)[:PLUCKED]] = 0.01 * numpy.minimum(at / where, (1.0 - at) / (1.0 - where))
        shapes[:, :EDGE] = shapes[:, -EDGE:] = 0.0
        score.append(cupy.asarray(shapes, dtype=cupy.float32))
    at_once = cupy.ElementwiseKernel("T old, T left2, T left, T mid, T right, T right2, T fast, T stiff, T keeps", "T later",
                                     ONE_SAMPLE, "one_sample")
    turn, seen = [0], []

    def advance(old, now, later):
        """The strings one sample later."""
        mid, left, right = now[:, 2:-2], now[:, 1:-3], now[:, 3:-1]
        left2, right2 = now[:, :-4], now[:, 4:]
        if variant == "fix2":
            at_once(old[:, 2:-2], left2, left, mid, right, right2, fast, stiff, keeps, later[:, 2:-2])
            return
        cupy.subtract(mid, old[:, 2:-2], out=speed)  # cause: launch
        cupy.multiply(speed, keeps, out=speed)  # cause: launch
        cupy.add(left, right, out=other)  # cause: launch
        cupy.multiply(other, -4.0, out=bent)  # cause: launch
        cupy.add(bent, left2, out=bent)  # cause: launch
        cupy.add(bent, right2, out=bent)  # cause: launch
        cupy.multiply(mid, 6.0, out=force)  # cause: launch
        cupy.add(bent, force, out=bent)  # cause: launch
        cupy.multiply(bent, stiff, out=bent)  # cause: launch
        cupy.multiply(mid, 2.0, out=force)  # cause: launch
        cupy.subtract(other, force, out=force)  # cause: launch
        cupy.multiply(force, fast, out=force)  # cause: launch
        cupy.add(speed, force, out=speed)  # cause: launch
        cupy.subtract(speed, bent, out=speed)  # cause: launch
        cupy.add(mid, speed, out=later[:, 2:-2])  # cause: launch

    def play():
        """A block of samples, which ends with the arrays in the order that it began with."""
        for sample in range(SAMPLES):
            old, now, later = [strings[(sample + k) % 3] for k in range(3)]
            advance(old, now, later)  # cause: launch
            cupy.multiply(later[:, PICKUP], loud, out=heard[sample])  # cause: launch

    def step(go_on=play):
        if turn[0] % 4 == 0:  # both of the last moments have the new shape
            shape = score[turn[0] // 4 % SCORE]
            for moment in strings[:2]:
                cupy.add(moment, shape, out=moment)
        turn[0] += 1
        go_on()  # cause: launch
        heard.sum(axis=1).get(out=block)
        seen[:] = block.tolist()  # a sound card would take it

    def values():
        return [abs(value) for value in seen + strings[1][::32, POINTS // 3].get().tolist()]

    wait = cupy.cuda.runtime.deviceSynchronize
    if variant == "fix":
        wait()
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            play()  # the kernels are there before the capture
            stream.synchronize()
            for array in strings:
                array.fill(0.0)
            stream.synchronize()
            stream.begin_capture()
            play()
            graph = stream.end_capture()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
