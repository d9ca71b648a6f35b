# SPDX-License-Identifier: Apache-2.0
"""JAX with flax and optax: a network learns to tell from a satellite's pictures of a year what grows in each field, to check
what farmers declare. Where clouds hid a field, values are filled in between the dates before and behind; more clouds are made
up at random, so that the network gets used to them. Then all is smoothed, and indices of how green it is are added.

Wrong: NumPy prepares a batch in the loop, before its step is sent off; the GPU has learnt from it long before the next comes.
fix: the pictures lie on the device, where the jitted step prepares a batch itself (host-bound).
fix2: eight threads prepare the batches ahead by NumPy, which lets them run side by side (host-bound).
useless: the weights and Adam's moments are donated.
"""
import collections
import concurrent.futures
import functools

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=160, warm_up=LOOK_EVERY, multiple=LOOK_EVERY, settle={"fix2": 2 * LOOK_EVERY})
jax, jnp, numpy, flax, optax = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "optax")

FIELDS, DATES, BANDS, CROPS, BATCH, WIDTH, LAYERS, HEADS, THREADS, AHEAD = 16384, 73, 10, 12, 480, 256, 3, 8, 8, 16
RED, GREEN, NEAR, SHORT, SMOOTH = 2, 1, 6, 8, (-3.0, 12.0, 17.0, 12.0, -3.0)  # bands; weights of Savitzky and Golay


class Network(flax.Module):
    @flax.compact
    def __call__(self, x):
        x = flax.Dense(WIDTH, dtype=jnp.bfloat16)(x)
        x = x + self.param("dates", flax.initializers.normal(0.02), (DATES, WIDTH)).astype(jnp.bfloat16)
        for _ in range(LAYERS):
            y = flax.LayerNorm(dtype=jnp.bfloat16)(x)
            x = x + flax.MultiHeadDotProductAttention(num_heads=HEADS, dtype=jnp.bfloat16)(y, y)
            y = flax.Dense(4 * WIDTH, dtype=jnp.bfloat16)(flax.LayerNorm(dtype=jnp.bfloat16)(x))
            x = x + flax.Dense(WIDTH, dtype=jnp.bfloat16)(flax.gelu(y))
        return flax.Dense(CROPS)(x.mean(axis=1).astype(jnp.float32))


def seasons():
    """Reflectances as whole numbers, where they can be seen, and what grows there by what was declared, not always rightly."""
    random = numpy.random.default_rng(20)
    crops, at = random.integers(0, CROPS, FIELDS), numpy.arange(DATES, dtype=numpy.float32)
    top = (18.0 + 3.5 * crops + 3.0 * random.standard_normal(FIELDS)).astype(numpy.float32)[:, None]
    green = numpy.exp(-numpy.square((at - top) / (6.0 + crops % 3)[:, None].astype(numpy.float32)))[:, :, None]
    bare, grown = random.uniform(0.1, 0.3, BANDS).astype(numpy.float32), random.uniform(0.02, 0.5, BANDS).astype(numpy.float32)
    values = bare + green * (grown - bare) + 0.02 * random.standard_normal((FIELDS, DATES, BANDS), dtype=numpy.float32)
    declared = numpy.where(random.random(FIELDS) < 0.15, random.integers(0, CROPS, FIELDS), crops)
    return (values * 10000.0).astype(numpy.int16), random.random((FIELDS, DATES)) < 0.6, declared.astype(numpy.int32)


def last_seen(clear):  # the newest clear date until each one, or -1
    return numpy.maximum.accumulate(numpy.where(clear, numpy.arange(DATES), -1), axis=1)  # cause: loader


def last_seen_on_device(clear):
    return jax.lax.cummax(jnp.where(clear, jnp.arange(DATES), -1), axis=1)


def prepared(np, last, values, clear, light):
    """What the network sees: (BATCH, DATES, BANDS and three indices); np: NumPy, or JAX's."""
    values = values.astype(np.float32) * (light * np.float32(0.0001))[:, None, None]  # cause: loader
    before, behind = last(clear), DATES - 1 - last(clear[:, ::-1])[:, ::-1]  # cause: loader
    first = np.where(before < 0, np.minimum(behind, DATES - 1), before)  # cause: loader
    other = np.where(behind >= DATES, np.maximum(before, 0), behind)  # cause: loader
    share = ((np.arange(DATES) - first) / np.maximum(other - first, 1)).astype(np.float32)[:, :, None]  # cause: loader
    start = np.take_along_axis(values, first[:, :, None], axis=1)  # cause: loader
    filled = start + share * (np.take_along_axis(values, other[:, :, None], axis=1) - start)  # cause: loader
    wide = np.pad(filled, ((0, 0), (2, 2), (0, 0)), mode="edge")  # cause: loader
    x = sum(np.float32(part / 35.0) * wide[:, at:at + DATES] for at, part in enumerate(SMOOTH))  # cause: loader
    one, two = x[:, :, [NEAR, GREEN, NEAR]], x[:, :, [RED, NEAR, SHORT]]  # cause: loader
    x = np.concatenate([x, (one - two) / (np.abs(one) + np.abs(two) + np.float32(0.01))], axis=2)  # cause: loader
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + np.float32(0.05))  # cause: loader


def make(variant):
    values, seen, declared = seasons()
    network, adam = Network(), optax.adamw(3e-4)
    weights = jax.jit(network.init)(jax.random.PRNGKey(20), jnp.zeros((1, DATES, BANDS + 3)))
    state, turn, pending, usual = [weights, adam.init(weights)], [0], [], [2.5]
    stored = jax.device_put((values, seen, declared)) if variant == "fix" else None
    threads, coming = concurrent.futures.ThreadPoolExecutor(THREADS) if variant == "fix2" else None, collections.deque()

    def learn(weights, moments, x, crops):
        def loss_of(weights):
            return optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, x), crops).mean()

        loss, slopes = jax.value_and_grad(loss_of)(weights)
        changes, moments = adam.update(slopes, moments, weights)
        return optax.apply_updates(weights, changes), moments, loss

    @jax.jit
    def prepare_and_learn(weights, moments, stored, which, clouds, light):
        values, seen, declared = (each[which] for each in stored)
        return learn(weights, moments, prepared(jnp, last_seen_on_device, values, seen & ~clouds, light), declared)

    train = functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())(learn)

    def drawn(number):
        """Which fields a batch has, clouds that are made up, and in what light the fields are seen."""
        random = numpy.random.default_rng(number)
        which, clouds = random.integers(0, FIELDS, BATCH), random.random((BATCH, DATES)) < 0.3
        return which.astype(numpy.int32), clouds, random.uniform(0.9, 1.1, BATCH).astype(numpy.float32)

    def batch(number):
        which, clouds, light = drawn(number)
        x = prepared(numpy, last_seen, values[which], seen[which] & ~clouds, light)  # cause: loader
        return x, declared[which]

    def ahead():
        """The oldest of the batches that are under way."""
        while len(coming) < AHEAD:
            coming.append(threads.submit(batch, turn[0] + len(coming)))
        return coming.popleft().result()

    def step():
        if variant == "fix":
            *state[:], loss = prepare_and_learn(*state, stored, *drawn(turn[0]))
        else:
            found = batch(turn[0]) if threads is None else ahead()  # cause: loader
            *state[:], loss = train(*state, *found)  # cause: delayed
        turn[0] += 1
        pending.append(loss)
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (float(sum(jax.device_get(pending))) / LOOK_EVERY - usual[0])
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual))


run.main(make)
