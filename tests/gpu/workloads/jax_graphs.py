# SPDX-License-Identifier: Apache-2.0
"""JAX, a training loop of small layers whose whole step XLA launches as graphs, from its first kernel on."""
import os

# Before JAX is loaded: XLA reads it once. What the caller asks for stays, and comes last.
os.environ["XLA_FLAGS"] = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_autotune_level=0 " \
    "--xla_gpu_deterministic_ops=true " + os.environ.get("XLA_FLAGS", "")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import common

LAYERS, WIDTH, BATCH = 8, 256, 64

run = common.Run(__doc__, iterations=2000)
jax = common.require("jax")
try:
    gpus = [d for d in jax.devices() if d.platform in ("gpu", "cuda")]
except RuntimeError as e:
    common.skip("jax finds no device: %s" % e)
if not gpus:
    common.skip("jax finds no GPU")
jnp = common.require("jax.numpy")
numpy = common.require("numpy")


def loss(weights, x, y):
    for w in weights:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


@jax.jit
def train(weights, speeds, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    speeds = [0.9 * s - 0.05 * g for s, g in zip(speeds, slopes)]
    return [w + s for w, s in zip(weights, speeds)], speeds, value


random = numpy.random.default_rng(20)


def some(*shape):
    return random.standard_normal(shape, dtype=numpy.float32)


weights = [jax.device_put(some(WIDTH, WIDTH) / 16.0, gpus[0]) for _ in range(LAYERS)]
speeds = [jnp.zeros_like(w) for w in weights]
batches = [(some(BATCH, WIDTH), numpy.tanh(some(BATCH, WIDTH))) for _ in range(4)]
turn = 0
value = None


def step():
    """Each batch comes from the host, as a loader would have it."""
    global weights, speeds, value, turn
    weights, speeds, value = train(weights, speeds, *batches[turn % len(batches)])
    turn += 1
    if turn % 50 == 0:
        float(value)


run.steady(step, lambda: value is None or value.block_until_ready(), warm_up=5)
run.finish(numpy.asarray(jnp.concatenate([w.reshape(-1) for w in weights])).astype("<f4").tobytes())
