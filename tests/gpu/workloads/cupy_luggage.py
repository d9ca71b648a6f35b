# SPDX-License-Identifier: Apache-2.0
"""CuPy: suitcases at an airport go through X-rays of two energies; from how much of each comes through, the kind of material
is told for each point, and the picture is coloured by it, as the officer at the belt is used to see it: orange for food and
cloth, green for glass, blue for metal.

Wrong: counts come from pageable memory, and the coloured picture comes as float32 to a new NumPy array; both ways take longer
than the kernels.
fix: counts lie in pinned memory, and pictures come to pinned memory that is allocated once (copy-bound).
fix2: the GPU rounds colours to bytes before they go to pageable memory, since the screen shows no more (copy-bound).
useless: the large arrays of a picture on the GPU are allocated once.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=600, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")
ndimage = fixable.load("cupyx.scipy.ndimage")

LINES, PIXELS, BAGS, THINGS, SHADES, SHOWN = 1536, 1024, 5, 24, 256, 32
AIR, LEAST, THIN = 50000.0, 1e-3, 0.02  # counts where nothing lies in the way; the least share of them; the thinnest thing
LIGHTEST, HEAVIEST, SHARPER, DARKER = 1.1, 2.4, 0.5, 0.45
MATERIALS = ((0.012, 0.0100), (0.016, 0.0128), (0.030, 0.0190), (0.090, 0.0400))  # cloth, food, glass, steel: for both energies
FIRST, LAST, EVIL = 1.24, 1.30, 0.5  # materials between these, and thicker than that, are looked at by hand


def bags():
    """What the detectors count: things of all materials in a suitcase of cloth; each (2, LINES, PIXELS)."""
    random = numpy.random.default_rng(20)
    for _ in range(BAGS):
        stopped = numpy.zeros((2, LINES, PIXELS), dtype=numpy.float32)
        stopped[:, 100:-100, 80:-80] += 10.0 * numpy.array(MATERIALS[0], dtype=numpy.float32)[:, None, None]
        for _ in range(THINGS):
            high, wide = random.integers(20, 160), random.integers(20, 120)  # from the middle
            top, left = random.integers(100, LINES - 100 - 2 * high), random.integers(80, PIXELS - 80 - 2 * wide)
            far = numpy.linspace(-1.0, 1.0, 2 * high)[:, None] ** 2 + numpy.linspace(-1.0, 1.0, 2 * wide) ** 2
            deep = random.uniform(8.0, 40.0) * numpy.sqrt(numpy.maximum(1.0 - far, 0.0))
            for energy, weakened in enumerate(MATERIALS[random.integers(len(MATERIALS))]):
                stopped[energy, top:top + 2 * high, left:left + 2 * wide] += weakened * deep
        counts = AIR * lamp() * numpy.exp(-stopped)
        counts += numpy.sqrt(counts) * random.standard_normal(counts.shape, dtype=numpy.float32)
        yield numpy.clip(counts, 0.0, 65535.0).astype(numpy.uint16)


def lamp():
    """How bright the X-rays are at each pixel, for both energies: (2, 1, PIXELS)."""
    across = numpy.linspace(-1.0, 1.0, PIXELS, dtype=numpy.float32)
    return numpy.stack((1.0 - 0.2 * across ** 2, 0.95 - 0.15 * across ** 2))[:, None, :]


def palette():
    """A colour for each shade from light materials to heavy ones: orange, green and blue: (SHADES, 3)."""
    shade = numpy.linspace(0.0, 1.0, SHADES)
    told = ((1.0, 0.2, 0.1), (0.6, 0.8, 0.3), (0.1, 0.2, 0.9))  # red, green and blue at the begin, in the middle, at the end
    return numpy.stack([numpy.interp(shade, (0.0, 0.4, 1.0), one) for one in told], axis=1).astype(numpy.float32)


def pinned(like):
    """The same array in pinned memory."""
    array = cupyx.empty_pinned(like.shape, dtype=like.dtype)
    array[...] = like
    return array


def make(variant):
    belt = [pinned(counts) if variant == "fix" else counts for counts in bags()]
    scale, colours = cupy.asarray(1.0 / (AIR * lamp())), cupy.asarray(palette())
    raw = cupy.empty((2, LINES, PIXELS), dtype=cupy.uint16)
    landing = cupyx.empty_pinned((LINES, PIXELS, 3), dtype=numpy.float32) if variant == "fix" else None
    places = {}
    if variant == "useless":
        places["stopped"] = cupy.empty((2, LINES, PIXELS), dtype=cupy.float32)
        places["picture"] = cupy.empty((LINES, PIXELS, 3), dtype=cupy.float32)
        for name in ("low", "high", "blurred"):
            places[name] = cupy.empty((LINES, PIXELS), dtype=cupy.float32)
    turn, evil, usual = [0], [], [0.0, 0.0, 0.0]

    def coloured():
        """The picture, and how many of its points shall be looked at by hand."""
        stopped = cupy.multiply(raw, scale, out=places.get("stopped"))
        cupy.maximum(stopped, LEAST, out=stopped)
        cupy.log(stopped, out=stopped)
        stopped *= -1.0
        low = ndimage.uniform_filter(stopped[0], size=3, output=places.get("low"))
        high = ndimage.uniform_filter(stopped[1], size=3, output=places.get("high"))
        kind = low / cupy.maximum(high, THIN)
        hand = (kind > FIRST) & (kind < LAST) & (low > EVIL)
        shade = cupy.clip((kind - LIGHTEST) * (SHADES / (HEAVIEST - LIGHTEST)), 0.0, SHADES - 1.0).astype(cupy.int32)
        blurred = ndimage.uniform_filter(low, size=9, output=places.get("blurred"))
        light = cupy.exp(-DARKER * cupy.maximum(low + SHARPER * (low - blurred), 0.0))
        picture = cupy.take(colours, shade, axis=0, out=places.get("picture"))
        picture *= light[:, :, None]
        picture += 1.0 - cupy.minimum(high / THIN, 1.0)[:, :, None]  # nothing is white
        return cupy.clip(picture, 0.0, 1.0, out=picture), cupy.count_nonzero(hand)

    def brought(picture):
        """The picture on the host."""
        if variant == "fix":
            return picture.get(out=landing)
        if variant == "fix2":
            return cupy.rint(255.0 * picture).astype(cupy.uint8).get()
        return picture.get()  # cause: copy

    def show(picture):
        """In small, beside the large one."""
        small = picture[::SHOWN, ::SHOWN].astype(numpy.float32)
        if variant == "fix2":
            small /= 255.0
        usual[0] += 0.05 * (float(small.mean()) - usual[0])
        usual[1] += 0.05 * (float(small.std()) - usual[1])

    def step():
        counts = belt[turn[0] % BAGS]
        turn[0] += 1
        if variant == "fix":
            raw.set(counts, stream=cupy.cuda.get_current_stream())
        else:
            raw.set(counts)  # cause: copy
        picture, some = coloured()
        evil.append(some)
        show(brought(picture))  # cause: copy
        if turn[0] % LOOK_EVERY == 0:
            usual[2] += 0.2 * (float(cupy.stack(evil).mean()) / (LINES * PIXELS) - usual[2])
            evil.clear()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(usual))


run.main(make)
