# SPDX-License-Identifier: Apache-2.0
"""CuPy: restorers ask whether two paintings are by the same hand, and look at how the strokes of the brush lie: a photograph of a
piece of canvas is correlated with four long, thin shapes of 25 by 25 points (cupyx.scipy.ndimage), the strongest answer tells the
way of the stroke at each point, and their mean ways and strengths are told every 20 pieces.

Wrong: nothing (gpu-bound); the GPU computes all the time, 5.9 thousand million products a step, as the host is far ahead of it.
useless: answers go to arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
cupy, numpy, ndimage = fixable.load_cupy("numpy", "cupyx.scipy.ndimage")

SIDE, PIECES, WAYS, SHAPE, LONG, THIN, LOOK = 1536, 6, 4, 25, 6.0, 2.0, 20


def pieces():
    """Photographs of canvas, each with strokes that lie mostly one way."""
    random = numpy.random.default_rng(20)
    down, right = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32)
    for number in range(PIECES):
        angle = 0.2 + 0.45 * number
        across = down * numpy.float32(numpy.cos(angle)) - right * numpy.float32(numpy.sin(angle))
        strokes = numpy.sin(0.7 * across + 2.0 * numpy.sin(0.013 * right + 0.021 * down))
        yield cupy.asarray(strokes + 0.5 * random.standard_normal((SIDE, SIDE), dtype=numpy.float32), dtype=cupy.float32)


def shapes():
    """Long, thin shapes that answer to strokes along 0, 45, 90 and 135 degrees; each sums to zero."""
    far = numpy.arange(SHAPE) - SHAPE // 2
    down, right = numpy.meshgrid(far, far, indexing="ij")
    for way in range(WAYS):
        angle = numpy.pi * way / WAYS
        along = right * numpy.cos(angle) + down * numpy.sin(angle)
        across = down * numpy.cos(angle) - right * numpy.sin(angle)
        shape = numpy.exp(-0.5 * ((along / LONG) ** 2 + (across / THIN) ** 2)) * (1.0 - (across / THIN) ** 2)
        shape -= shape.mean()
        yield cupy.asarray(shape / numpy.abs(shape).sum(), dtype=cupy.float64)


strongest = cupy.ElementwiseKernel(
    "float32 first, float32 second, float32 third, float32 fourth", "float32 strength, float32 level, float32 slanted",
    """
    float a = fabsf(first), b = fabsf(second), c = fabsf(third), d = fabsf(fourth);
    float most = fmaxf(fmaxf(a, b), fmaxf(c, d));
    bool flat = a == most || c == most;
    strength = most;
    level = flat ? (a == most ? most : -most) : 0.0f;
    slanted = flat ? 0.0f : (b == most ? most : -most);
    """, "strongest_way")

followed = cupy.ElementwiseKernel("float32 found", "float32 usual", "usual += 0.05f * (found - usual)", "followed_mean")


def make(variant):
    canvas, brushes = list(pieces()), list(shapes())
    ways = cupy.empty((3, SIDE, SIDE), dtype=cupy.float32)
    usual = cupy.zeros(3, dtype=cupy.float32)
    kept = [cupy.empty((SIDE, SIDE), dtype=cupy.float32) for _ in range(WAYS)] if variant == "useless" else [None] * WAYS
    turn, told = [0], []

    def step():
        piece = canvas[turn[0] % PIECES]
        turn[0] += 1
        answers = [ndimage.correlate(piece, brush, output=place, mode="reflect") for brush, place in zip(brushes, kept)]
        strongest(*answers, ways[0], ways[1], ways[2])
        followed(ways.mean(axis=2).mean(axis=1), usual)
        if turn[0] % LOOK == 0:
            told.append(usual.get().tolist())

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual.get().tolist())


run.main(make)
