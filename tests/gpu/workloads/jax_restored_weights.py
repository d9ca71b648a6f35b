# SPDX-License-Identifier: Apache-2.0
"""JAX with flax: features of signals by a network under jax.jit, whose weights were read from a file by flax.serialization.

Wrong: what is read are NumPy arrays: all weights are copied to the GPU at each call, which takes longer than the network.
fix: the weights are put on the device once, by jax.device_put (copy-bound, or host-bound: XLA copies them by threads of its own).
useless: the running mean of the features is donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=350, warm_up=20, multiple=10)
jax, jnp, numpy, flax, serialization = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "flax.serialization")

BATCH, SAMPLES, CUT, WIDTH, HEADS, BLOCKS, SETS, LOOK_EVERY = 16, 8192, 32, 640, 10, 6, 4, 10


class Network(flax.Module):
    """Looks at pieces of a signal, and at how they belong together."""

    @flax.compact
    def __call__(self, signals):
        pieces = signals.reshape(signals.shape[0], -1, CUT)
        place = self.param("place", flax.initializers.normal(0.02), (pieces.shape[1], WIDTH))
        x = flax.Dense(WIDTH)(pieces) + place
        for _ in range(BLOCKS):
            x = x + flax.MultiHeadDotProductAttention(num_heads=HEADS)(flax.LayerNorm()(x))
            y = flax.gelu(flax.Dense(4 * WIDTH)(flax.LayerNorm()(x)))
            x = x + flax.Dense(WIDTH)(y)
        return flax.LayerNorm()(x).mean(axis=1)


def make(variant):
    random = numpy.random.default_rng(20)
    network = Network()
    signals = [jnp.asarray(random.standard_normal((BATCH, SAMPLES), dtype=numpy.float32)) for _ in range(SETS)]
    begun = jax.jit(network.init)(jax.random.PRNGKey(20), signals[0])
    weights = serialization.from_bytes(begun, serialization.to_bytes(begun))
    if variant == "fix":
        weights = jax.device_put(weights)
    state, turn, seen = [jnp.zeros(WIDTH)], [0], []

    @functools.partial(jax.jit, donate_argnums=(1,) if variant == "useless" else ())
    def look(weights, mean, batch):
        features = network.apply(weights, batch)
        return 0.9 * mean + 0.1 * features.mean(axis=0), jnp.abs(features).mean(axis=1)

    def step():
        batch = signals[turn[0] % SETS]
        turn[0] += 1
        state[0], strength = look(weights, state[0], batch)  # cause: copy in xla_cuda_plugin
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = numpy.asarray(strength).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(seen))


run.main(make)
