# SPDX-License-Identifier: Apache-2.0
"""CuPy: frames of a camera are brightened, sharpened and tinted on the GPU, one after the other, and come back with cupy.asnumpy.

Wrong: each frame goes there and back in pageable memory, which takes many times what the GPU computes.
fix: frames lie in pinned memory and come back to it, on a stream, two at a time (copy-bound).
useless: the frame is computed in arrays that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

HEIGHT, WIDTH, FRAMES = 1080, 1920, 6


def camera():
    """What the camera has seen: a slope that wanders, with noise."""
    random = numpy.random.default_rng(20)
    rows, columns = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    noise = random.integers(0, 32, (HEIGHT, WIDTH, 3), dtype=numpy.uint8)
    return [((rows + 2 * columns + 40 * number) % 200).astype(numpy.uint8)[:, :, None] + noise for number in range(FRAMES)]


def make(variant):
    frames = camera()
    tint = cupy.asarray([1.05, 1.0, 0.9], dtype=cupy.float32)
    landed = [cupy.empty((HEIGHT, WIDTH, 3), dtype=cupy.uint8) for _ in range(2)]
    shape = (HEIGHT, WIDTH, 3)
    light, work = cupy.empty(shape, dtype=cupy.float32), cupy.empty(shape, dtype=cupy.float32)
    shown = cupy.empty(shape, dtype=cupy.uint8)
    turn, seen = [0], []

    def develop(frame):
        x = frame.astype(cupy.float32)
        x *= 1.0 / 255.0
        cupy.sqrt(x, out=x)
        sharp = x.copy()
        sharp[1:-1] += 0.25 * (2.0 * x[1:-1] - x[:-2] - x[2:])
        sharp *= tint
        cupy.clip(sharp, 0.0, 1.0, out=sharp)
        sharp *= 255.0
        return sharp.astype(cupy.uint8)

    def develop_in_place(frame):
        light[...] = frame
        light.__imul__(1.0 / 255.0)
        cupy.sqrt(light, out=light)
        cupy.multiply(light[1:-1], 2.0, out=work[1:-1])
        work[1:-1] -= light[:-2]
        work[1:-1] -= light[2:]
        work[1:-1] *= 0.25
        work[1:-1] += light[1:-1]
        work[0] = light[0]
        work[-1] = light[-1]
        work.__imul__(tint)
        cupy.clip(work, 0.0, 1.0, out=work)
        work.__imul__(255.0)
        shown[...] = work
        return shown

    def show(image):
        """What the host does with a frame: next to nothing."""
        seen[:] = [float(image[HEIGHT // 2, WIDTH // 3, 1]), float(image[HEIGHT // 3, ::16, 0].mean())]

    def step():
        at = turn[0] % FRAMES
        turn[0] += 1
        landed[0].set(frames[at])  # cause: copy
        image = (develop_in_place if variant == "useless" else develop)(landed[0])
        show(cupy.asnumpy(image))  # cause: copy

    if variant == "fix":
        stream = cupy.cuda.Stream(non_blocking=True)
        pinned, back, done = [], [cupyx.empty_pinned(shape, numpy.uint8) for _ in range(2)], [None, None]
        for frame in frames:
            pinned.append(cupyx.empty_pinned(shape, numpy.uint8))
            pinned[-1][...] = frame
        cupy.cuda.runtime.deviceSynchronize()

        def loop(steps):
            with stream:
                for _ in range(steps):
                    at, slot = turn[0] % FRAMES, turn[0] % 2
                    turn[0] += 1
                    if done[slot]:  # the frame before the last one
                        done[slot].synchronize()
                        show(back[slot])
                    landed[slot].set(pinned[at], stream)
                    develop(landed[slot]).get(out=back[slot], blocking=False)
                    done[slot] = stream.record()

        return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=lambda: list(seen))
    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, lambda: list(seen))


run.main(make)
