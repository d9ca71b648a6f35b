# SPDX-License-Identifier: Apache-2.0
"""JAX, Flax: a law office's editor offers the next word while a bill is written. A network learns from bills of the past which
of 8192 words comes behind eight others (the neural language model of Bengio): vectors of the eight words, two wide layers, and a
chance for each word; 8192 places in the text a step, by Adam with a learning rate that warms up and falls (optax).

Wrong: nothing; products of large matrices take nearly all the time, and the host is ahead of the GPU (gpu-bound).
useless: losses that are noted, one of 20, stay on the device to the end.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
jax, jnp, linen, optax, numpy = fixable.load_jax("jax.numpy", "flax.linen", "optax", "numpy")

WORDS, BEFORE, PLACES, BATCHES, VECTOR, WIDE, NOTED = 8192, 8, 8192, 16, 128, 2048, 20


def bills():
    """The words of bills, one behind the other: some follow from those before, others come by how usual they are."""
    random = numpy.random.default_rng(20)
    long = BATCHES * PLACES + BEFORE
    words = (WORDS * random.random(long) ** 3).astype(numpy.int64)
    follows = random.random(long) < 0.5
    for at in numpy.flatnonzero(follows[1:]) + 1:
        words[at] = (words[at - 1] * 31 + 7) % WORDS
    return jax.device_put(words.astype(numpy.int32))


class NextWord(linen.Module):
    @linen.compact
    def __call__(self, words):
        x = linen.Embed(WORDS, VECTOR)(words).reshape(words.shape[0], BEFORE * VECTOR)
        x = linen.relu(linen.Dense(WIDE)(x))
        x = linen.relu(linen.Dense(WIDE)(x))
        return linen.Dense(WORDS)(x)


def make(variant):
    text = bills()
    network = NextWord()
    rate = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 100, 20000)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
    weights = jax.jit(network.init)(jax.random.PRNGKey(20), jnp.zeros((2, BEFORE), dtype=jnp.int32))
    state = [(weights, optimizer.init(weights), jnp.zeros((), dtype=jnp.int32), jnp.full((), 9.0, dtype=jnp.float32))]
    notes, turn = collections.deque(maxlen=4), [0]

    @jax.jit
    def learn(state, text):
        weights, momenta, number, usual = state
        places = number % BATCHES * PLACES + jnp.arange(PLACES)
        before, behind = text[places[:, None] + jnp.arange(BEFORE)], text[places + BEFORE]

        def missed(weights):
            chances = network.apply(weights, before)
            return optax.softmax_cross_entropy_with_integer_labels(chances, behind).mean()

        loss, slopes = jax.value_and_grad(missed)(weights)
        changes, momenta = optimizer.update(slopes, momenta, weights)
        return (optax.apply_updates(weights, changes), momenta, number + 1, usual + 0.02 * (loss - usual)), loss

    def step():
        state[0], loss = learn(state[0], text)
        turn[0] += 1
        if turn[0] % NOTED == 0:
            notes.append(loss if variant == "useless" else float(loss))

    def wait():
        jax.block_until_ready(state[0])

    def values():
        return [float(note) for note in notes] + [float(state[0][3])]

    return fixable.Work(step, wait, values)


run.main(make)
