# SPDX-License-Identifier: Apache-2.0
"""CuPy, element-wise kernels, a matrix product, a reduction and copies both ways."""
import common

run = common.Run(__doc__, iterations=200)
cupy = common.require("cupy")
numpy = common.require("numpy")
try:
    if not cupy.cuda.runtime.getDeviceCount():
        common.skip("cupy finds no CUDA device")
except cupy.cuda.runtime.CUDARuntimeError as e:
    common.skip("cupy finds no CUDA device: %s" % e)

random = numpy.random.default_rng(20)
w = cupy.asarray(random.standard_normal((256, 256), dtype=numpy.float32) / 16.0)
state = cupy.asarray(random.standard_normal((256, 256), dtype=numpy.float32))
start = state.copy()
blend = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = 0.9f * tanhf(x) + 0.1f * y",
                               "acceptance_blend")


def step():
    global state
    state = blend(state @ w, start)


run.steady(step, cupy.cuda.runtime.deviceSynchronize, warm_up=5)
sums = cupy.zeros(256, dtype=cupy.float32)
sums += state.sum(axis=0)
run.finish(cupy.asnumpy(state).tobytes() + cupy.asnumpy(sums).tobytes())
