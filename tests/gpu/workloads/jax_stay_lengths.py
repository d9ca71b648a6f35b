# SPDX-License-Identifier: Apache-2.0
"""JAX, flax and optax: how many days a patient will stay in hospital is told from a table of 64 columns (age, blood, pulse,
wards, drugs), so that beds can be planned. A transformer that has each column as a token (FT-Transformer) is trained on 384 rows
at a time, in bfloat16, with clipping and AdamW; the step of training is jitted as a whole.

Wrong: nothing (gpu-bound); products of matrices take most of the time, and the host is far ahead of them. The loss is read every 20 steps.
useless: the state of training is donated to the step.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
jax, jnp, numpy, optax, nn, train_state = fixable.load_jax("jax.numpy", "numpy", "optax", "flax.linen",
                                                           "flax.training.train_state")

ROWS, COLUMNS, WIDTH, HEADS, LAYERS, SETS, EVERY = 384, 64, 768, 12, 2, 24, 20
HALF, HEAD = jnp.bfloat16, WIDTH // HEADS


class Block(nn.Module):
    """Attention between columns, then two layers for each of them."""

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(dtype=HALF)(x)
        q, k, v = jnp.moveaxis(nn.DenseGeneral((3, HEADS, HEAD), dtype=HALF)(y), 2, 0)
        likes = jnp.einsum("rqhd,rkhd->rhqk", q, k).astype(jnp.float32) * HEAD ** -0.5
        y = jnp.einsum("rhqk,rkhd->rqhd", jax.nn.softmax(likes, axis=-1).astype(HALF), v)
        x = x + nn.DenseGeneral(WIDTH, axis=(-2, -1), dtype=HALF)(y)
        y = nn.LayerNorm(dtype=HALF)(x)
        y = jax.nn.gelu(nn.Dense(4 * WIDTH, dtype=HALF)(y))
        return x + nn.Dense(WIDTH, dtype=HALF)(y)


class Stays(nn.Module):
    """The logarithm of days, for each row of numbers."""

    @nn.compact
    def __call__(self, numbers):
        scale = self.param("scale", nn.initializers.normal(0.5), (COLUMNS, WIDTH))
        shift = self.param("shift", nn.initializers.normal(0.5), (COLUMNS, WIDTH))
        x = (numbers[:, :, None] * scale + shift).astype(HALF)
        for _ in range(LAYERS):
            x = Block()(x)
        x = nn.LayerNorm()(x.astype(jnp.float32).mean(axis=1))
        return nn.Dense(1)(x)[:, 0]


def table(random):
    """Batches of rows, (ROWS, COLUMNS), and the logarithm of how long each patient stayed."""
    alone = random.normal(0.0, 0.15, COLUMNS)
    pairs = random.integers(0, COLUMNS, (24, 2))
    together = random.normal(0.0, 0.1, 24)
    for _ in range(SETS):
        rows = random.normal(0.0, 1.0, (ROWS, COLUMNS))
        days = 1.4 + numpy.tanh(rows) @ alone + (rows[:, pairs[:, 0]] * rows[:, pairs[:, 1]]) @ together
        days += random.normal(0.0, 0.2, ROWS)
        yield jax.device_put(rows.astype(numpy.float32)), jax.device_put(days.astype(numpy.float32))


def make(variant):
    batches = list(table(numpy.random.default_rng(20)))
    model = Stays()
    params = jax.jit(model.init)(jax.random.PRNGKey(20), batches[0][0])["params"]
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-4, weight_decay=0.01))
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=rule)
    now = [state.replace(step=jnp.zeros((), dtype=jnp.int32)), jnp.ones((), dtype=jnp.float32)]
    turn, noted = [0], []

    def train(state, usual, rows, days):
        def loss_of(params):
            return jnp.mean((state.apply_fn({"params": params}, rows) - days) ** 2)

        loss, slopes = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=slopes), usual + 0.02 * (loss - usual)

    learn = jax.jit(train, donate_argnums=(0,) if variant == "useless" else ())

    def step():
        now[0], now[1] = learn(now[0], now[1], *batches[turn[0] % SETS])
        turn[0] += 1
        if turn[0] % EVERY == 0:
            noted.append(float(now[1]))

    return fixable.Work(step, lambda: jax.block_until_ready(now), lambda: [float(now[1])])


run.main(make)
