# SPDX-License-Identifier: Apache-2.0
"""CuPy: readings of sensors come as lines of text, and each of them is looked for among 4096 known states on the GPU.

Wrong: Python turns the text into numbers, one after the other, and the GPU waits for them.
fix: the readings are kept as binary, and NumPy takes them as they are (host-bound).
useless: the numbers go to an array on the device that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
cupy, numpy = fixable.load_cupy("numpy")

READINGS, SENSORS, STATES, FILES, LOOK_EVERY = 4096, 8, 4096, 4, 20


def files():
    """(as text, as binary) of each file."""
    random = numpy.random.default_rng(20)
    made = []
    for _ in range(FILES):
        readings = random.standard_normal((READINGS, SENSORS)).round(4).astype(numpy.float32)
        made.append(("\n".join(",".join("%.4f" % value for value in row) for row in readings.tolist()), readings.tobytes()))
    return made


def parse(text):
    rows = []
    for line in text.splitlines():
        rows.append([float(value) for value in line.split(",")])
    return numpy.array(rows, dtype=numpy.float32)


def make(variant):
    random = numpy.random.default_rng(21)
    lying = files()
    states = cupy.asarray(random.standard_normal((STATES, SENSORS), dtype=numpy.float32))
    lengths = (states * states).sum(axis=1)
    worth, sums = cupy.asarray(random.random(STATES, dtype=numpy.float32)), cupy.zeros(2, cupy.float32)
    static = cupy.empty((READINGS, SENSORS), cupy.float32)
    turn, seen = [0], []

    def read(number):
        text, binary = lying[number % FILES]
        if variant == "fix":
            return numpy.frombuffer(binary, numpy.float32).reshape(READINGS, SENSORS)
        return parse(text)  # cause: loader

    def step():
        readings = read(turn[0])  # cause: loader
        turn[0] += 1
        if variant == "useless":
            static.set(readings)
            here = static
        else:
            here = cupy.asarray(readings)  # cause: delayed
        far = (here * here).sum(axis=1)[:, None] + lengths - 2.0 * (here @ states.T)
        sums[0] += worth[far.argmin(axis=1)].mean()
        sums[1] += cupy.sqrt(cupy.maximum(far.min(axis=1), 0.0)).mean()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = sums.get().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(seen))


run.main(make)
