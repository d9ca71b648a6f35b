# SPDX-License-Identifier: Apache-2.0
"""CuPy: where the leaves of sugar beets turn yellow from a virus is seen by a camera with 200 colours that a tractor carries over
the field. A film of it has 128 lines of 640 points; the light of each point is compared with a library of 1024 spectra of soil,
straw, healthy leaves, weeds and leaves that are ill (by the angle between two spectra), and the share of ill leaves is kept.

Wrong: the films, of 32.8 MB each, lie in pageable memory; the host waits for their copy, and for the work before it (copy-bound).
fix: they lie in pinned memory, and the host need not wait for them (copy-bound).
fix2: a film comes from pageable memory by another stream, while the GPU works on the one before (copy-bound).
useless: the scores of all spectra go to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

LINES, PIXELS, BANDS, GROUPS, EACH, FILMS, READ = 128, 640, 200, 8, 128, 4, 20
POINTS, DARK, FULL = LINES * PIXELS, 400.0, 12000.0

reflectance_of = cupy.ElementwiseKernel("uint16 counts, float32 dark, float32 gain", "float32 light",
                                        "light = ((float)counts - dark) * gain", "reflectance_of")
length_of = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrtf(a) + 1e-6f", "0", "length_of")
ill_share = cupy.ElementwiseKernel("raw float32 best, float32 length", "float32 share", """
    float all = 0.0f, ill = 0.0f;
    for (int g = 0; g < 8; ++g) {
        float weight = expf(60.0f * (best[i * 8 + g] / length - 1.0f));
        all += weight;
        ill += g >= 5 ? weight : 0.0f;
    }
    share += 0.05f * (ill / all - share);
""", "ill_share")


def spectra_known(random):
    """A library of smooth spectra, of eight groups, (GROUPS * EACH, BANDS)."""
    colours = numpy.linspace(0.0, 1.0, BANDS)
    found = []
    for group in range(GROUPS):
        edge, middle = 0.30 + 0.05 * group, 0.15 + 0.09 * group
        for _ in range(EACH):
            rise = 1.0 / (1.0 + numpy.exp((edge + random.normal(0.0, 0.02) - colours) * 25.0))
            hill = numpy.exp(-((colours - middle - random.normal(0.0, 0.01)) / 0.08) ** 2)
            found.append(0.08 + 0.5 * rise + random.uniform(0.2, 0.4) * hill)
    return numpy.array(found, dtype=numpy.float32)


def films_of(random, library, dark, gain):
    """Films of the field as the camera counts light, of 16 bits."""
    for _ in range(FILMS):
        which = random.integers(0, GROUPS * EACH, (LINES, PIXELS))
        light = library[which] * random.uniform(0.6, 1.0, (LINES, PIXELS, 1)).astype(numpy.float32)
        light += 0.01 * random.standard_normal(light.shape, dtype=numpy.float32)
        yield (light / gain + dark).clip(0.0, 65535.0).astype(numpy.uint16)


def pinned(film):
    there = cupyx.empty_pinned(film.shape, dtype=film.dtype)
    there[...] = film
    return there


def make(variant):
    random = numpy.random.default_rng(20)
    library = spectra_known(random)
    dark = random.normal(DARK, 10.0, (PIXELS, BANDS)).astype(numpy.float32)
    gain = (random.uniform(0.8, 1.2, (PIXELS, BANDS)) / FULL).astype(numpy.float32)
    films = list(films_of(random, library, dark, gain))
    if variant == "fix":
        films = [pinned(film) for film in films]
    library /= numpy.linalg.norm(library, axis=1, keepdims=True)
    known, dark, gain = cupy.asarray(numpy.ascontiguousarray(library.T)), cupy.asarray(dark), cupy.asarray(gain)
    rooms = [cupy.empty((LINES, PIXELS, BANDS), dtype=cupy.uint16) for _ in range(2)]
    light = cupy.empty((LINES, PIXELS, BANDS), dtype=cupy.float32)
    scores = cupy.empty((POINTS, GROUPS * EACH), dtype=cupy.float32) if variant == "useless" else None
    share = cupy.zeros(POINTS, dtype=cupy.float32)
    main, side = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
    come, free = [cupy.cuda.Event() for _ in range(2)], [cupy.cuda.Event() for _ in range(2)]
    turn, told = [0], [0.0]

    def compare(film):
        reflectance_of(film, dark, gain, light)
        spectra = light.reshape(POINTS, BANDS)
        length = length_of(spectra, axis=1)
        found = cupy.dot(spectra, known, scores)
        best = found.reshape(POINTS * GROUPS, EACH).max(axis=1)
        ill_share(best, length, share)

    def send(number):
        """A film comes to the array that is free, by the other stream."""
        side.wait_event(free[number % 2])
        rooms[number % 2].set(films[number % FILMS], stream=side)
        come[number % 2].record(side)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            main.wait_event(come[number % 2])
            compare(rooms[number % 2])
            free[number % 2].record(main)
            send(number + 1)
        else:
            if variant == "fix":
                rooms[0].set(films[number % FILMS], stream=main)
            else:
                rooms[0].set(films[number % FILMS])  # cause: copy,wait
            compare(rooms[0])
        if turn[0] % READ == 0:
            told[0] = float(share.mean())

    if variant == "fix2":
        cupy.cuda.runtime.deviceSynchronize()
        send(0)
    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize,
                        lambda: share.reshape(8, -1).mean(axis=1).tolist())


run.main(make)
