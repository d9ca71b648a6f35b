# SPDX-License-Identifier: Apache-2.0
"""JAX, Flax: how many loaves shops will sell in each of the next 24 hours is told from the last week's hours, by a network as of
N-BEATS (blocks that each explain a part of what was sold and leave the rest to the next one). A step is eight batches of 6144
weeks; optax clips gradients and makes the steps of Adam. The losses of the last batches are noted.

Wrong: the loss of each batch is read as soon as it is launched, and the GPU has nothing to do until the next one is.
fix: losses stay on the device, and those that are noted are read at the end (sync-bound).
useless: the network's and the optimizer's state is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
jax, jnp, linen, optax, numpy = fixable.load_jax("jax.numpy", "flax.linen", "optax", "numpy")

HOURS, NEXT, WEEKS, SETS, BATCHES, WIDE, BLOCKS, KEPT = 168, 24, 6144, 8, 8, 512, 4, 16


def sales():
    """What was sold in so many weeks and in the 24 hours behind each: days, weeks, a trend, and chance."""
    random = numpy.random.default_rng(20)
    hours = numpy.arange(HOURS + NEXT, dtype=numpy.float32)
    shape = (SETS, WEEKS, 1)
    starts = random.integers(0, HOURS, shape).astype(numpy.float32)
    daily = random.uniform(0.5, 1.5, shape).astype(numpy.float32) * numpy.sin((hours + starts) * (2.0 * numpy.pi / 24.0))
    weekly = random.uniform(0.2, 0.6, shape).astype(numpy.float32) * numpy.sin((hours + starts) * (2.0 * numpy.pi / HOURS))
    trend = random.normal(0.0, 0.3, shape).astype(numpy.float32) * (hours / HOURS)
    sold = daily + weekly + trend + 0.3 * random.standard_normal((SETS, WEEKS, HOURS + NEXT), dtype=numpy.float32)
    sold = sold.astype(numpy.float32)
    return jax.device_put(sold[:, :, :HOURS]), jax.device_put(sold[:, :, HOURS:])


class Forecast(linen.Module):
    @linen.compact
    def __call__(self, rest):
        told = 0.0
        for _ in range(BLOCKS):
            inner = linen.relu(linen.Dense(WIDE)(rest))
            inner = linen.relu(linen.Dense(WIDE)(inner))
            inner = linen.relu(linen.Dense(WIDE)(inner))
            rest = rest - linen.Dense(HOURS)(inner)
            told = told + linen.Dense(NEXT)(inner)
        return told


def make(variant):
    before, behind = sales()
    network = Forecast()
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-4))
    weights = jax.jit(network.init)(jax.random.PRNGKey(20), before[0, :2])
    state = [(weights, optimizer.init(weights), jnp.zeros((), dtype=jnp.int32))]
    lately = []

    def batch(state, before, behind):
        weights, momenta, number = state
        past, future = before[number % SETS], behind[number % SETS]

        def missed(weights):
            return jnp.mean(jnp.square(network.apply(weights, past) - future))

        loss, slopes = jax.value_and_grad(missed)(weights)
        changes, momenta = optimizer.update(slopes, momenta, weights)
        return (optax.apply_updates(weights, changes), momenta, number + 1), loss

    learn = jax.jit(batch, donate_argnums=(0,) if variant == "useless" else ())

    def step():
        for _ in range(BATCHES):
            state[0], loss = learn(state[0], before, behind)
            if variant != "fix":
                loss = float(loss)  # cause: wait,copy
            lately.append(loss)
        del lately[:-KEPT]

    def wait():
        jax.block_until_ready(state[0])

    def values():
        return [float(loss) for loss in lately]

    return fixable.Work(step, wait, values)


run.main(make)
