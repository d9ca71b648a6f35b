# SPDX-License-Identifier: Apache-2.0
"""CuPy: small drops in a spray are found by holograms: from each picture of a camera the light is computed at six depths behind
it, and for each point it is kept how dark it becomes and at which depth; a program on the host then counts the drops.

Wrong: pictures come from pageable memory, and cupy.asnumpy() copies both results to new pageable memory.
fix: pictures lie in pinned memory, and so does what comes back (copy-bound).
fix2: the depth comes back as a number of one byte, not of eight, to pageable memory (copy-bound).
useless: a picture is copied into an array on the GPU that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, DEPTHS, PICTURES, DROPS, DARK, HOLD = 2048, 6, 6, 300, 0.6, 0.05
PIXEL, WAVE, FIRST, APART = 3.45e-6, 0.532e-6, 0.02, 0.004  # metres


def ways():
    """What becomes of each wave from the camera back to a depth: DEPTHS x (SIZE, SIZE)."""
    often = cupy.fft.fftfreq(SIZE, PIXEL)
    square = 1.0 - (WAVE * often[:, None]) ** 2 - (WAVE * often[None, :]) ** 2
    root = cupy.sqrt(cupy.maximum(square, 0.0))
    for number in range(DEPTHS):
        yield cupy.exp(-2j * numpy.pi / WAVE * (FIRST + APART * number) * root).astype(cupy.complex64)


def spray(back):
    """Pictures of 12 bits, as the camera takes them of drops at all depths."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[-12:13, -12:13]
    for _ in range(PICTURES):
        light = numpy.ones((DEPTHS, SIZE, SIZE), dtype=numpy.float32)
        for top, left in random.integers(12, SIZE - 13, (DROPS, 2)):
            drop = x * x + y * y < random.uniform(9.0, 140.0)
            light[random.integers(DEPTHS), top - 12:top + 13, left - 12:left + 13][drop] = 0.0
        waves = cupy.zeros((SIZE, SIZE), dtype=cupy.complex64)
        for way, layer in zip(back, light):
            waves += cupy.fft.fft2(cupy.asarray(layer - 1.0, dtype=cupy.complex64)) * cupy.conj(way)
        taken = cupy.square(cupy.abs(1.0 + cupy.fft.ifft2(waves)))
        yield cupy.clip(1000.0 * taken, 0.0, 4095.0).astype(cupy.uint16).get()


def pinned(like):
    """The same array in pinned memory."""
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    back = list(ways())
    pictures = list(spray(back))
    place = cupy.empty((SIZE, SIZE), dtype=cupy.uint16) if variant in ("fix", "useless") else None
    dark_there, depth_there = None, None
    if variant == "fix":
        pictures = [pinned(picture) for picture in pictures]
        dark_there = cupyx.empty_pinned((SIZE, SIZE), dtype=numpy.float32)
        depth_there = cupyx.empty_pinned((SIZE, SIZE), dtype=numpy.int64)
    turn, mean = [0], [0.0, 0.0]

    def focused(picture):
        """How dark each point becomes, and at which depth."""
        light = picture.astype(cupy.float32)
        light *= 1.0 / light.mean()
        waves = cupy.fft.fft2(light.astype(cupy.complex64))
        there = cupy.stack([cupy.abs(cupy.fft.ifft2(waves * way)) for way in back])
        return there.min(axis=0), there.argmin(axis=0)

    def brought(picture):
        if variant == "fix":
            place.set(picture, stream=cupy.cuda.get_current_stream())
            return place
        if variant == "useless":
            place.set(picture)
            return place
        return cupy.asarray(picture)  # cause: copy

    def fetched(dark, depth):
        if variant == "fix":
            stream = cupy.cuda.get_current_stream()
            dark.get(stream=stream, out=dark_there, blocking=False)
            depth.get(stream=stream, out=depth_there, blocking=False)
            stream.synchronize()
            return dark_there, depth_there
        if variant == "fix2":
            depth = depth.astype(cupy.uint8)
        return cupy.asnumpy(dark), cupy.asnumpy(depth)  # cause: copy

    def count(dark, depth):
        """Points of drops, and their mean depth, in some lines of the picture."""
        drops = dark[::64] < DARK
        mean[0] += HOLD * (float(drops.mean()) - mean[0])
        if drops.any():
            mean[1] += HOLD * (float(depth[::64][drops].mean()) - mean[1])

    def step():
        picture = brought(pictures[turn[0] % PICTURES])  # cause: copy
        turn[0] += 1
        count(*fetched(*focused(picture)))  # cause: copy

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(mean))


run.main(make)
