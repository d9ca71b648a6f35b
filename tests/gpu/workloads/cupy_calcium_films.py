# SPDX-License-Identifier: Apache-2.0
"""CuPy: the neurons of a mouse that is awake light up when they are active; in films of them (calcium imaging) each picture is
first put back to where the mean picture is, as the head moves, and then each neuron's light is compared with its usual one.

Wrong: CuPy is told to take managed memory, since films may be larger than the GPU's, but without a pool: each array is made and
freed by the driver, and its pages come to the GPU when they are first written to.
fix: a pool of managed memory (alloc-bound).
fix2: the brightest light stays on the device, and is read every 10 pieces of the film (sync-bound).
useless: the brightest light is read into pinned memory.
"""
import math

import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, FRAMES, PIECES, NEURONS, FAR, HOLD = 512, 16, 5, 64, 6, 0.02


def spots(random):
    """The neurons: round spots, each of which has the light 1 in all."""
    y, x = numpy.mgrid[0:SIZE, 0:SIZE]
    at = random.uniform(20.0, SIZE - 20.0, (NEURONS, 2))
    found = [numpy.exp(-((y - down) ** 2 + (x - right) ** 2) / 32.0) for down, right in at]
    return numpy.stack([spot / spot.sum() for spot in found]).astype(numpy.float32)


def films(random, neurons):
    """Pieces of a film, as the camera's 16 bits."""
    shapes = neurons.reshape(NEURONS, -1)
    texture = random.uniform(80.0, 160.0, (SIZE, SIZE))
    for _ in range(PIECES):
        active = random.gamma(0.5, 6000.0, (FRAMES, NEURONS)).astype(numpy.float32)
        frames = texture + 2000.0 * shapes.sum(axis=0).reshape(SIZE, SIZE) + (active @ shapes).reshape(FRAMES, SIZE, SIZE)
        moved = [numpy.roll(frame, random.integers(-FAR, FAR + 1, 2), axis=(0, 1)) for frame in frames]
        yield random.poisson(numpy.stack(moved)).astype(numpy.uint16)


def make(variant):
    random = numpy.random.default_rng(20)
    neurons = spots(random)
    pieces = list(films(random, neurons))
    allocator = cupy.cuda.malloc_managed
    if variant == "fix":
        allocator = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc
    masks = cupy.asarray(neurons.reshape(NEURONS, -1).T.copy())
    usual = cupy.asarray(pieces[0][0].astype(numpy.float32))
    wanted = cupy.conj(cupy.fft.rfft2(usual))
    down, right = cupy.fft.fftfreq(SIZE).astype(cupy.float32), cupy.fft.rfftfreq(SIZE).astype(cupy.float32)
    landing = cupyx.empty_pinned(1, dtype=numpy.float32) if variant == "useless" else None
    turn, pending, brightest = [0], [], [0.0]

    def steadied(piece):
        """The pictures of a piece where the mean picture is (phase correlation)."""
        spectra = cupy.fft.rfft2(piece)  # cause: alloc
        cross = spectra * wanted  # cause: alloc
        cross /= cupy.abs(cross) + 1e-6  # cause: alloc
        alike = cupy.fft.irfft2(cross, s=(SIZE, SIZE))  # cause: alloc
        best = alike.reshape(FRAMES, -1).argmax(axis=1)  # cause: alloc
        y, x = (best // SIZE).astype(cupy.float32), (best % SIZE).astype(cupy.float32)  # cause: alloc
        turns = y[:, None, None] * down[:, None] + x[:, None, None] * right  # cause: alloc
        return cupy.fft.irfft2(spectra * cupy.exp(2j * math.pi * turns), s=(SIZE, SIZE))  # cause: alloc

    def look(piece):
        """How bright the brightest neuron of each piece becomes, next to what is usual."""
        steady = steadied(cupy.asarray(piece).astype(cupy.float32))  # cause: alloc
        usual.__iadd__(HOLD * (steady.mean(axis=0) - usual))  # cause: alloc
        rise = (steady - usual) / (usual + 20.0)  # cause: alloc
        return (rise.reshape(FRAMES, -1) @ masks).max()  # cause: alloc

    def note(rise):
        brightest[0] += 0.05 * (rise - brightest[0])

    def step():
        rise = look(pieces[turn[0] % PIECES])  # cause: alloc
        turn[0] += 1
        if variant == "fix2":
            pending.append(rise)
            if turn[0] % LOOK_EVERY == 0:
                for number in cupy.stack(pending).tolist():
                    note(number)
                pending.clear()
        elif variant == "useless":
            rise.reshape(1).get(out=landing)
            note(float(landing[0]))
        else:
            note(float(rise))

    def loop(steps):
        with cupy.cuda.using_allocator(allocator):
            for _ in range(steps):
                step()  # cause: alloc

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(brightest))


run.main(make)
