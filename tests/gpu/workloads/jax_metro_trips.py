# SPDX-License-Identifier: Apache-2.0
"""JAX: how many people go by metro, tram and bus from each of 16384 places of a region to each other one is told from how many
leave and reach each place in the morning, and from how long the ways take (gravity model): a way is the less liked the longer it
takes, and all is brought into balance row by row and column by column (Furness). How much time counts is put right step by step,
until people travel as long as a survey says.

Wrong: nothing (gpu-bound). A table of all ways has a gigabyte, through which each step goes some forty times; the mean times are
read every ten steps.
useless: how much time counts, and the balances with which a step begins, are donated.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=150, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PLACES, ROUNDS, WALK, SPEED, LINES, SURVEYED = 16384, 18, 8.0, 0.7, 12, 27.0  # minutes, and kilometres a minute


def region():
    """How long the ways take, in minutes, (PLACES, PLACES), and how many people leave and reach each place."""
    random = numpy.random.default_rng(20)
    towns = random.normal(0.0, 12.0, (LINES, 2))
    at = towns[random.integers(0, LINES, PLACES)] + random.normal(0.0, 3.0, (PLACES, 2))
    waits = random.uniform(1.0, 6.0, PLACES)
    homes, work = random.gamma(2.0, 150.0, PLACES), random.gamma(0.8, 375.0, PLACES)
    work *= homes.sum() / work.sum()
    return [numpy.asarray(part, dtype=numpy.float32) for part in (at, waits, homes, work)]


@jax.jit
def ways(at, waits):
    """By lines that go straight on, and a walk at both ends."""
    across, along = at[:, 0, None] - at[None, :, 0], at[:, 1, None] - at[None, :, 1]
    return jnp.sqrt(across * across + along * along) / SPEED + waits[:, None] + WALK


def balance(counts, leaving, reaching, minutes, homes, work):
    """Brings trips into balance, and gives how much time shall count next, the balances, and how long people travel."""
    liked = jnp.exp(-counts * minutes)

    def once(_, both):
        leaving, reaching = both
        leaving = homes / (liked @ reaching)
        return leaving, work / (leaving @ liked)

    leaving, reaching = jax.lax.fori_loop(0, ROUNDS, once, (leaving, reaching))
    mean = (leaving * ((liked * minutes) @ reaching)).sum() / (leaving * (liked @ reaching)).sum()
    return counts * (mean / SURVEYED) ** 0.5, leaving, reaching, mean


def make(variant):
    at, waits, homes, work = [jax.device_put(part) for part in region()]
    minutes = ways(at, waits)
    state = [jnp.float32(0.1), jnp.ones(PLACES, dtype=jnp.float32), jnp.ones(PLACES, dtype=jnp.float32)]
    go, pending, usual = jax.jit(balance, donate_argnums=(0, 1, 2) if variant == "useless" else ()), [], [0.0, 0.0]

    def look():
        """How long people travel, and how much time counts."""
        means = jax.device_get(pending)
        pending.clear()
        usual[0] += 0.2 * (float(sum(means)) / LOOK_EVERY - usual[0])
        usual[1] += 0.2 * (float(state[0]) - usual[1])

    def step():
        *state[:], mean = go(*state, minutes, homes, work)
        pending.append(mean)
        if len(pending) == LOOK_EVERY:
            look()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual))


run.main(make)
