# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: a network learns in half precision to fill the gaps of tables; its loss is scaled, and behind each step Python
looks whether all gradients are numbers: where they are not, the step is left out and the scale is halved.

Wrong: the host waits for that answer, and only then makes the next batch, while the GPU has nothing.
fix: the scale is kept on the device, where the step is taken or left out as well (sync-bound).
fix2: the batches are made before the loop; the answer is still waited for (host-bound).
useless: the parameters and the optimizer's state are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=25, multiple=25)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

BATCH, COLUMNS, WIDTH, LAYERS, STORED, GROW_AFTER, LOOK_EVERY, AHEAD = 4096, 320, 3072, 8, 60000, 200, 25, 20


def network(key):
    def some(rows, columns):
        nonlocal key
        key, mine = jax.random.split(key)
        return jax.random.normal(mine, (rows, columns)) / rows ** 0.5

    return {"first": some(COLUMNS, WIDTH), "middle": [some(WIDTH, WIDTH) for _ in range(LAYERS)], "last": some(WIDTH, COLUMNS)}


def scaled_loss(params, scale, known, wanted):
    half = jax.tree.map(lambda p: p.astype(jnp.float16), params)
    x = known.astype(jnp.float16) @ half["first"]
    for weights in half["middle"]:
        x = x + 0.25 * jax.nn.relu(x @ weights)
    loss = jnp.square((x @ half["last"]).astype(jnp.float32) - wanted).mean()
    return loss * scale, loss


def make(variant):
    random = numpy.random.default_rng(20)
    table = random.standard_normal((STORED, COLUMNS), dtype=numpy.float32)
    params = network(jax.random.PRNGKey(20))
    optimizer = optax.adam(1e-5)
    state = [params, optimizer.init(params)]
    scale, good, turn, seen = [numpy.float32(65536.0)], [0], [0], []

    def batch():
        """Rows of the table, of which one number in six is left out."""
        wanted = table[random.integers(0, STORED, BATCH)]
        there = random.random(wanted.shape, dtype=numpy.float32) > 1.0 / 6.0
        return jax.device_put((wanted * there, wanted))

    ready = [batch() for _ in range(AHEAD)] if variant == "fix2" else []

    def gradients_of(params, scale, known, wanted):
        (_, loss), gradients = jax.value_and_grad(scaled_loss, has_aux=True)(params, scale, known, wanted)
        gradients = jax.tree.map(lambda g: g / scale, gradients)
        return gradients, loss, jnp.stack([jnp.isfinite(g).all() for g in jax.tree.leaves(gradients)]).all()

    def applied(params, opt_state, gradients):
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state

    look = jax.jit(gradients_of)
    apply = functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())(applied)

    @jax.jit
    def both(params, opt_state, scale, good, known, wanted):
        gradients, loss, finite = gradients_of(params, scale, known, wanted)
        params, opt_state = jax.tree.map(lambda new, old: jnp.where(finite, new, old),
                                         applied(params, opt_state, gradients), (params, opt_state))
        good = jnp.where(finite, good + 1, 0)
        scale = jnp.where(finite, jnp.where(good % GROW_AFTER == 0, 2.0 * scale, scale), 0.5 * scale)
        return params, opt_state, scale, good, loss

    if variant == "fix":
        scale[0], good[0] = jnp.float32(scale[0]), jnp.int32(0)

    def step_taken(known, wanted):
        if variant == "fix":
            *state[:], scale[0], good[0], loss = both(*state, scale[0], good[0], known, wanted)
            return loss
        gradients, loss, finite = look(state[0], scale[0], known, wanted)
        if finite:  # cause: wait in xla_cuda_plugin
            state[:] = apply(*state, gradients)
            good[0] += 1
            if good[0] % GROW_AFTER == 0:
                scale[0] = numpy.float32(2.0 * scale[0])
        else:
            scale[0], good[0] = numpy.float32(0.5 * scale[0]), 0
        return loss

    def step():
        turn[0] += 1
        loss = step_taken(*(ready[turn[0] % AHEAD] if ready else batch()))
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(loss)]

    def values():
        return seen + numpy.asarray(jnp.abs(state[0]["last"]).mean(axis=0)).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(state), values)


run.main(make)
