# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: jets and tails of a comet are faint beside the light about its nucleus. A picture of 4096 by 4096 pixels is
made even, and laid out by angle and distance from the nucleus; it is divided by its mean at each distance, compared with itself
a little turned to either side, and smoothed outwards. The angle where most is left is where the tail points to.

Wrong: after each picture, all memory that CuPy keeps is given back to the driver, and it is taken anew for the next one.
fix: the memory is kept (alloc-bound).
useless: the angles, which are read once in 25 pictures, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

SIDE, ANGLES, RADII, PICTURES, TURN, NEAR, FAR, FLAT, READ = 4096, 4096, 4096, 5, 64, 400, 2400, 31, 25
FULL, FURTHEST = 6.2831853, 1900.0  # a circle; pixels from the nucleus


def pictures():
    """Pictures of the comet in 16 bits: its coma, two tails, the sky and noise."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    down = cupy.arange(SIDE, dtype=cupy.float32)[:, None] - SIDE / 2
    right = cupy.arange(SIDE, dtype=cupy.float32)[None, :] - SIDE / 2
    far, angle = cupy.hypot(down, right), cupy.arctan2(down, right)
    for _ in range(PICTURES):
        points = float(luck.uniform(-2.0, 2.0))
        light = 60000.0 / (far + 20.0) + 200.0
        for at, wide, strong in ((points, 0.02, 80.0), (points + 0.4, 0.08, 40.0)):
            light += strong * cupy.exp(-0.5 * ((angle - at) / wide) ** 2)
        light += 5.0 * chance.standard_normal((SIDE, SIDE), dtype=cupy.float32)
        yield light.astype(cupy.int16)


def make(variant):
    taken = list(pictures())
    pool = cupy.get_default_memory_pool()
    turned = cupy.linspace(-FULL / 2, FULL / 2, ANGLES, endpoint=False, dtype=cupy.float32)[:, None]
    away = cupy.linspace(1.0, FURTHEST, RADII, dtype=cupy.float32)
    where = cupy.stack((SIDE / 2 + away * cupy.sin(turned), SIDE / 2 + away * cupy.cos(turned))).astype(cupy.float32)
    edge = cupy.linspace(-1.0, 1.0, SIDE, dtype=cupy.float32)
    gain = 1.0 + 0.1 * (edge[:, None] ** 2 + edge ** 2)
    angles = cupy.zeros((2, PICTURES), dtype=cupy.float32)
    told = (cupyx.empty_pinned if variant == "useless" else numpy.empty)((2, PICTURES), dtype=numpy.float32)
    turn, notes = [0], [0.0]

    def look(picture, found):
        """Where the tail points to, and how strong it is."""
        flat = picture.astype(cupy.float32)  # cause: alloc
        flat -= 200.0
        flat *= gain
        polar = ndimage.map_coordinates(flat, where, order=1, mode="nearest")  # cause: alloc
        tail = polar / polar.mean(axis=0)  # cause: alloc
        jets = 2.0 * tail  # cause: alloc
        jets -= cupy.roll(tail, TURN, axis=0)  # cause: alloc
        jets -= cupy.roll(tail, -TURN, axis=0)
        smooth = ndimage.uniform_filter1d(jets, FLAT, axis=1, mode="nearest")
        rough = cupy.abs(jets - smooth)  # cause: alloc
        strong = smooth[:, NEAR:FAR].mean(axis=1) / (rough[:, NEAR:FAR].mean(axis=1) + 0.01)
        strong = ndimage.uniform_filter1d(strong, FLAT, mode="wrap")
        found[0] = strong.argmax() * (FULL / ANGLES)
        found[1] = strong.max()

    def step():
        number = turn[0] % PICTURES
        look(taken[number], angles[:, number])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            angles.get(out=told)
            notes[0] += 0.1 * (float(told[1].mean()) - notes[0])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: angles.get().reshape(-1).tolist() + notes)


run.main(make)
