# SPDX-License-Identifier: Apache-2.0
"""JAX: whether two climate models have the same weather is tested, month by month: 4096 days of each, at 1024 places, are held
against each other by a kernel of three widths (maximum mean discrepancy), and how far apart they would be by chance is told by
1023 trials, in which days change sides as a coin has it.

Wrong: nothing (gpu-bound); a test is one call of a jitted function, with two large products of matrices in full precision.
What was found is read once in 24 tests.
useless: what was found stays on the device, and is read at the end.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=15)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

DAYS, PLACES, PATTERNS, TRIALS, MONTHS, LOOK_EVERY = 4096, 1024, 48, 1024, 12, 24
WIDTHS = (0.25, 0.5, 1.0)


@jax.jit
def weather(key, off):
    """A month's days of both models, one model's below the other's; the second one is a bit off in some patterns."""
    keys = jax.random.split(key, 4)
    patterns = jax.random.normal(keys[0], (PATTERNS, PLACES)) / PATTERNS ** 0.5
    strong = jax.random.normal(keys[1], (2 * DAYS, PATTERNS)) * jnp.linspace(2.0, 0.5, PATTERNS)
    second = (jnp.arange(2 * DAYS) >= DAYS)[:, None]
    strong = strong + jnp.where(second & (jnp.arange(PATTERNS) < 6), off, 0.0)
    return jnp.matmul(strong, patterns, precision="highest") + 0.4 * jax.random.normal(keys[2], (2 * DAYS, PLACES))


def alike(days):
    """How much each day is like each other one."""
    squares = jnp.sum(days * days, axis=1)
    apart = squares[:, None] + squares[None, :] - 2.0 * jnp.matmul(days, days.T, precision="highest")
    apart = jnp.maximum(apart, 0.0)
    apart = apart / jnp.mean(apart)
    return sum(jnp.exp(-apart / width) for width in WIDTHS) / len(WIDTHS)


@jax.jit
def test(days, key):
    """How far apart the models are, by how many spreads that is more than by chance, and how often chance gives as much."""
    sides = jax.random.rademacher(key, (DAYS, TRIALS), dtype=jnp.float32)
    sides = sides.at[:, 0].set(1.0)  # the first trial is as it was
    sides = jnp.concatenate((sides, -sides)) / DAYS
    found = jnp.sum(sides * jnp.matmul(alike(days), sides, precision="highest"), axis=0)
    own, chance = found[0], found[1:]
    return jnp.stack((own, (own - jnp.mean(chance)) / jnp.std(chance), jnp.mean(chance >= own)))


def make(variant):
    keys = list(jax.random.split(jax.random.PRNGKey(20), 2 * MONTHS))
    months = [weather(keys[month], 0.02 * month) for month in range(MONTHS)]
    found = [None] * MONTHS
    turn, unlike = [0], [0]

    def read():
        return [numpy.asarray(one) for one in found if one is not None]

    def step():
        month = turn[0] % MONTHS
        turn[0] += 1
        found[month] = test(months[month], keys[MONTHS + month])
        if variant != "useless" and turn[0] % LOOK_EVERY == 0:
            unlike[0] = sum(bool(one[2] < 0.05) for one in read())

    def wait():
        jax.block_until_ready([one for one in found if one is not None])

    def values():
        return [float(number) for one in read() for number in one]

    return fixable.Work(step, wait, values)


run.main(make)
