# SPDX-License-Identifier: Apache-2.0
"""JAX with flax and optax: a transformer learns what ECGs show; behind each step the loss, the hits and the size of the gradients
are turned into floats for running means, and only then the host makes the next batch.

Wrong: the host waits for these numbers, and while it disturbs the next ECGs, the GPU has nothing.
fix: the numbers are kept as arrays, and read every 25 steps (sync-bound).
fix2: the disturbed ECGs are made before the loop; the numbers are still waited for (host-bound).
useless: the parameters and the optimizer's state are donated.
"""
import functools

import fixable

TOGETHER = 25

run = fixable.Program(__doc__, steps=300, warm_up=TOGETHER, multiple=TOGETHER)
jax, jnp, numpy, optax, flax = fixable.load_jax("jax.numpy", "numpy", "optax", "flax.linen")

BATCH, STORED, LEADS, SAMPLES, PATCH, WIDTH, LAYERS, HEADS, FINDINGS, SETS = 256, 4096, 8, 1000, 20, 512, 6, 8, 5, 25


class Network(flax.Module):
    @flax.compact
    def __call__(self, x):
        count = SAMPLES // PATCH
        x = x.reshape(-1, LEADS, count, PATCH).transpose(0, 2, 1, 3).reshape(-1, count, LEADS * PATCH)
        x = flax.Dense(WIDTH, dtype=jnp.bfloat16)(x)
        x = x + self.param("places", flax.initializers.normal(0.02), (count, WIDTH)).astype(jnp.bfloat16)
        for _ in range(LAYERS):
            y = flax.LayerNorm(dtype=jnp.bfloat16)(x)
            x = x + flax.MultiHeadDotProductAttention(num_heads=HEADS, dtype=jnp.bfloat16)(y, y)
            y = flax.Dense(4 * WIDTH, dtype=jnp.bfloat16)(flax.LayerNorm(dtype=jnp.bfloat16)(x))
            x = x + flax.Dense(WIDTH, dtype=jnp.bfloat16)(flax.gelu(y))
        return flax.Dense(FINDINGS)(x.mean(axis=1).astype(jnp.float32))


def make(variant):
    random = numpy.random.default_rng(20)
    findings = random.integers(0, FINDINGS, STORED).astype(numpy.int32)
    stored = random.standard_normal((STORED, LEADS, SAMPLES), dtype=numpy.float32)
    stored += numpy.sin(numpy.arange(SAMPLES, dtype=numpy.float32) * (0.05 + 0.01 * findings[:, None]))[:, None, :]
    times = numpy.linspace(0.0, 10.0, SAMPLES, dtype=numpy.float32)

    network = Network()
    params = network.init(jax.random.PRNGKey(20), jnp.zeros((1, LEADS, SAMPLES)))
    optimizer = optax.adamw(1e-4)
    state = [params, optimizer.init(params)]
    turn, pending, means = [0], [], [0.0, 0.0, 0.0]

    def disturbed(number):
        """ECGs as they come from other devices: stronger or weaker, with noise, a line that wanders, and a piece missing."""
        luck = numpy.random.default_rng(number % SETS)
        which = luck.integers(0, STORED, BATCH)
        x = stored[which]
        x *= luck.uniform(0.8, 1.25, (BATCH, LEADS, 1)).astype(numpy.float32)
        speed, start = luck.uniform(0.5, 3.0, (2, BATCH, 1)).astype(numpy.float32)
        wander = 0.2 * numpy.sin(speed * times + start)
        x += (wander + 0.05 * luck.standard_normal((BATCH, SAMPLES), dtype=numpy.float32))[:, None, :]
        for one, first in zip(x, luck.integers(0, SAMPLES - 100, BATCH)):
            one[:, first:first + 100] = 0.0
        return x, findings[which]

    ready = [disturbed(number) for number in range(SETS)] if variant == "fix2" else None

    def loss_of(params, x, wanted):
        scores = network.apply(params, x)
        loss = optax.softmax_cross_entropy_with_integer_labels(scores, wanted).mean()
        return loss, (scores.argmax(axis=1) == wanted).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())
    def train(params, opt_state, x, wanted):
        (loss, hits), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, wanted)
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state, (loss, hits, optax.global_norm(gradients))

    def log(numbers):
        for at, number in enumerate(numbers):
            means[at] = 0.95 * means[at] + 0.05 * float(number)  # cause: wait,copy in xla_cuda_plugin

    def step():
        x, wanted = ready[turn[0] % SETS] if ready else disturbed(turn[0])
        turn[0] += 1
        *state[:], numbers = train(*state, x, wanted)
        if variant == "fix":
            pending.append(numbers)
            if len(pending) == TOGETHER:
                for numbers in jax.device_get(pending):
                    log(numbers)
                pending.clear()
        else:
            log(numbers)  # cause: wait,copy in xla_cuda_plugin

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(means))


run.main(make)
