# SPDX-License-Identifier: Apache-2.0
"""JAX: a life insurer wants to know what its twelve million policies cost it in the next thirty years, for each of many ways in
which deaths and interest may go. For each year it is told how many of each policy's holders are still alive, how many give the
policy up, what is paid to heirs, and what comes in as premiums.

Wrong: after each year the host reads what was paid and what came in, for a ledger that shows how far it is; the GPU has nothing to
do until the next year is called for.
fix: the years' amounts, which are on the device anyway, are read for each twentieth way only, when it is at its end (sync-bound).
useless: the usual cost, which stays on the GPU, is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

POLICIES, YEARS, WAYS, EVERY = 12_000_000, 30, 64, 20


def policies(key):
    """Ages, sums that are paid to heirs, premiums of a year, in thousands; years until the policy ends."""
    ages, sums, ends = jax.random.split(key, 3)
    age = 25.0 + 35.0 * jax.random.uniform(ages, (POLICIES,))
    covered = 30.0 * jnp.exp(0.7 * jax.random.normal(sums, (POLICIES,)))
    return age, covered, covered * 1.3 * death(age + 12.0, 1.0), 5.0 + 25.0 * jax.random.uniform(ends, (POLICIES,))


def death(age, times):
    """The chance to die within a year, by Gompertz and Makeham."""
    return jnp.minimum(times * (0.0003 + 0.00003 * jnp.exp(0.098 * age)), 1.0)


def ways():
    """Deaths as a multiple of the usual ones, how much fewer they are each year, interest, and how many give up a year."""
    random = numpy.random.default_rng(20)
    for _ in range(WAYS):
        yield numpy.array([random.uniform(0.8, 1.3), random.uniform(0.0, 0.02), random.uniform(0.005, 0.05),
                           random.uniform(0.01, 0.06)], dtype=numpy.float32)


def next_year(book, way, alive, flows, year):
    """The part of each policy that is left after a year; the flows of all years; what is paid and what comes in this year."""
    age, covered, premium, ends = book
    held = jnp.where(year < ends, alive, 0.0)
    die = death(age + year, way[0] * jnp.exp(-way[1] * year))
    amounts = jnp.stack(((held * die * covered).sum(), (held * premium).sum())) * 1e-3
    return held * (1.0 - die) * (1.0 - way[3]), flows.at[year].set(amounts), amounts


def note(usual, way, flows):
    """The usual cost of today: what is paid, what comes in, and what is left, all with interest."""
    worth = jnp.exp(-way[2] * jnp.arange(YEARS, dtype=jnp.float32)) @ flows
    return usual + 0.02 * (jnp.stack((worth[0], worth[1], worth[1] - worth[0])) - usual)


def make(variant):
    book = jax.jit(policies)(jax.random.PRNGKey(20))
    all_ways = [jax.device_put(way) for way in ways()]
    years = [jax.device_put(numpy.int32(year)) for year in range(YEARS)]
    whole = jax.device_put(numpy.ones(POLICIES, dtype=numpy.float32))
    nothing = jax.device_put(numpy.zeros((YEARS, 2), dtype=numpy.float32))
    usual, turn = [jax.device_put(numpy.zeros(3, dtype=numpy.float32))], [0]
    ledger = numpy.zeros((YEARS, 2), dtype=numpy.float32)
    one_year = jax.jit(next_year)
    noted = jax.jit(note, donate_argnums=(0,) if variant == "useless" else ())

    def project(way):
        alive, flows = whole, nothing
        for year in range(YEARS):
            alive, flows, amounts = one_year(book, way, alive, flows, years[year])
            if variant != "fix":
                ledger[year] = numpy.asarray(amounts)  # cause: wait,copy
        return flows

    def step():
        way = all_ways[turn[0] % WAYS]
        flows = project(way)  # cause: wait,copy
        usual[0] = noted(usual[0], way, flows)
        turn[0] += 1
        if turn[0] % EVERY == 0:
            ledger[:] = numpy.asarray(flows)

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
