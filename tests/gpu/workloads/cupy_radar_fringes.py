# SPDX-License-Identifier: Apache-2.0
"""CuPy: how the ground of a volcano rises is seen by the fringes between two pictures that a radar satellite took of it: one is
multiplied by the other, the noise is filtered out patch by patch (Goldstein), and the phase is added to the mean of all pairs.

Wrong: the memory pool is emptied behind each pair "to be on the safe side"; all arrays of the next one come from the driver anew.
fix: the pool is left alone (alloc-bound).
fix2: how much two pictures agree stays on the device, and is read behind 20 pairs (sync-bound).
useless: how much they agree is read into pinned memory.
"""
import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=600, warm_up=TOGETHER, multiple=TOGETHER)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, PATCH, LOOKS, PICTURES, STRENGTH, HOLD = 2048, 32, 4, 5, 0.5, 0.05
PATCHES, SEEN = SIZE // PATCH, SIZE // LOOKS


def pictures():
    """Complex pictures of the same ground, which swells from one to the next, with a bit of noise."""
    random = cupy.random.default_rng(20)
    y, x = cupy.mgrid[0:SIZE, 0:SIZE].astype(cupy.float32) / SIZE - 0.5
    swollen = cupy.exp(-12.0 * (x * x + y * y))
    ground = random.standard_normal((2, SIZE, SIZE), dtype=cupy.float32)
    for number in range(PICTURES):
        noise = 0.4 * random.standard_normal((2, SIZE, SIZE), dtype=cupy.float32)
        wave = cupy.exp(1j * (30.0 * x + 9.0 * number * swollen)).astype(cupy.complex64)
        yield (ground[0] + 1j * ground[1]) * wave + (noise[0] + 1j * noise[1])


def looks(picture):
    """The mean of each few points, along and across."""
    return picture.reshape(SEEN, LOOKS, SEEN, LOOKS).mean(axis=(1, 3))  # cause: alloc


def agreement(one, other, crossed):
    """How much two pictures agree, from 0 to 1, for each few points."""
    strong = looks(cupy.square(cupy.abs(one))) * looks(cupy.square(cupy.abs(other)))  # cause: alloc
    return cupy.abs(looks(crossed)) / cupy.sqrt(strong)  # cause: alloc


def filtered(crossed):
    """What is strong in a patch's spectrum is made stronger."""
    patches = crossed.reshape(PATCHES, PATCH, PATCHES, PATCH).transpose(0, 2, 1, 3)
    spectra = cupy.fft.fft2(cupy.ascontiguousarray(patches))  # cause: alloc
    strength = cupy.abs(spectra)  # cause: alloc
    strength /= strength.mean(axis=(2, 3), keepdims=True)  # cause: alloc
    clean = cupy.fft.ifft2(spectra * strength ** STRENGTH)  # cause: alloc
    return clean.transpose(0, 2, 1, 3).reshape(SIZE, SIZE)  # cause: alloc


def make(variant):
    taken = list(pictures())
    risen = cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
    pool = cupy.get_default_memory_pool()
    landing = cupyx.empty_pinned(1, dtype=numpy.float32) if variant == "useless" else None
    turn, pending, agreed = [0], [], [0.5]

    def note(share):
        agreed[0] += HOLD * (float(share) - agreed[0])

    def interfere(one, other):
        crossed = one * cupy.conj(other)  # cause: alloc
        share = agreement(one, other, crossed).mean()  # cause: alloc
        phase = cupy.angle(filtered(crossed))  # cause: alloc
        phase -= risen
        phase *= HOLD
        risen.__iadd__(phase)
        return share

    def step():
        number = turn[0] % (2 * PICTURES - 2)  # forth and back
        at, to = (number, number + 1) if number < PICTURES - 1 else (2 * PICTURES - 2 - number, 2 * PICTURES - 3 - number)
        turn[0] += 1
        share = interfere(taken[at], taken[to])  # cause: alloc
        if variant == "useless":
            note(share.reshape(1).get(out=landing)[0])
        elif variant == "fix2":
            pending.append(share)
            if len(pending) == TOGETHER:
                for one in cupy.stack(pending).get().tolist():
                    note(one)
                pending.clear()
        else:
            note(share)  # cause: wait,copy
        del share
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    def values():
        return agreed + cupy.abs(risen[::64, ::64]).ravel().get().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
