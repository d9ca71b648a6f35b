# SPDX-License-Identifier: Apache-2.0
"""CuPy: a steel mill looks for scratches on strips as they leave the rollers. Pictures of 4096 by 4096 points are cut into
squares of eight by eight; the 12 main components of squares of good steel (PCA) describe each square, and where a square is
made anew from them badly, something is wrong with it. The mill wants to know how many such squares there are, and how rough the
steel is.

Wrong: each picture comes from pageable memory, 16.8 MB a step, in which the GPU has nothing to do.
fix: the pictures are in pinned memory, from which the same bytes come (copy-bound).
fix2: the next picture comes from pageable memory on another stream, while this one is judged (copy-bound).
useless: the large arrays are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, SIDE, PARTS, PICTURES, SCRATCHES, LOOK = 4096, 8, 12, 6, 40, 25
ALONG, POINTS = SIZE // SIDE, SIDE * SIDE

centred = cupy.ElementwiseKernel("uint8 seen, float32 mean", "float32 out", "out = seen * (1.0f / 255.0f) - mean", "centred")
misfit = cupy.ReductionKernel("float32 one, float32 other", "float32 out", "(one - other) * (one - other)", "a + b", "out = a",
                              "0", "misfit")
follow = cupy.ElementwiseKernel("float32 now, float32 part", "float32 kept", "kept += part * (now - kept)", "follow")


def pictures():
    """Steel with grooves along the strip, and scratches."""
    luck, places = cupy.random.RandomState(20), numpy.random.default_rng(20)
    for _ in range(PICTURES):
        rough = luck.standard_normal((SIZE, SIZE), dtype=cupy.float32)
        grooves = rough.copy()
        for far in range(1, 6):
            grooves += (1.0 - far / 6.0) * cupy.roll(rough, far, axis=0)
        gray = 120.0 + 12.0 * grooves
        for down, right in places.integers(0, SIZE - 300, (SCRATCHES, 2)).tolist():
            gray[down:down + 300, right:right + 3] -= 70.0
        yield numpy.array(cupy.clip(gray, 0.0, 255.0).astype(cupy.uint8).get())


def squares_of(picture):
    return picture.reshape(ALONG, SIDE, ALONG, SIDE).transpose(0, 2, 1, 3)


def learnt(picture):
    """The mean square, the main components of squares (POINTS, PARTS), and how bad a square may be."""
    squares = squares_of(picture).reshape(-1, POINTS)[::16].astype(numpy.float32) / 255.0
    mean = squares.mean(axis=0)
    off = squares - mean
    _, ways = numpy.linalg.eigh(off.T @ off / len(off))
    main = numpy.ascontiguousarray(ways[:, -PARTS:]).astype(numpy.float32)
    bad = ((off - off @ main @ main.T) ** 2).sum(axis=1)
    return cupy.asarray(mean.reshape(SIDE, SIDE)), cupy.asarray(main), float(2.0 * numpy.median(bad))


def in_pinned(picture):
    kept = cupyx.empty_pinned(picture.shape, dtype=numpy.uint8)
    kept[...] = picture
    return kept


def make(variant):
    seen = list(pictures())
    mean, main, limit = learnt(seen[0])
    back = cupy.ascontiguousarray(main.T)
    if variant == "fix":
        seen = [in_pinned(picture) for picture in seen]
    places = [cupy.empty((SIZE, SIZE), dtype=cupy.uint8) for _ in range(2 if variant == "fix2" else 1)]
    here, other = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    come, judged = [[cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
    faults, roughness = cupy.zeros((), dtype=cupy.float32), cupy.zeros((), dtype=cupy.float32)
    turn, told = [0], [0.0, 0.0]

    def room():
        shapes = (ALONG, ALONG, SIDE, SIDE), (ALONG * ALONG, PARTS), (ALONG * ALONG, POINTS)
        return [cupy.empty(shape, dtype=cupy.float32) for shape in shapes]

    made_once = room() if variant == "useless" else None

    def judge(picture):
        squares, codes, again = made_once or room()
        centred(squares_of(picture), mean, squares)
        squares = squares.reshape(-1, POINTS)
        cupy.matmul(squares, main, out=codes)
        cupy.matmul(codes, back, out=again)
        bad = misfit(squares, again, axis=1)
        follow((bad > limit).sum(dtype=cupy.float32), 0.02, faults)
        follow(bad.mean(), 0.02, roughness)

    def bring_ahead(number):
        """Brings a picture by the other stream, to the place of that which was judged before the last one."""
        other.wait_event(judged[number % 2])
        places[number % 2].set(seen[number % PICTURES], stream=other)
        come[number % 2].record(other)

    def step():
        number = turn[0]
        turn[0] += 1
        if variant == "fix2":
            here.wait_event(come[number % 2])
            judge(places[number % 2])
            judged[number % 2].record(here)
            bring_ahead(number + 1)
        else:
            places[0].set(seen[number % PICTURES], stream=here)  # cause: copy
            judge(places[0])
        if turn[0] % LOOK == 0:
            told[:] = float(faults), float(roughness)

    def values():
        """How many squares of a hundred are bad, and how bad a square is by the mean."""
        return [100.0 * float(faults) / (ALONG * ALONG), float(roughness)]

    if variant == "fix2":
        bring_ahead(0)
    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
