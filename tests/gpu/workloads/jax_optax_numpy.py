# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: a jitted training step of a small network, called once for each batch, which comes from NumPy.

Wrong: each batch is copied from pageable memory to the GPU before its step can run.
fix: the batches lie on the device before the loop (copy-bound).
fix2: the same, and ten steps in one lax.scan (host-bound).
useless: the parameters are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=2500, warm_up=20, multiple=10)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

BATCH, INPUTS, WIDTH, OUTPUTS, BATCHES = 1024, 784, 256, 10, 10


def make(variant):
    random = numpy.random.default_rng(20)

    def some(*shape):
        return random.standard_normal(shape, dtype=numpy.float32)

    sizes = [INPUTS, WIDTH, WIDTH, OUTPUTS]
    params = [{"w": jnp.asarray(some(a, b) / numpy.sqrt(a)), "b": jnp.zeros(b)} for a, b in zip(sizes, sizes[1:])]
    optimizer = optax.adam(1e-3)
    state = [params, optimizer.init(params)]

    def loss_of(params, x, y):
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        logits = x @ params[-1]["w"] + params[-1]["b"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def train_step(params, opt_state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    def ten_steps(params, opt_state, xs, ys):
        def one(carry, batch):
            params, opt_state, loss = train_step(*carry, *batch)
            return (params, opt_state), loss
        (params, opt_state), losses = jax.lax.scan(one, (params, opt_state), (xs, ys))
        return params, opt_state, losses[-1]

    jit = functools.partial(jax.jit, donate_argnums=(0, 1)) if variant == "useless" else jax.jit
    train = jit(ten_steps if variant == "fix2" else train_step)
    xs, ys = some(BATCHES, BATCH, INPUTS), random.integers(0, OUTPUTS, (BATCHES, BATCH), dtype=numpy.int32)
    batches = list(zip(xs, ys))
    if variant == "fix":
        batches = [(jax.device_put(x), jax.device_put(y)) for x, y in batches]
    elif variant == "fix2":
        xs, ys = jax.device_put(xs), jax.device_put(ys)
    losses = [0.0]

    def loop(steps):
        params, opt_state = state
        loss = None
        if variant == "fix2":
            for _ in range(steps // BATCHES):
                params, opt_state, loss = train(params, opt_state, xs, ys)
        else:
            for number in range(steps):
                x, y = batches[number % BATCHES]
                params, opt_state, loss = train(params, opt_state, x, y)  # cause: copy in xla_cuda_plugin
                if number % 100 == 99:
                    losses[0] = float(loss)
        state[:] = [params, opt_state]
        losses[0] = float(loss)

    return fixable.Work(loop=loop, wait=lambda: jax.block_until_ready(state), values=lambda: losses)


run.main(make)
