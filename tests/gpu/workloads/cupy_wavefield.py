# SPDX-License-Identifier: Apache-2.0
"""CuPy: an earthquake's waves run through the ground, and all of the field is kept on the host every 24 ticks, as one needs it who
wants to run them back later.

Wrong: cupy.asnumpy brings each field to new pageable memory, which takes longer than the ticks between two of them.
fix: fields come to pinned memory, which is made once (copy-bound).
fix2: every second row and column is kept, in half precision (copy-bound).
useless: the ticks between two fields are one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=20)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SIZE, TICKS, KEPT, PULSE, LAYERS = 2048, 24, 6, 200, 7
THREADS = (64, 4)
BLOCKS = (SIZE // THREADS[0], SIZE // THREADS[1])

TICK = """
extern "C" __global__ void tick(const float* now, const float* ground, float* other) {
    // `other` is the field before this one, and becomes the one behind it.
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= %(size)d - 2 || y >= %(size)d - 2) {
        return;
    }
    const int at = y * %(size)d + x;
    const float near = now[at - 1] + now[at + 1] + now[at - %(size)d] + now[at + %(size)d];
    const float far = now[at - 2] + now[at + 2] + now[at - 2 * %(size)d] + now[at + 2 * %(size)d];
    const float bend = (16.0f * near - far - 60.0f * now[at]) / 12.0f;
    other[at] = 0.9998f * (2.0f * now[at] - 0.9998f * other[at] + ground[at] * bend);
}
""" % {"size": SIZE}


def layers():
    """How fast waves run: the faster, the deeper."""
    depth = numpy.arange(SIZE)[:, None] * LAYERS // SIZE
    waver = 0.01 * numpy.sin(numpy.linspace(0.0, 20.0, SIZE))[None, :]
    return (0.06 + 0.03 * depth + waver).astype(numpy.float32)


def make(variant):
    ground = cupy.asarray(layers())
    one, other = cupy.zeros((SIZE, SIZE), dtype=cupy.float32), cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
    tick = cupy.RawKernel(TICK, "tick")
    time = numpy.linspace(-3.0, 3.0, PULSE)
    pulse = ((1.0 - 2.0 * time ** 2) * numpy.exp(-time ** 2)).tolist()
    focus = one[SIZE // 2 - 4:SIZE // 2 + 4, SIZE // 3 - 4:SIZE // 3 + 4]
    fields, turn, seen = [None] * KEPT, [0], []
    if variant == "fix":
        fields = [cupyx.empty_pinned((SIZE, SIZE), dtype=numpy.float32) for _ in range(KEPT)]
    wait = cupy.cuda.runtime.deviceSynchronize

    def ticks():
        for _ in range(TICKS // 2):
            tick(BLOCKS, THREADS, (one, ground, other))
            tick(BLOCKS, THREADS, (other, ground, one))

    def keep(at):
        if variant == "fix":
            one.get(out=fields[at])
        elif variant == "fix2":
            fields[at] = cupy.asnumpy(one[::2, ::2].astype(cupy.float16))
        else:
            fields[at] = cupy.asnumpy(one)  # cause: copy

    def step(go_on=ticks):
        at = turn[0] % KEPT
        focus.__iadd__(pulse[turn[0] % PULSE])
        turn[0] += 1
        go_on()
        keep(at)
        seen[:] = fields[at][::64, SIZE // 4].tolist()  # what a row of stations would see

    if variant == "useless":
        stream = cupy.cuda.Stream(non_blocking=True)
        wait()
        with stream:
            ticks()
            stream.synchronize()
            stream.begin_capture()
            ticks()
            graph = stream.end_capture()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=lambda: list(seen))

    return fixable.Work(step, wait, lambda: list(seen))


run.main(make)
