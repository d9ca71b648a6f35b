# SPDX-License-Identifier: Apache-2.0
"""JAX with flax and optax: how worn a milling tool is, is told at each moment from how the machine has shaken until then. The
network's layers remember by leaks: each number of a layer is a fading mean of what has come before, fast or slowly, which is
learnt (a linear recurrent network).

Wrong: lax.scan goes through the 512 moments one after the other, there and back, in each layer; XLA launches a few tiny kernels
for each moment, and there are thousands in a step.
fix: lax.associative_scan makes all moments' means in some nine rounds of larger kernels (launch-bound).
fix2: the scan is unrolled by 16 moments, which XLA makes larger kernels of (launch-bound).
useless: the weights and Adam's moments are donated.
"""
import functools

import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=150, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy, flax, optax = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "optax")

TOOLS, MOMENTS, BANDS, BATCH, WIDTH, LAYERS, UNROLLED = 512, 512, 24, 32, 192, 2, 16


def one_by_one(keeps, news, unroll=1):
    """Fading means along the first axis of news: (MOMENTS, BATCH, WIDTH)."""
    def go_on(mean, new):
        mean = keeps * mean + new
        return mean, mean

    return jax.lax.scan(go_on, jnp.zeros(news.shape[1:]), news, unroll=unroll)[1]


def all_at_once(keeps, news):
    def both(early, late):
        return early[0] * late[0], late[0] * early[1] + late[1]

    return jax.lax.associative_scan(both, (jnp.broadcast_to(keeps, news.shape), news), axis=0)[1]


class Leaks(flax.Module):
    """A layer that remembers."""
    means: object

    @flax.compact
    def __call__(self, x):
        y = flax.LayerNorm()(x)
        slow = self.param("slow", lambda key, shape: jax.random.uniform(key, shape, minval=0.0, maxval=5.0), (WIDTH,))
        keeps = jax.nn.sigmoid(slow)
        mean = self.means(keeps, (1.0 - keeps) * flax.Dense(WIDTH)(y))
        return x + flax.Dense(WIDTH)(flax.gelu(mean) * jax.nn.sigmoid(flax.Dense(WIDTH)(y)))


class Network(flax.Module):
    means: object

    @flax.compact
    def __call__(self, x):
        x = flax.Dense(WIDTH)(x)
        for _ in range(LAYERS):
            x = Leaks(self.means)(x)
        return flax.Dense(1)(flax.LayerNorm()(x))[:, :, 0]


def tools():
    """How strong the shaking is in bands, (MOMENTS, TOOLS, BANDS), and how worn each tool is by then, (MOMENTS, TOOLS)."""
    random = numpy.random.default_rng(20)
    load = random.gamma(2.0, 0.5, (MOMENTS, TOOLS)).astype(numpy.float32)
    worn = numpy.cumsum(load * random.uniform(0.3, 1.5, TOOLS).astype(numpy.float32), axis=0) / MOMENTS
    more = random.uniform(-0.5, 1.0, BANDS).astype(numpy.float32)
    shaking = worn[:, :, None] * more + 0.3 * load[:, :, None]
    return shaking + random.standard_normal((MOMENTS, TOOLS, BANDS), dtype=numpy.float32), worn


def make(variant):
    shaking, worn = [jax.device_put(array) for array in tools()]
    means = {"fix": all_at_once, "fix2": functools.partial(one_by_one, unroll=UNROLLED)}.get(variant, one_by_one)
    network, adam = Network(means), optax.adamw(1e-3)
    weights = jax.jit(network.init)(jax.random.PRNGKey(20), jnp.zeros((MOMENTS, 1, BANDS)))
    state, pending, usual = [weights, adam.init(weights)], [], [0.3]
    random = numpy.random.default_rng(21)

    def learn(weights, moments, shaking, worn, which):
        x, wanted = shaking[:, which], worn[:, which]

        def loss_of(weights):
            return jnp.square(network.apply(weights, x) - wanted).mean()

        loss, slopes = jax.value_and_grad(loss_of)(weights)
        changes, moments = adam.update(slopes, moments, weights)
        return optax.apply_updates(weights, changes), moments, loss

    train = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())

    def look():
        """The usual loss."""
        usual[0] += 0.2 * (sum(float(loss) for loss in jax.device_get(pending)) / LOOK_EVERY - usual[0])
        pending.clear()

    def step():
        which = random.integers(0, TOOLS, BATCH).astype(numpy.int32)
        *state[:], loss = train(*state, shaking, worn, which)  # cause: launch
        pending.append(loss)
        if len(pending) == LOOK_EVERY:
            look()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual))


run.main(make)
