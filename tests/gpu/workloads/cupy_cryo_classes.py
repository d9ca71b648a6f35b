# SPDX-License-Identifier: Apache-2.0
"""CuPy: pictures of single proteins from an electron microscope are sorted: each is compared with the means of 16 classes, at all
shifts at once by a Fourier transform, and added to the mean of the class that it is most like, where it fits there.

Wrong: the pool of memory is emptied behind each batch, since others use the GPU, too; each array of the next batch is allocated
by the driver, and freed again, which waits for the GPU.
fix: the pool keeps its memory (alloc-bound).
useless: how well a batch fits is read once for 20 batches.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, numpy = fixable.load_cupy("numpy")

SIZE, CLASSES, BATCH, BATCHES, KEEPS = 96, 16, 256, 6, 0.98


def proteins(random):
    """What the microscope might see of the proteins: some blobs each, (CLASSES, SIZE, SIZE)."""
    y, x = numpy.mgrid[:SIZE, :SIZE].astype(numpy.float32)
    for _ in range(CLASSES):
        view = numpy.zeros((SIZE, SIZE), dtype=numpy.float32)
        for _ in range(9):
            at, wide = random.normal(SIZE / 2, SIZE / 8, 2), random.uniform(3.0, 9.0)
            view += numpy.exp(-((y - at[0]) ** 2 + (x - at[1]) ** 2) / (2.0 * wide * wide)).astype(numpy.float32)
        yield view - view.mean()


def taken(views, random):
    """Batches of noisy pictures, the protein of which is not in the middle."""
    for _ in range(BATCHES):
        pictures = 1.5 * random.standard_normal((BATCH, SIZE, SIZE), dtype=numpy.float32)
        for picture in pictures:
            picture += numpy.roll(views[random.integers(0, CLASSES)], random.integers(-8, 9, 2), axis=(0, 1))
        yield cupy.asarray(pictures)


def make(variant):
    random, pool = numpy.random.default_rng(20), cupy.get_default_memory_pool()
    views = list(proteins(random))
    batches = list(taken(views, random))
    start = numpy.stack(views) + 0.5 * random.standard_normal((CLASSES, SIZE, SIZE), dtype=numpy.float32)
    means, along = cupy.asarray(start), cupy.arange(SIZE)
    each = cupy.arange(BATCH)[:, None, None]
    turn, fits, pending = [0], [], []

    def likeness(pictures):
        """How alike each picture and each class are at the best shift, and that shift."""
        waves = cupy.fft.rfft2(pictures)  # cause: alloc
        patterns = cupy.fft.rfft2(means).conj()  # cause: alloc
        products = waves[:, None] * patterns[None]  # cause: alloc
        alike = cupy.fft.irfft2(products, s=(SIZE, SIZE)).reshape(BATCH, CLASSES, SIZE * SIZE)  # cause: alloc
        return alike.max(axis=2), alike.argmax(axis=2)  # cause: alloc

    def sort(pictures):
        alike, shifts = likeness(pictures)  # cause: alloc
        alike /= cupy.sqrt(cupy.square(means).sum(axis=(1, 2))) + 1.0  # cause: alloc
        best = alike.argmax(axis=1)  # cause: alloc
        shift = cupy.take_along_axis(shifts, best[:, None], axis=1)  # cause: alloc
        down, right = shift // SIZE, shift % SIZE  # cause: alloc
        fitting = pictures[each, (along[:, None] + down[:, :, None]) % SIZE, (along + right[:, :, None]) % SIZE]  # cause: alloc
        belongs = (best == cupy.arange(CLASSES)[:, None]).astype(cupy.float32)  # cause: alloc
        sums = belongs @ fitting.reshape(BATCH, SIZE * SIZE)  # cause: alloc
        count = belongs.sum(axis=1, keepdims=True)  # cause: alloc
        news = (sums / cupy.maximum(count, 1.0)).reshape(CLASSES, SIZE, SIZE)  # cause: alloc
        share = ((1.0 - KEEPS) * (count > 0.0))[:, :, None].astype(cupy.float32)  # cause: alloc
        means.__iadd__(share * (news - means))  # cause: alloc
        return cupy.take_along_axis(alike, best[:, None], axis=1).mean()  # cause: alloc

    def step():
        fit = sort(batches[turn[0] % BATCHES])  # cause: alloc
        turn[0] += 1
        if variant == "useless":
            pending.append(fit)
        else:
            fits[:] = fits[1 - LOOK_EVERY:] + [float(fit)]
        if turn[0] % LOOK_EVERY == 0 and pending:
            fits[:] = [float(fit) for fit in pending]
            pending.clear()
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    def values():
        return [abs(value) for value in means[:, ::16, ::16].get().ravel().tolist()]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
