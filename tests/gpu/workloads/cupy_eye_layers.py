# SPDX-License-Identifier: Apache-2.0
"""CuPy: the layers of the retina are seen by light of many colours (optical coherence tomography): from the spectrum at each of
512 places of a line across the eye it is computed by an FFT how much light comes back from which depth; then the lines are
smoothed, and where the retina begins and how bright its layers are is told.

Wrong: since whole eyes did not fit into the GPU's memory once, arrays are in managed memory, by cupy.cuda.malloc_managed as the
allocator; it has no pool, so the driver makes each array of a step anew, and frees it again.
fix: CuPy's own memory pool (alloc-bound).
fix2: a memory pool that takes managed memory (alloc-bound).
useless: what was found comes to pinned memory.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=600, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

LINES, PLACES, COLOURS, DEPTHS, LAYERS = 16, 512, 2048, 1024, 8


def spectra():
    """Lines across an eye, (LINES, PLACES, COLOURS), with 12 bits: for each layer a wave, over the lamp's own colours."""
    random = numpy.random.default_rng(20)
    colour = numpy.linspace(-1.0, 1.0, COLOURS, dtype=numpy.float32)
    lamp = 1500.0 * numpy.exp(-2.0 * colour * colour)
    place = numpy.linspace(-1.0, 1.0, PLACES, dtype=numpy.float32)[:, None]
    for line in range(LINES):
        seen = numpy.ones((PLACES, COLOURS), dtype=numpy.float32)
        for layer in range(LAYERS):
            depth = 180.0 + 25.0 * layer + 40.0 * place * place + 3.0 * math.sin(line + layer)
            seen += random.uniform(0.02, 0.08) * numpy.cos(math.pi * depth * colour + 3.0 * colour * colour)
        seen *= lamp
        seen += 10.0 * random.standard_normal(seen.shape, dtype=numpy.float32)
        yield seen.clip(0.0, 4095.0).astype(numpy.uint16)


def make(variant):
    allocator = cupy.cuda.malloc_managed
    if variant in ("fix", "fix2"):
        allocator = cupy.cuda.MemoryPool(*([cupy.cuda.malloc_managed] if variant == "fix2" else [])).malloc
    eye = [cupy.asarray(line) for line in spectra()]
    colour = cupy.linspace(-1.0, 1.0, COLOURS, dtype=cupy.float32)
    window = cupy.hanning(COLOURS).astype(cupy.float32)
    straight = cupy.exp(-3.0j * colour * colour).astype(cupy.complex64)  # glass bends colours in different ways
    depths = cupy.arange(DEPTHS, dtype=cupy.float32)
    landing = cupyx.empty_pinned((LOOK_EVERY, 2), dtype=numpy.float32) if variant == "useless" else None
    turn, pending, usual = [0], [], [0.0, 0.0]

    def bright(line):
        """How much light comes back, (PLACES, DEPTHS), in logarithms."""
        seen = line.astype(cupy.float32)  # cause: alloc
        seen = seen - seen.mean(axis=0)  # cause: alloc
        seen = seen * window  # cause: alloc
        waves = cupy.fft.fft(seen * straight, axis=1)[:, :DEPTHS]  # cause: alloc
        return cupy.log10(cupy.abs(waves) + 1.0)  # cause: alloc

    def smoothed(picture):
        wide = cupy.pad(picture, ((1, 1), (0, 0)), mode="edge")  # cause: alloc
        picture = 0.25 * wide[:-2] + 0.5 * wide[1:-1] + 0.25 * wide[2:]  # cause: alloc
        return picture - picture[:, -64:].mean()  # cause: alloc

    def layers(picture):
        """Where the retina is, and how much brighter than what is around it."""
        light = cupy.maximum(picture, 0.0)  # cause: alloc
        light = light * light  # cause: alloc
        all_light = light.sum(axis=1) + 1e-6  # cause: alloc
        middle = (light * depths).sum(axis=1) / all_light  # cause: alloc
        near = cupy.abs(depths - middle[:, None]) < 120.0  # cause: alloc
        inside = (light * near).sum(axis=1) / all_light  # cause: alloc
        return cupy.stack((middle.mean() / DEPTHS, inside.mean()))  # cause: alloc

    def step():
        pending.append(layers(smoothed(bright(eye[turn[0] % LINES]))))  # cause: alloc
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            found = cupy.stack(pending).astype(cupy.float32)
            pending.clear()
            found = found.get() if landing is None else found.get(out=landing)
            usual[0] += 0.2 * (float(found[:, 0].mean()) - usual[0])
            usual[1] += 0.2 * (float(found[:, 1].mean()) - usual[1])

    def loop(steps):
        with cupy.cuda.using_allocator(allocator):
            for _ in range(steps):
                step()  # cause: alloc

    return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(usual))


run.main(make)
