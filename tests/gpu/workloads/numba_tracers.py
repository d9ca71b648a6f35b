# SPDX-License-Identifier: Apache-2.0
"""Numba: two million tracers drift among whirls; behind each step their places are copied to the host, which logs some of them.

Wrong: all places go to pageable memory at each step, which takes the host longer than the GPU needs to move them.
fix: they are copied to a pinned array that is made once (copy-bound).
fix2: a kernel picks those that are logged, and only these are copied (copy-bound).
useless: no cuda.synchronize() before the copy, which waits anyway.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

TRACERS, WHIRLS, SUBSTEPS, LOGGED_OF = 1 << 21, 96, 4, 128
THREADS = 256
float32 = numba.float32


@cuda.jit
def drift(tracers, whirls):
    """A whirl has a place and a strength; it turns around a line from top to bottom, and pulls a little."""
    i = cuda.grid(1)
    if i < tracers.shape[1]:
        x, y, z = tracers[0, i], tracers[1, i], tracers[2, i]
        for _ in range(SUBSTEPS):
            east, north, up = float32(0.0), float32(0.0), float32(0.0)
            for k in range(whirls.shape[0]):
                dx, dy, dz = x - whirls[k, 0], y - whirls[k, 1], z - whirls[k, 2]
                share = whirls[k, 3] / (dx * dx + dy * dy + dz * dz + float32(0.05))
                east -= share * dy
                north += share * dx
                up -= float32(0.1) * share * dz
            x += float32(0.002) * east
            y += float32(0.002) * north
            z += float32(0.002) * up
        tracers[0, i] = x
        tracers[1, i] = y
        tracers[2, i] = z


@cuda.jit
def pick(tracers, picked):
    i = cuda.grid(1)
    if i < picked.shape[1]:
        for row in range(3):
            picked[row, i] = tracers[row, i * LOGGED_OF]


def blocks(count):
    return (count + THREADS - 1) // THREADS


def make(variant):
    random = numpy.random.default_rng(20)
    places = random.uniform(-1.0, 1.0, (3, TRACERS)).astype(numpy.float32)
    centres = random.uniform(-1.0, 1.0, (WHIRLS, 4)).astype(numpy.float32)
    centres[:, 3] = numpy.where(numpy.arange(WHIRLS) % 2, 0.2, -0.2)
    tracers, whirls = cuda.to_device(places), cuda.to_device(centres)
    count = TRACERS // LOGGED_OF
    stream = cuda.stream() if variant == "fix" else 0
    if variant == "fix":
        kept = cuda.pinned_array((3, TRACERS), numpy.float32)
    elif variant == "fix2":
        picked, kept = cuda.device_array((3, count), numpy.float32), numpy.zeros((3, count), numpy.float32)
    else:
        kept = numpy.zeros((3, TRACERS), numpy.float32)
    seen = []

    def copied():
        """The places of those that are logged, on the host."""
        if variant == "fix":
            tracers.copy_to_host(kept, stream=stream)
            stream.synchronize()
            return kept[:, ::LOGGED_OF]
        if variant == "fix2":
            pick[blocks(count), THREADS](tracers, picked)
            picked.copy_to_host(kept)
            return kept
        if variant != "useless":
            cuda.synchronize()
        tracers.copy_to_host(kept)  # cause: copy
        return kept[:, ::LOGGED_OF]

    def step():
        drift[blocks(TRACERS), THREADS, stream](tracers, whirls)
        logged = copied()
        seen[:] = logged.mean(axis=1).tolist() + logged.max(axis=1).tolist()

    return fixable.Work(step, cuda.synchronize, lambda: list(seen))


run.main(make)
