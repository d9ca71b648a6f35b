# SPDX-License-Identifier: Apache-2.0
"""CuPy: a laboratory of dairy farmers tells from the infrared spectrum of a cow's milk how much fat, protein, lactose, urea and
ketones there is in it. A step has the spectra of 16384 milks: their slopes are taken and made equally long, so that neither the
thickness of the cell nor its windows matter, and are compared with 2048 milks that chemists have measured (kernel regression).

Wrong: the spectra come in pageable memory, and the GPU waits for the copy of 42 MB, which takes longer than all else.
fix: the spectra are kept in pinned memory (copy-bound).
fix2: the next spectra are copied, from pageable memory as before, while the GPU is at work on these (copy-bound).
useless: slopes and likenesses are written to arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

MILKS, WAVES, GAP, KNOWN, SETS, EVERY, CONTENTS = 16384, 640, 4, 2048, 6, 20, 5
USUAL, SPREAD = (4.1, 3.4, 4.7, 0.25, 0.10), (0.6, 0.3, 0.2, 0.07, 0.05)  # fat to ketones
NARROW, SURE = 20.0, 0.02

length = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "row_length")
likeness = cupy.ElementwiseKernel("float32 product, float32 narrow", "float32 near", "near = exp(narrow * (product - 1.0f))",
                                  "likeness")
blend = cupy.ElementwiseKernel("float32 now", "float32 usual", "usual += 0.05f * (now - usual)", "blend")


def bands():
    """How strongly each content, and water, takes light at each wave: (CONTENTS, WAVES) and (WAVES,)."""
    at = numpy.linspace(0.0, 1.0, WAVES)
    places = ((0.15, 0.62, 0.80), (0.42, 0.48, 0.55), (0.22, 0.28, 0.33), (0.45, 0.70, 0.90), (0.38, 0.66, 0.86))
    own = numpy.stack([sum(numpy.exp(-numpy.square((at - place) / 0.02)) for place in three) for three in places])
    own *= numpy.array((0.05, 0.06, 0.05, 0.40, 0.60))[:, None]
    water = 0.8 * numpy.exp(-numpy.square((at - 0.5) / 0.08)) + 0.3 * at
    return own.astype(numpy.float32), water.astype(numpy.float32)


def milks(random, number, noise):
    """Contents and spectra of milks, in cells of slightly other thicknesses with windows that are not quite clean."""
    own, water = bands()
    contents = numpy.array(USUAL) + numpy.array(SPREAD) * random.standard_normal((number, CONTENTS))
    contents = contents.astype(numpy.float32)
    spectra = contents @ own
    spectra += water
    spectra *= random.uniform(0.95, 1.05, (number, 1)).astype(numpy.float32)
    spectra += random.uniform(0.0, 0.1, (number, 1)).astype(numpy.float32)
    spectra += noise
    return contents, spectra


def prepared(spectra):
    """The slopes of spectra, without their mean, and of length one; on the host."""
    slopes = spectra[:, GAP:] - spectra[:, :-GAP]
    slopes = slopes - slopes.mean(axis=1, keepdims=True)
    return slopes / numpy.sqrt(numpy.square(slopes).sum(axis=1, keepdims=True))


def trained(random):
    """Slopes of the known milks, (WAVES - GAP, KNOWN), and the weights that tell contents from likenesses to them."""
    contents, spectra = milks(random, KNOWN, 0.001 * random.standard_normal((KNOWN, WAVES), dtype=numpy.float32))
    known = prepared(spectra.astype(numpy.float64))
    near = numpy.exp(NARROW * (known @ known.T - 1.0))
    weights = numpy.linalg.solve(near + SURE * numpy.eye(KNOWN), contents - numpy.array(USUAL))
    return cupy.asarray(numpy.ascontiguousarray(known.T, dtype=numpy.float32)), cupy.asarray(weights.astype(numpy.float32))


def pinned(like):
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    random = numpy.random.default_rng(20)
    known, weights = trained(random)
    noise = 0.001 * random.standard_normal((MILKS, WAVES), dtype=numpy.float32)
    batches = [milks(random, MILKS, numpy.roll(noise, 997 * number, axis=0))[1] for number in range(SETS)]
    if variant == "fix":
        batches = [pinned(spectra) for spectra in batches]
    places = [cupy.empty((MILKS, WAVES), dtype=cupy.float32) for _ in range(2 if variant == "fix2" else 1)]
    kept = cupy.empty((MILKS, WAVES - GAP), dtype=cupy.float32) if variant == "useless" else None
    nearness = cupy.empty((MILKS, KNOWN), dtype=cupy.float32) if variant == "useless" else None
    middle, usual = cupy.asarray(numpy.array(USUAL, dtype=numpy.float32)), cupy.zeros(CONTENTS, dtype=cupy.float32)
    main, copies = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    came, used = [[cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
    turn, told = [0], []

    def send_ahead(number):
        """Copies spectra, once the kernels that read that place before are done."""
        copies.wait_event(used[number % 2])
        places[number % 2].set(batches[number % SETS], stream=copies)
        copies.record(came[number % 2])

    def brought(number):
        if variant == "fix2":
            main.wait_event(came[number % 2])
            return places[number % 2]
        if variant == "fix":
            places[0].set(batches[number % SETS], stream=main)
        else:
            places[0].set(batches[number % SETS])  # cause: copy
        return places[0]

    def contents_of(spectra):
        slopes = cupy.subtract(spectra[:, GAP:], spectra[:, :-GAP], out=kept)
        slopes -= slopes.mean(axis=1, keepdims=True)
        slopes /= length(slopes, axis=1, keepdims=True)
        near = cupy.dot(slopes, known, out=nearness)
        likeness(near, NARROW, near)
        found = cupy.dot(near, weights)
        found += middle
        return found

    if variant == "fix2":
        send_ahead(0)

    def step():
        number = turn[0]
        turn[0] += 1
        found = contents_of(brought(number))  # cause: copy
        blend(found.mean(axis=0), usual)
        if variant == "fix2":
            main.record(used[number % 2])
            send_ahead(number + 1)
        if turn[0] % EVERY == 0:
            told[:] = usual.get().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual.get().tolist())


run.main(make)
