# SPDX-License-Identifier: Apache-2.0
"""JAX, flax, optax: how far does a steel plate bend under its load? An operator network (DeepONet) learns it: one part reads the
load at 16 by 16 places of the plate, the other one the place that is asked for, and their product is the deflection there. What is
right comes from Navier's series for a plate that lies on its edges. 8192 loads and 4096 places a step, in half precision.

Wrong: nothing; the GPU is busy all the time with products of large matrices (gpu-bound).
useless: the weights and the optimizer's state are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
jax, jnp, nn, optax, numpy = fixable.load_jax("jax.numpy", "flax.linen", "optax", "numpy")

MODES, LOADS, PLACES, BATCHES, WIDE, RANK, SHOWN = 16, 8192, 4096, 8, 2048, 1024, 20


def shapes(x, y):
    """Navier's shapes at places: sin(m pi x) sin(n pi y), (places, MODES * MODES)."""
    number = jnp.arange(1, MODES + 1)
    along = jnp.sin(jnp.pi * x[:, None] * number)
    across = jnp.sin(jnp.pi * y[:, None] * number)
    return (along[:, :, None] * across[:, None, :]).reshape(x.shape[0], MODES * MODES)


def batch(key):
    """Loads by shape; places that are asked for."""
    some, where = jax.random.split(key)
    number = jnp.arange(1, MODES + 1)
    fine = (number[:, None] ** 2 + number[None, :] ** 2).reshape(-1).astype(jnp.float32)
    loads = jax.random.normal(some, (LOADS, MODES * MODES)) / jnp.sqrt(fine)
    return loads, jax.random.uniform(where, (PLACES, 2))


def deflections(loads, places):
    """What Navier's series tells, with about one as its mean square."""
    number = jnp.arange(1, MODES + 1)
    stiff = (number[:, None] ** 2 + number[None, :] ** 2).reshape(-1).astype(jnp.float32) ** 2
    return 11.0 * (loads / stiff) @ shapes(places[:, 0], places[:, 1]).T


class Part(nn.Module):
    deep: int

    @nn.compact
    def __call__(self, x):
        for _ in range(self.deep):
            x = nn.gelu(nn.Dense(WIDE, dtype=jnp.bfloat16)(x))
        return nn.Dense(RANK, dtype=jnp.bfloat16)(x)


class Operator(nn.Module):
    @nn.compact
    def __call__(self, felt, places):
        branch = Part(4, name="branch")(felt)
        trunk = Part(3, name="trunk")(places)
        return (branch @ trunk.T).astype(jnp.float32) / RANK ** 0.5


def make(variant):
    model = Operator()
    axis = (jnp.arange(16) + 0.5) / 16.0
    sensors = shapes(jnp.repeat(axis, 16), jnp.tile(axis, 16)).T  # from loads by shape to loads at the sensors
    batches = [jax.jit(batch)(key) for key in jax.random.split(jax.random.PRNGKey(20), BATCHES)]
    weights = jax.jit(model.init)(jax.random.PRNGKey(21), batches[0][0] @ sensors, batches[0][1])
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-4))
    state = [weights, jax.jit(optimizer.init)(weights), jnp.ones(())]
    turn, curve = [0], []

    def learn(weights, memory, usual, loads, places):
        def off(weights):
            given = model.apply(weights, loads @ sensors, 2.0 * places - 1.0)
            return jnp.square(given - deflections(loads, places)).mean()
        loss, slopes = jax.value_and_grad(off)(weights)
        changes, memory = optimizer.update(slopes, memory, weights)
        return optax.apply_updates(weights, changes), memory, usual + 0.02 * (loss - usual)

    learnt = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())

    def step():
        state[:] = learnt(*state, *batches[turn[0] % BATCHES])
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(float(state[2]))

    def values():
        """The loss, and how large the weights have become."""
        return [float(state[2]), float(optax.global_norm(state[0]))]

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: numpy.asarray(values()).tolist())


run.main(make)
