# SPDX-License-Identifier: Apache-2.0
"""CuPy with ndimage: a fast camera behind a telescope films a planet, and the air makes most of the pictures blurred. Of each batch
of 24 raw frames, 1024 by 1024 each, it is told how sharp they are (how much is left between a little and a lot of blur,
gaussian_filter) and where the planet is; sharp ones are given more weight, and all are laid over one another at their places.

Wrong: the batches are in ordinary NumPy arrays, so the driver copies each one in pieces over a buffer of its own, and the GPU has
nothing to do meanwhile.
fix: the camera writes its batches into pinned memory (copy-bound).
fix2: batches come from ordinary memory as before, but on another stream, while the batch of before is worked on (copy-bound).
useless: the array of what is left between the two blurs is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10)
cupy, cupyx, numpy, ndimage = fixable.load_cupy("cupyx", "numpy", "cupyx.scipy.ndimage")

FRAMES, SIZE, BATCHES, READ, LITTLE, MUCH = 24, 1024, 6, 20, 1.5, 9.0
BLURS = (0.8, 1.6, 2.4, 3.6)


def film():
    """Batches of raw frames on the host: a planet with bands and a spot, which shakes and is more or less blurred."""
    luck = numpy.random.default_rng(20)
    chance = cupy.random.RandomState(20)
    axis = cupy.linspace(-1.0, 1.0, SIZE, dtype=cupy.float32)
    y, x = axis[:, None], axis[None, :]
    bands = 0.7 + 0.2 * cupy.sin(40.0 * y + 0.4 * cupy.sin(9.0 * x)) + 0.1 * cupy.sin(130.0 * y + 60.0 * x)
    planet = cupy.where(x * x + y * y < 0.3, bands - 0.4 * ((x - 0.2) ** 2 + (y + 0.1) ** 2 < 0.006), 0.0)
    for _ in range(BATCHES):
        batch = numpy.empty((FRAMES, SIZE, SIZE), dtype=numpy.uint16)
        for number in range(FRAMES):
            seen = ndimage.gaussian_filter(planet.astype(cupy.float32), float(luck.choice(BLURS)))
            seen = cupy.roll(seen, (int(luck.integers(-12, 13)), int(luck.integers(-12, 13))), axis=(0, 1))
            noisy = 3000.0 * seen + 200.0 + 30.0 * chance.standard_normal((SIZE, SIZE), dtype=cupy.float32)
            batch[number] = noisy.clip(0.0, 65535.0).astype(cupy.uint16).get()
        yield batch


def pinned(batch):
    place = cupyx.empty_pinned(batch.shape, dtype=batch.dtype)
    place[...] = batch
    return place


def make(variant):
    batches = [pinned(batch) if variant == "fix" else batch for batch in film()]
    dark = cupy.full((SIZE, SIZE), 200.0, dtype=cupy.float32)
    flat = 1.0 + 0.1 * cupy.cos(cupy.linspace(-1.0, 1.0, SIZE, dtype=cupy.float32))[None, :] + 0.0 * dark
    raws = [cupy.zeros((FRAMES, SIZE, SIZE), dtype=cupy.uint16) for _ in range(2 if variant == "fix2" else 1)]
    kept = cupy.empty((FRAMES, SIZE, SIZE), dtype=cupy.float32) if variant == "useless" else None
    picture, along = cupy.zeros((SIZE, SIZE), dtype=cupy.float32), cupy.arange(SIZE, dtype=cupy.float32)
    usual = cupy.zeros(FRAMES, dtype=cupy.float32)
    even = cupy.ElementwiseKernel(
        "uint16 raw, float32 dark, float32 flat", "float32 light", "light = ((float)raw - dark) / flat", "even")
    lay = cupy.ElementwiseKernel(
        "raw float32 light, raw float32 weight, raw float32 down, raw float32 right, int32 frames, int32 size", "float32 sum",
        """int row = i / size, column = i % size;
        float total = 0.0f;
        for (int k = 0; k < frames; ++k) {
            int from_row = min(max(row + (int)rintf(down[k] - 0.5f * size), 0), size - 1);
            int from_column = min(max(column + (int)rintf(right[k] - 0.5f * size), 0), size - 1);
            total += weight[k] * light[((ptrdiff_t)k * size + from_row) * size + from_column];
        }
        sum += 0.05f * (total - sum);""", "lay")
    turn, told, main = [0], [0.0], cupy.cuda.Stream.null
    feed = cupy.cuda.Stream(non_blocking=True)
    come, done = cupy.cuda.Event(disable_timing=True), [cupy.cuda.Event(disable_timing=True) for _ in raws]
    for event in done:
        event.record(main)

    def blurred(light, much):
        return ndimage.gaussian_filter(light, (0.0, much, much), truncate=2.5)

    def stack(raw):
        """Lays a batch over the picture."""
        light = even(raw, dark, flat)
        left = cupy.subtract(blurred(light, LITTLE), blurred(light, MUCH), out=kept)
        sharp = cupy.square(left, out=left).mean(axis=(1, 2))
        weight = (sharp / sharp.max()) ** 4
        weight /= weight.sum()
        rows, columns = light.sum(axis=2), light.sum(axis=1)
        down, right = ((sums * along).sum(axis=1) / sums.sum(axis=1) for sums in (rows, columns))
        lay(light, weight, down, right, numpy.int32(FRAMES), numpy.int32(SIZE), picture)
        cupy.add(0.95 * usual, 0.05 * sharp, out=usual)

    def step():
        batch, slot = batches[turn[0] % BATCHES], turn[0] % len(raws)
        turn[0] += 1
        if variant == "fix2":
            feed.wait_event(done[slot])
            raws[slot].set(batch, stream=feed)
            come.record(feed)
            main.wait_event(come)
        else:
            raws[slot].set(batch, stream=main)  # cause: copy
        stack(raws[slot])
        if variant == "fix2":
            done[slot].record(main)
        if turn[0] % READ == 0:
            told[0] = float(usual.mean())

    def values():
        """How bright the picture is, its contrast, and how sharp the frames are."""
        return [float(picture.mean()), float(picture.std()), float(usual.mean())]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
