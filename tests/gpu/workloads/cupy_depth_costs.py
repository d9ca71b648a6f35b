# SPDX-License-Identifier: Apache-2.0
"""CuPy: a robot drives through a warehouse with six cameras that see how far things are; from their pictures a map is made of
what stands around, with costs of being near to it, and the planner on the host chooses the cheapest way to steer.

Wrong: the cameras' driver gives pictures in usual (pageable) memory, and the map comes to new memory of that kind; both
copies take longer than the kernels.
fix: the pictures lie in pinned memory, and the map comes to such memory (copy-bound).
fix2: the pictures are sent as the 16 bits of the camera, and the costs come back as bytes (copy-bound).
useless: the costs are made in arrays on the device that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")
ndimage = fixable.load("cupyx.scipy.ndimage")

CAMERAS, HEIGHT, WIDTH, FRAMES, SIDE, THREADS, WAYS = 6, 480, 848, 8, 1024, 256, 21
FOCUS, ABOVE, CELL, BODY, LOW, HIGH = 424.0, 0.6, 0.02, 25, 80, 1900  # heights in millimetres; the body in cells

KERNELS = """
__device__ float metres(float x) { return x; }
__device__ float metres(unsigned short x) { return 0.001f * x; }

template <typename T> __device__ void put(const T* pictures, int* map) {
    // Each pixel tells of a thing that is so high above the floor; each cell keeps the highest one.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int camera = i / %(HEIGHT * WIDTH)d, row = i %% %(HEIGHT * WIDTH)d / %(WIDTH)d, column = i %% %(WIDTH)d;
    const float far = metres(pictures[i]);
    if (far < 0.2f) {
        return;
    }
    const float side = far * (column - %(WIDTH)d / 2) / %(FOCUS)ff, up = %(ABOVE)ff - far * (row - %(HEIGHT)d / 2) / %(FOCUS)ff;
    const float cosine = cosf(camera * 1.0471976f), sine = sinf(camera * 1.0471976f);
    const int x = %(SIDE)d / 2 + (int)floorf((far * cosine - side * sine) / %(CELL)ff);
    const int y = %(SIDE)d / 2 + (int)floorf((far * sine + side * cosine) / %(CELL)ff);
    const int height = (int)(1000.0f * up);
    if (x >= 0 && x < %(SIDE)d && y >= 0 && y < %(SIDE)d && height < %(HIGH)d) {
        atomicMax(map + y * %(SIDE)d + x, height);
    }
}

extern "C" __global__ void put_metres(const float* pictures, int* map) { put(pictures, map); }
extern "C" __global__ void put_counts(const unsigned short* pictures, int* map) { put(pictures, map); }
"""
NUMBERS = {"HEIGHT * WIDTH": HEIGHT * WIDTH, "HEIGHT": HEIGHT, "WIDTH": WIDTH,
           "SIDE": SIDE, "HIGH": HIGH, "FOCUS": FOCUS, "ABOVE": ABOVE, "CELL": CELL}


def seen(random):
    """What the cameras see on the way: the floor, shelves at both sides, and boxes; in millimetres."""
    row, column = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    for number in range(FRAMES):
        down, aside = (row - HEIGHT / 2) / FOCUS, numpy.abs(column - WIDTH / 2) / FOCUS
        floor = numpy.where(down > 0.01, ABOVE / numpy.maximum(down, 0.01), 12.0)
        pictures = []
        for camera in range(CAMERAS):
            shelf = (1.5 + 0.1 * number + 0.3 * camera) / numpy.maximum(aside, 0.05)
            box = numpy.where(numpy.abs(column - random.uniform(100, WIDTH - 100)) < 60, random.uniform(1.0, 4.0), 12.0)
            pictures.append(numpy.minimum(numpy.minimum(floor, shelf), numpy.where(row > HEIGHT * 0.4, box, 12.0)))
        yield (1000.0 * numpy.stack(pictures) + random.normal(0.0, 4.0, (CAMERAS, HEIGHT, WIDTH))).astype(numpy.uint16)


def ways():
    """Rows and columns of the map that each way to steer comes by."""
    far = numpy.arange(10, 200)
    bend = numpy.linspace(-0.002, 0.002, WAYS)[:, None] * far ** 2
    return (SIDE // 2 + bend).astype(numpy.int64), numpy.broadcast_to(SIDE // 2 + far, (WAYS, len(far)))


def make(variant):
    frames = list(seen(numpy.random.default_rng(20)))
    if variant != "fix2":
        frames = [(0.001 * frame).astype(numpy.float32) for frame in frames]
    kind = numpy.uint8 if variant == "fix2" else numpy.float32
    landing = None
    if variant == "fix":
        landing = cupyx.empty_pinned((SIDE, SIDE), dtype=kind)
        pinned = [cupyx.empty_like_pinned(frame) for frame in frames]
        for place, frame in zip(pinned, frames):
            place[...] = frame
        frames = pinned
    put = cupy.RawModule(code=KERNELS % NUMBERS).get_function("put_counts" if variant == "fix2" else "put_metres")
    pictures = cupy.empty((CAMERAS, HEIGHT, WIDTH), dtype=frames[0].dtype)
    height = cupy.empty((SIDE, SIDE), dtype=cupy.int32)
    rows, columns = ways()
    near = cupy.empty((SIDE, SIDE), dtype=cupy.float32) if variant == "useless" else None
    wide = cupy.empty((SIDE, SIDE), dtype=cupy.float32) if variant == "useless" else None
    turn, chosen, mean = [0], [], [0.0]

    def costs():
        """254 where the robot would touch something, less around that, and 0 where nothing is near."""
        height.fill(-1000)
        put((CAMERAS * HEIGHT * WIDTH // THREADS,), (THREADS,), (pictures, height))
        stands = (height > LOW).astype(cupy.float32) * 254.0
        touched = ndimage.maximum_filter(stands, size=BODY, mode="constant", output=near)
        around = ndimage.uniform_filter(touched, size=2 * BODY + 1, mode="constant", output=wide)
        return cupy.floor(cupy.maximum(touched, 0.6 * around)).astype(kind, copy=False)

    def step():
        pictures.set(frames[turn[0] % FRAMES])  # cause: copy
        made = costs()
        turn[0] += 1
        if variant == "fix":
            made.get(out=landing)
            known = landing
        else:
            known = made.get()  # cause: copy
        prices = known[rows, columns].mean(axis=1, dtype=numpy.float32)
        chosen[:] = [int(prices.argmin())]
        mean[0] += 0.05 * (float(prices.min()) - mean[0])

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(mean))


run.main(make)
