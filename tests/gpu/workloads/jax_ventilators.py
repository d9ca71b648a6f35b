# SPDX-License-Identifier: Apache-2.0
"""JAX with flax and optax: a ventilator opens its valve while a patient breathes in, and should know before which pressure that
will make: from how far the valve is opened at 128 moments, and from the lung's resistance and compliance, a network learns the
pressure at each moment. It is learnt anew for each patient from the breaths of the last minutes.

Wrong: only the loss and its slopes are jitted; the optimizer works through all weights one by one, operation by operation,
each of which is a kernel of its own.
fix: the whole step is jitted (launch-bound).
useless: the loss, which is read every 50 steps for the nurse's screen, stays on the device until the end.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
jax, jnp, numpy, optax, linen = fixable.load_jax("jax.numpy", "numpy", "optax", "flax.linen")

MOMENTS, WIDE, BLOCKS, TOGETHER, BATCHES, SHOWN, SECONDS = 128, 128, 6, 256, 12, 50, 0.02  # SECONDS between moments


class Block(linen.Module):
    @linen.compact
    def __call__(self, hidden):
        inner = linen.Dense(WIDE)(linen.LayerNorm()(hidden))
        return hidden + linen.Dense(WIDE)(linen.gelu(inner))


class Lungs(linen.Module):
    """(TOGETHER, MOMENTS + 2) to pressures (TOGETHER, MOMENTS)."""

    @linen.compact
    def __call__(self, breaths):
        hidden = linen.Dense(WIDE)(breaths)
        for _ in range(BLOCKS):
            hidden = Block()(hidden)
        return linen.Dense(MOMENTS)(linen.LayerNorm()(hidden))


def breaths():
    """Batches of what the network sees, and the pressures that come of it (by the equation of motion of the lungs)."""
    random = numpy.random.default_rng(20)
    moment = numpy.arange(MOMENTS) * SECONDS
    for _ in range(BATCHES):
        strength, rise, end = (random.uniform(low, high, (TOGETHER, 1)) for low, high in ((0.3, 1.0), (0.05, 0.4), (0.8, 1.4)))
        valve = strength * (1.0 - numpy.exp(-moment / rise)) * (moment < end)
        resistance = random.choice([5.0, 20.0, 50.0], (TOGETHER, 1))
        compliance = random.choice([10.0, 20.0, 50.0], (TOGETHER, 1))
        behind, lasts = (moment - end).clip(0.0), 0.1 + 0.001 * resistance * compliance
        flow = 0.6 * valve - 0.15 * (moment >= end) * numpy.exp(-behind / lasts)
        volume = 1000.0 * SECONDS * numpy.cumsum(flow, axis=1).clip(0.0)
        pressure = 5.0 + resistance * flow + volume / compliance
        pressure = (pressure - 18.0) / 15.0 + random.normal(0.0, 0.2, pressure.shape)
        seen = numpy.concatenate((valve, resistance / 50.0, compliance / 50.0), axis=1)
        yield seen.astype(numpy.float32), pressure.astype(numpy.float32)


def make(variant):
    batches = [jax.device_put(batch) for batch in breaths()]
    model = Lungs()
    weights = jax.jit(model.init)(jax.random.PRNGKey(20), batches[0][0])
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(5e-4, weight_decay=1e-4))
    state = [weights, optimizer.init(weights), jnp.float32(1.0)]
    turn, curve, kept = [0], [], []

    def loss_of(weights, seen, pressure):
        return jnp.abs(model.apply(weights, seen) - pressure).mean()

    slopes_of = jax.jit(jax.value_and_grad(loss_of))

    def learn(weights, memory, usual, seen, pressure):
        """One step of learning: the weights, the optimizer's memory and the usual loss behind it."""
        loss, slopes = slopes_of(weights, seen, pressure)
        changes, memory = optimizer.update(slopes, memory, weights)  # cause: launch
        weights = optax.apply_updates(weights, changes)  # cause: launch
        return weights, memory, usual + 0.02 * (loss - usual)  # cause: launch

    if variant == "fix":
        learn = jax.jit(learn)

    def step():
        state[:] = learn(*state, *batches[turn[0] % BATCHES])  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            if variant == "useless":
                kept.append(state[2])
            else:
                curve.append(float(state[2]))

    def values():
        """The loss, and how large the weights have become."""
        curve.extend(float(loss) for loss in kept)
        kept.clear()
        return [float(state[2])] + [float(jnp.abs(w).mean()) for w in jax.tree_util.tree_leaves(state[0])[-6:]]

    return fixable.Work(step, lambda: jax.block_until_ready(state), values)


run.main(make)
