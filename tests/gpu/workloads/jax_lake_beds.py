# SPDX-License-Identifier: Apache-2.0
"""JAX, Flax: the bed of a lake is drawn from what the echo sounders of fishing boats have told, places and depths, some of them
wrong: a network of linen.Dense layers, to which a place comes as 256 waves (Fourier features), learns the depth of each place. A
step is one batch of 98304 soundings; optax clips the gradients, lets the rate rise and fall, and makes the steps of AdamW.

Wrong: nothing; the GPU is at work all the time, and the host is ahead of it (gpu-bound).
useless: losses that are noted, one of 20, stay on the device to the end.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
jax, jnp, linen, optax, numpy = fixable.load_jax("jax.numpy", "flax.linen", "optax", "numpy")

SOUNDINGS, SETS, WAVES, WIDE, LAYERS, NOTED, SURE = 98304, 6, 128, 512, 4, 20, 0.5


def soundings():
    """Places, (SETS, SOUNDINGS, 2), from -1 to 1, and depths about zero; one of 20 has hit a fish."""
    random = numpy.random.default_rng(20)
    places = random.uniform(-1.0, 1.0, (SETS, SOUNDINGS, 2)).astype(numpy.float32)
    depths = 1.0 - 1.5 * numpy.square(places).sum(axis=2)
    for _ in range(12):
        often, begin = random.normal(0.0, 6.0, 2).astype(numpy.float32), random.uniform(0.0, 6.28)
        depths += 0.15 * numpy.sin(places @ often + numpy.float32(begin))
    fish = random.random(depths.shape) < 0.05
    depths = numpy.where(fish, 0.3 * depths - 0.5, depths) + random.normal(0.0, 0.05, depths.shape)
    return jax.device_put(places), jax.device_put(depths.astype(numpy.float32))


class Bed(linen.Module):
    @linen.compact
    def __call__(self, places):
        waves = numpy.random.default_rng(21).normal(0.0, 6.0, (2, WAVES)).astype(numpy.float32)
        angles = places @ jnp.asarray(waves)
        inner = jnp.concatenate((jnp.sin(angles), jnp.cos(angles)), axis=-1)
        for _ in range(LAYERS):
            inner = linen.gelu(linen.Dense(WIDE)(inner))
        return linen.Dense(1)(inner)[..., 0]


def make(variant):
    places, depths = soundings()
    network = Bed()
    rate = optax.warmup_cosine_decay_schedule(init_value=0.0, peak_value=3e-4, warmup_steps=100, decay_steps=6000, end_value=3e-5)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=1e-4))
    weights = jax.jit(network.init)(jax.random.PRNGKey(20), places[0, :2])
    state = [(weights, jax.jit(optimizer.init)(weights), jnp.zeros((), dtype=jnp.int32), jnp.full((), 0.1, dtype=jnp.float32))]
    notes, turn = collections.deque(maxlen=4), [0]

    @jax.jit
    def learn(state, places, depths):
        """The next state, from one batch of soundings."""
        weights, momenta, number, usual = state
        there, deep = places[number % SETS], depths[number % SETS]

        def missed(weights):
            return optax.huber_loss(network.apply(weights, there), deep, delta=SURE).mean()

        loss, slopes = jax.value_and_grad(missed)(weights)
        changes, momenta = optimizer.update(slopes, momenta, weights)
        return optax.apply_updates(weights, changes), momenta, number + 1, usual + 0.02 * (loss - usual)

    def step():
        state[0] = learn(state[0], places, depths)
        turn[0] += 1
        if turn[0] % NOTED == 0:
            notes.append(state[0][3] if variant == "useless" else float(state[0][3]))

    def wait():
        jax.block_until_ready(state[0])

    def values():
        return [float(note) for note in notes] + [float(state[0][3])]

    return fixable.Work(step, wait, values)


run.main(make)
