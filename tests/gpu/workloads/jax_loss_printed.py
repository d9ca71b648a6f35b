# SPDX-License-Identifier: Apache-2.0
"""JAX: a jitted training step of an MLP; its loss is turned into a float at each step, and only then the host makes the next batch.

Wrong: the GPU has nothing while the host makes a batch, since the host waits for each loss.
fix: losses are kept as arrays and read every 50 steps (sync-bound).
fix2: the batches are made before the loop (host-bound).
useless: the parameters are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=50, multiple=50)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BATCH, WIDTH, LAYERS, OUTPUTS, TOGETHER = 2048, 2048, 4, 16, 50


def make(variant):
    random = numpy.random.default_rng(20)
    params = [jnp.asarray(random.standard_normal((WIDTH, WIDTH), dtype=numpy.float32) / numpy.float32(WIDTH ** 0.5))
              for _ in range(LAYERS)]
    params.append(jnp.asarray(random.standard_normal((WIDTH, OUTPUTS), dtype=numpy.float32) / numpy.float32(WIDTH ** 0.5)))
    seeds = jax.device_put(random.standard_normal((64, WIDTH), dtype=numpy.float32))
    state, losses, pending = [params], [], []

    def loss_of(params, rows, shifts):
        x = seeds[rows] + shifts[:, None]
        for weights in params[:-1]:
            x = jax.nn.relu(x @ weights)
        return jnp.square(x @ params[-1] - 1.0).mean()

    def train_step(params, rows, shifts):
        loss, grads = jax.value_and_grad(loss_of)(params, rows, shifts)
        return [p - 1e-3 * g for p, g in zip(params, grads)], loss

    jit = functools.partial(jax.jit, donate_argnums=(0,)) if variant == "useless" else jax.jit
    train = jit(train_step)

    def batch():
        """Which rows, and how they are shifted: chosen by the host."""
        order = numpy.argsort(random.random((24, BATCH)), axis=1)
        return (order[0] % 64).astype(numpy.int32), numpy.cos(order.mean(axis=0)).astype(numpy.float32)

    made = [batch() for _ in range(TOGETHER)] if variant == "fix2" else []

    def loop(steps):
        for number in range(steps):
            state[0], loss = train(state[0], *(made[number % TOGETHER] if made else batch()))
            if variant == "fix":
                pending.append(loss)
                if len(pending) == TOGETHER:
                    losses[:] = [float(v) for v in jax.device_get(pending)]
                    pending.clear()
            else:
                losses[:] = losses[-TOGETHER + 1:] + [float(loss)]  # cause: wait,copy in xla_cuda_plugin

    return fixable.Work(loop=loop, wait=lambda: jax.block_until_ready(state[0]), values=lambda: losses[-1:])


run.main(make)
