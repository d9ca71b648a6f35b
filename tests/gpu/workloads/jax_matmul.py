# SPDX-License-Identifier: Apache-2.0
"""JAX, a jitted matrix product with element-wise work."""
import common

run = common.Run(__doc__, iterations=200)
jax = common.require("jax")
try:
    gpus = [d for d in jax.devices() if d.platform in ("gpu", "cuda")]
except RuntimeError as e:
    common.skip("jax finds no device: %s" % e)
if not gpus:
    common.skip("jax finds no GPU")
jnp = common.require("jax.numpy")
numpy = common.require("numpy")


@jax.jit
def advance(x, w):
    return jnp.tanh(x @ w) * 0.9 + x * 0.1


random = numpy.random.default_rng(20)
w = jax.device_put(random.standard_normal((512, 512), dtype=numpy.float32) / 32.0, gpus[0])
state = [jax.device_put(random.standard_normal((256, 512), dtype=numpy.float32), gpus[0])]


def step():
    state[0] = advance(state[0], w)


run.steady(step, lambda: state[0].block_until_ready(), warm_up=5)
run.finish(numpy.asarray(state[0]).astype("<f4").tobytes())
