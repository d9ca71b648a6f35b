# SPDX-License-Identifier: Apache-2.0
"""CuPy: how much of a lorry's load of maize is mouldy is told at the mill's gate: a sample runs by a camera on a belt, which
takes lines of 640 points in 168 colours of infrared. Light becomes absorbance, each point's spectrum gets the same mean and
deviation, its slope is taken (Savitzky and Golay), and what is known from the laboratory tells how much toxin and water there is.

Wrong: the camera's driver leaves 128 lines at a time, 27.5 MB, in pageable memory, and the GPU waits for their copy.
fix: the driver writes to pinned memory, and the host need not wait for the copy (copy-bound).
fix2: the next lines are copied, from pageable memory as before, on another stream while these are computed (copy-bound).
useless: the slopes are written to an array that is made once.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=700, warm_up=10)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

LINES, PIXELS, BANDS, SETS, CELL, BRIGHT, LIMIT = 128, 640, 168, 4, 16, 84, 20.0  # LIMIT of toxin, in parts per billion
POINTS = LINES * PIXELS


def spectra():
    """What the belt, good maize and mouldy maize reflect of each colour: (3, BANDS)."""
    along = numpy.linspace(0.0, 1.0, BANDS)
    belt = 0.08 + 0.02 * along
    good = 0.62 - 0.18 * numpy.exp(-numpy.square((along - 0.40) / 0.08)) - 0.22 * numpy.exp(-numpy.square((along - 0.78) / 0.1))
    mould = good - 0.10 * numpy.exp(-numpy.square((along - 0.25) / 0.06)) + 0.06 * along
    return numpy.stack((belt, good, mould)).astype(numpy.float32)


def what_lies_there(random):
    """For each point of the lines whether it is belt (0), good maize (1) or mouldy maize (2): a grain in most cells."""
    rows, columns = LINES // CELL, PIXELS // CELL

    def spread(cells):
        return numpy.repeat(numpy.repeat(cells, CELL, axis=0), CELL, axis=1)

    y, x = numpy.meshgrid(numpy.arange(LINES) % CELL, numpy.arange(PIXELS) % CELL, indexing="ij")
    middle_y, middle_x = (spread(random.uniform(6.0, 9.0, (rows, columns))) for _ in range(2))
    inside = numpy.hypot(y - middle_y, x - middle_x) < spread(random.uniform(4.0, 6.5, (rows, columns)))
    kind = spread(numpy.where(random.random((rows, columns)) < 0.1, 2, 1))
    return numpy.where(inside, kind, 0)


def camera(random):
    """What the camera says in the dark and of a white plate, (PIXELS, BANDS)."""
    dark = 110.0 + 20.0 * random.random((PIXELS, BANDS), dtype=numpy.float32)
    shape = numpy.sin(numpy.linspace(0.5, 2.6, BANDS)).astype(numpy.float32)
    return dark, 300.0 + 3200.0 * shape * (0.9 + 0.2 * random.random((PIXELS, 1), dtype=numpy.float32))


def recorded(random, dark, white):
    """Lines as the camera gives them, in 16 bits: SETS of (LINES, PIXELS, BANDS)."""
    noise = 3.0 * random.standard_normal((LINES, PIXELS, BANDS), dtype=numpy.float32)
    for number in range(SETS):
        lines = spectra()[what_lies_there(random)]
        lines *= 0.8 + 0.3 * random.random((LINES, PIXELS, 1), dtype=numpy.float32)
        lines *= white
        lines += dark
        lines += numpy.roll(noise, 17 * number, axis=0)
        yield lines.clip(0.0, 4095.0).astype(numpy.uint16)


def slope_of():
    """The matrix that makes slopes of spectra, from seven colours each."""
    matrix = numpy.zeros((BANDS, BANDS), dtype=numpy.float32)
    for band in range(3, BANDS - 3):
        for apart in range(-3, 4):
            matrix[band + apart, band] = apart / 28.0
    return matrix


def pinned(like):
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    random = numpy.random.default_rng(20)
    dark, white = camera(random)
    records = [pinned(lines) if variant == "fix" else lines for lines in recorded(random, dark, white)]
    dark, gain, slopes = cupy.asarray(dark), cupy.asarray(1.0 / white), cupy.asarray(slope_of())
    counts = cupy.asarray((15.0 * random.standard_normal((BANDS, 2))).astype(numpy.float32))
    kept = cupy.empty((POINTS, BANDS), dtype=cupy.float32) if variant == "useless" else None
    places = [cupy.empty((LINES, PIXELS, BANDS), dtype=cupy.uint16) for _ in range(2 if variant == "fix2" else 1)]
    main, beside, done = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True), [None, None]
    usual, turn, seen = cupy.zeros(3, dtype=cupy.float32), [0], []

    def send_ahead(number):
        """Copies lines, behind the kernels that read its place before."""
        if done[number % 2] is not None:
            beside.wait_event(done[number % 2])
        places[number % 2].set(records[number % SETS], stream=beside)

    def brought(number):
        if variant == "fix2":
            main.wait_event(beside.record())
            return places[number % 2]
        if variant == "fix":
            places[0].set(records[number % SETS], stream=main)
        else:
            places[0].set(records[number % SETS])  # cause: copy
        return places[0]

    def told(lines):
        """Toxin and water of the maize by the mean, and which share of it has too much toxin."""
        light = (lines.astype(cupy.float32) - dark) * gain
        maize = (light[:, :, BRIGHT] > 0.25).ravel().astype(cupy.float32)
        taken = -cupy.log10(cupy.maximum(light, 1e-3))
        taken -= taken.mean(axis=2, keepdims=True)
        taken /= cupy.sqrt(cupy.square(taken).mean(axis=2, keepdims=True))
        flat = taken.reshape(POINTS, BANDS)
        slope = flat @ slopes if kept is None else cupy.matmul(flat, slopes, out=kept)
        found = slope @ counts + 15.0
        toxin, water = (found[:, 0] * maize).sum(), (found[:, 1] * maize).sum()
        return cupy.stack((toxin, water, ((found[:, 0] > LIMIT) * maize).sum())) / maize.sum()

    if variant == "fix2":
        send_ahead(0)

    def step():
        number = turn[0]
        turn[0] += 1
        found = told(brought(number))  # cause: copy
        usual.__iadd__(0.02 * (found - usual))
        if variant == "fix2":
            done[number % 2] = main.record()
            send_ahead(number + 1)
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = usual.tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: usual.tolist())


run.main(make)
