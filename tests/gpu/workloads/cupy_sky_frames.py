# SPDX-License-Identifier: Apache-2.0
"""CuPy: frames of a telescope are calibrated and added to a running mean without outliers; after each frame the memory pool is
emptied by free_all_blocks(), "so that it does not grow".

Wrong: each frame's arrays are given back to the driver, which waits for the GPU, and allocated anew for the next one.
fix: the pool keeps its blocks (alloc-bound).
useless: the mean brightness that is looked at now and then comes by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20, multiple=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, FRAMES, LOOK_EVERY, RATE = 2048, 4, 20, 0.02


def make(variant):
    random = numpy.random.default_rng(20)
    sky = random.gamma(2.0, 200.0, (SIZE, SIZE)).astype(numpy.float32)
    frames = [cupy.asarray((sky + random.integers(0, 300, (SIZE, SIZE))).astype(numpy.uint16)) for _ in range(FRAMES)]
    dark = cupy.asarray(random.integers(90, 110, (SIZE, SIZE)).astype(numpy.float32))
    flat = cupy.asarray(random.uniform(0.8, 1.2, (SIZE, SIZE)).astype(numpy.float32))
    mean, variance = cupy.asarray(sky), cupy.full((SIZE, SIZE), 1e4, dtype=cupy.float32)
    landing = cupyx.empty_pinned((1,), dtype=numpy.float32) if variant == "useless" else numpy.zeros(1, numpy.float32)
    pool = cupy.get_default_memory_pool()
    turn, seen = [0], []

    def calibrated(raw):
        clean = (raw.astype(cupy.float32) - dark) / flat  # cause: alloc
        return clean - 0.1 * clean.mean(axis=0, keepdims=True)  # cause: alloc

    def add(frame):
        off = frame - mean  # cause: alloc
        square = off * off  # cause: alloc
        share = cupy.where(square < 9.0 * variance, cupy.float32(RATE), cupy.float32(0.0))  # cause: alloc
        mean.__iadd__(share * off)  # cause: alloc
        variance.__iadd__(share * (square - variance))  # cause: alloc

    def step():
        raw = frames[turn[0] % FRAMES]
        turn[0] += 1
        add(calibrated(raw))
        if turn[0] % LOOK_EVERY == 0:
            mean.mean(keepdims=True).reshape(1).get(out=landing)
            seen[:] = [float(landing[0])]
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    def values():
        return seen + cupy.asnumpy(mean[:64, :64]).reshape(-1).tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
