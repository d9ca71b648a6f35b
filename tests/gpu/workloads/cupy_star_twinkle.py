# SPDX-License-Identifier: Apache-2.0
"""CuPy: why do stars twinkle, and less so in a larger telescope? The light of a star is a plane wave of 2048 by 2048 points; five
layers of warm and cold air bend it, each of which is blown on by its own wind, and from layer to layer it spreads, which is done by
Fourier transforms. A step is one moment: how bright the star is in four mirrors of different size.

Wrong: other programs need memory of this GPU as well, thus CuPy's memory pool is switched off; each array of a step is taken from
the driver, and given back to it, which waits for the GPU.
fix: the pool is left as it is, and keeps the memory (alloc-bound).
useless: the brightness, which is read once in 24 moments, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, LAYERS, MIRRORS, SIDE, READ = 2048, 5, 4, 512, 24
PIXEL, COLOUR, APART, COHERENT = 0.005, 5e-7, 2500.0, 0.3  # metres
BEND = """
int y = (int(i) / 2048 + down) & 2047;
int x = (int(i) % 2048 + right) & 2047;
float s, c;
sincosf(air[y * 2048 + x], &s, &c);
bent = wave * complex<float>(c, s);
"""


def waves_of_air():
    """How much later light comes through each layer, in radians (von Karman's spectrum)."""
    chance = cupy.random.RandomState(20)
    often = cupy.fft.fftfreq(SIZE, PIXEL)
    square = often[:, None] ** 2 + often[None, :] ** 2
    power = 0.023 * COHERENT ** (-5.0 / 3.0) * (square + 0.05 ** 2) ** (-11.0 / 6.0)
    size = cupy.sqrt(power) / (SIZE * PIXEL)
    for _ in range(LAYERS):
        noise = chance.standard_normal((SIZE, SIZE)) + 1j * chance.standard_normal((SIZE, SIZE))
        late = cupy.fft.ifft2(noise * size).real * SIZE ** 2
        yield cupy.ascontiguousarray(late - late.mean(), dtype=cupy.float32)


def spread():
    """What a wave is multiplied with, by its frequencies, on its way to the next layer."""
    often = cupy.fft.fftfreq(SIZE, PIXEL)
    square = often[:, None] ** 2 + often[None, :] ** 2
    return cupy.exp(-1j * numpy.pi * COLOUR * APART * square).astype(cupy.complex64)


def mirrors():
    """Which points each mirror sees, (MIRRORS, SIDE, SIDE), by how many they are."""
    axis = cupy.arange(SIDE, dtype=cupy.float32) - SIDE / 2
    away = cupy.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
    seen = cupy.stack([(away < SIDE / 2 ** (number + 1)).astype(cupy.float32) for number in range(MIRRORS)])
    return cupy.ascontiguousarray(seen / seen.sum(axis=(1, 2), keepdims=True), dtype=cupy.float32)


def make(variant):
    airs, free, seen = list(waves_of_air()), spread(), mirrors()
    plane = cupy.ones((SIZE, SIZE), dtype=cupy.complex64)
    bright = cupy.zeros((READ, MIRRORS), dtype=cupy.float32)
    landing = cupyx.empty_pinned((READ, MIRRORS), dtype=numpy.float32) if variant == "useless" else None
    bend = cupy.ElementwiseKernel("complex64 wave, raw float32 air, int32 down, int32 right", "complex64 bent", BEND, "bend")
    luck = numpy.random.default_rng(20)
    winds = luck.integers(-4, 5, size=(LAYERS, 2))
    pool = cupy.cuda.MemoryPool()
    allocator = pool.malloc if variant == "fix" else None  # None: straight from the driver
    cupy.get_default_memory_pool().free_all_blocks()
    turn, told = [0], numpy.zeros((READ, MIRRORS), dtype=numpy.float32)

    def arrives(moment):
        """The wave on the ground."""
        wave = plane
        for air, (down, right) in zip(airs, winds):
            wave = bend(wave, air, numpy.int32(moment * down % SIZE), numpy.int32(moment * right % SIZE))  # cause: alloc
            wave = cupy.fft.fft2(wave)  # cause: alloc
            wave = wave * free  # cause: alloc
            wave = cupy.fft.ifft2(wave)  # cause: alloc
        return wave

    def look(moment):
        first = (SIZE - SIDE) // 2
        light = cupy.abs(arrives(moment)[first:first + SIDE, first:first + SIDE]) ** 2  # cause: alloc
        bright[moment % READ] = (light * seen).sum(axis=(1, 2))  # cause: alloc

    def step():
        with cupy.cuda.using_allocator(allocator):
            look(turn[0])  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            told[:] = bright.get(out=landing) if variant == "useless" else bright.get()

    def values():
        """How bright the star is, and how much it twinkles in each mirror."""
        found = bright.get()
        return found.mean(axis=0).tolist() + found.std(axis=0).tolist() + told.mean(axis=0).tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
