# SPDX-License-Identifier: Apache-2.0
"""JAX: the gradients come from one jitted function, and the optimizer is another one, which Python calls for each array of weights.

Wrong: each of 64 calls is dispatched by Python on its own, in many times what its kernels run.
fix: one jitted function updates all arrays (launch-bound, host-bound).
useless: the arrays are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=1300, warm_up=50, multiple=50)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

LAYERS, WIDTH, BATCH, LOOK_EVERY = 16, 256, 256, 50
RATE, KEEP, DECAY = 1e-3, 0.9, 1e-4


def weights(random):
    def some(rows, columns):
        return jnp.asarray(random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    return [{"weight": some(WIDTH, WIDTH), "bias": jnp.zeros(WIDTH), "scale": jnp.ones(WIDTH), "shift": jnp.zeros(WIDTH)}
            for _ in range(LAYERS)]


def loss_of(params, x, y):
    for layer in params:
        normal = (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1e-5)
        x = x + 0.2 * jnp.tanh((normal * layer["scale"] + layer["shift"]) @ layer["weight"] + layer["bias"])
    return jnp.square(x - y).mean()


def update(p, mean, square, g):
    """AdamW, without the correction of the first steps."""
    mean = KEEP * mean + (1.0 - KEEP) * g
    square = 0.999 * square + 0.001 * g * g
    return p - RATE * (mean / (jnp.sqrt(square) + 1e-3) + DECAY * p), mean, square


def make(variant):
    random = numpy.random.default_rng(20)
    params = weights(random)
    batches = [tuple(jnp.asarray(random.standard_normal((BATCH, WIDTH), dtype=numpy.float32)) for _ in range(2)) for _ in range(4)]
    state = {"params": params, "means": jax.tree.map(jnp.zeros_like, params), "squares": jax.tree.map(jnp.zeros_like, params)}
    gradients_of = jax.jit(jax.value_and_grad(loss_of))
    jit = functools.partial(jax.jit, donate_argnums=(0, 1, 2)) if variant == "useless" else jax.jit
    update_one = jit(update)
    turn, losses = [0], []

    @jax.jit
    def update_all(params, means, squares, gradients):
        found = jax.tree.map(update, params, means, squares, gradients)
        return jax.tree.transpose(jax.tree.structure(params), jax.tree.structure((0, 0, 0)), found)

    def one_by_one(params, means, squares, gradients):
        leaves, shape = jax.tree.flatten(params)
        after = [update_one(*four) for four in zip(  # cause: launch in xla_cuda_plugin
            leaves, jax.tree.leaves(means), jax.tree.leaves(squares), jax.tree.leaves(gradients))]
        return [jax.tree.unflatten(shape, part) for part in zip(*after)]

    optimizer = update_all if variant == "fix" else one_by_one

    def loop(steps):
        for _ in range(steps):
            x, y = batches[turn[0] % 4]
            turn[0] += 1
            loss, gradients = gradients_of(state["params"], x, y)
            after = optimizer(state["params"], state["means"], state["squares"], gradients)
            state["params"], state["means"], state["squares"] = after
            if turn[0] % LOOK_EVERY == 0:
                losses[:] = [float(loss)]

    return fixable.Work(loop=loop, wait=lambda: jax.block_until_ready(state["params"]), values=lambda: list(losses))


run.main(make)
