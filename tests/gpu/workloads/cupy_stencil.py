# SPDX-License-Identifier: Apache-2.0
"""CuPy: a reaction and diffusion on a grid, written with slices, as one writes it in NumPy.

Wrong: each operator is a kernel and an allocation; Python launches them slower than they run.
fix: ten steps are one CUDA graph, captured from the same code (launch-bound).
fix2: one RawKernel a step (launch-bound).
useless: the constants are arrays on the device.
"""
import fixable

run = fixable.Program(__doc__, steps=4000, warm_up=20, multiple=20)
cupy, numpy = fixable.load_cupy("numpy")

SIZE, TOGETHER = 512, 10
FEED, KILL, U_RATE, V_RATE = 0.055, 0.062, 0.16, 0.08

SOURCE = r"""
extern "C" __global__ void react(const float *u, const float *v, float *nu, float *nv, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    int i = y * n + x;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) {
        nu[i] = u[i];
        nv[i] = v[i];
        return;
    }
    float lu = u[i - 1] + u[i + 1] + u[i - n] + u[i + n] - 4.0f * u[i];
    float lv = v[i - 1] + v[i + 1] + v[i - n] + v[i + n] - 4.0f * v[i];
    float uvv = u[i] * v[i] * v[i];
    nu[i] = u[i] + 0.16f * lu - uvv + 0.055f * (1.0f - u[i]);
    nv[i] = v[i] + 0.08f * lv + uvv - (0.055f + 0.062f) * v[i];
}
"""


def make(variant):
    random = numpy.random.default_rng(20)
    u = cupy.ones((SIZE, SIZE), dtype=cupy.float32)
    v = cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
    v[200:300, 200:300] = cupy.asarray(random.random((100, 100), dtype=numpy.float32))
    rates = [numpy.float32(r) for r in (FEED, KILL, U_RATE, V_RATE)]
    if variant == "useless":
        rates = [cupy.full((1, 1), r, dtype=cupy.float32) for r in rates]
    feed, kill, u_rate, v_rate = rates

    def laplacian(a):
        return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4.0 * a[1:-1, 1:-1]  # cause: launch

    def step():
        inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
        uvv = inner_u * inner_v * inner_v  # cause: launch
        du = u_rate * laplacian(u) - uvv + feed * (1.0 - inner_u)  # cause: launch
        dv = v_rate * laplacian(v) + uvv - (feed + kill) * inner_v  # cause: launch
        inner_u += du  # cause: launch
        inner_v += dv  # cause: launch

    wait = cupy.cuda.runtime.deviceSynchronize

    def values():
        return cupy.asnumpy(v[200:264, 200:264]).reshape(-1).tolist()

    if variant == "fix":
        stream = cupy.cuda.Stream(non_blocking=True)
        wait()
        with stream:
            for _ in range(2 * TOGETHER):  # the pool then has all memory that a capture needs
                step()
            stream.synchronize()
            stream.begin_capture()
            for _ in range(TOGETHER):
                step()
            graph = stream.end_capture()

        def loop(steps):
            for _ in range(steps // TOGETHER):
                graph.launch(stream)

        return fixable.Work(loop=loop, wait=wait, values=values)
    if variant == "fix2":
        kernel = cupy.RawKernel(SOURCE, "react")
        pair = [(u, v), (cupy.empty_like(u), cupy.empty_like(v))]
        blocks = ((SIZE + 31) // 32, (SIZE + 7) // 8)

        def fused():
            kernel(blocks, (32, 8), (*pair[0], *pair[1], numpy.int32(SIZE)))
            pair.reverse()

        return fixable.Work(fused, wait, values)
    return fixable.Work(step, wait, values)


run.main(make)
