# SPDX-License-Identifier: Apache-2.0
"""JAX: archivists link entries of baptism registers with those of burial registers. Six fields of 2.4 million pairs of entries
(names, father's name, parish, year, trade) have been compared before, each to one of four levels, and the EM algorithm of
Fellegi and Sunter finds how often each level comes with pairs of one person and with others, and how many pairs are of one
person; 16 rounds for each of three counties.

Wrong: the likelihood of each round is read by float(), to stop where it falls (it never does, unless data are broken); the
next round is launched only then.
fix: the likelihoods stay on the GPU; they are read every ten steps, as they are in the base as well (sync-bound).
useless: the array of likelihoods is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PAIRS, FIELDS, LEVELS, COUNTIES, ROUNDS, EACH = 2400000, 6, 4, 3, 16, 10
SAME, FALL, LITTLE = 0.04, 1e-3, 1e-6  # the share of pairs that are of one person; a likelihood that falls by so much is wrong
OF_ONE = ((0.08, 0.07, 0.15, 0.70), (0.05, 0.10, 0.20, 0.65), (0.15, 0.10, 0.15, 0.60),
          (0.20, 0.10, 0.10, 0.60), (0.10, 0.15, 0.25, 0.50), (0.25, 0.15, 0.15, 0.45))
OF_TWO = ((0.80, 0.08, 0.07, 0.05), (0.85, 0.08, 0.05, 0.02), (0.75, 0.10, 0.08, 0.07),
          (0.60, 0.20, 0.10, 0.10), (0.60, 0.20, 0.12, 0.08), (0.55, 0.20, 0.15, 0.10))


def county(random):
    """The level to which each field of each pair agrees, (FIELDS, PAIRS)."""
    same = random.random(PAIRS, dtype=numpy.float32) < SAME
    levels = numpy.zeros((FIELDS, PAIRS), dtype=numpy.int8)
    for field in range(FIELDS):
        luck = random.random(PAIRS, dtype=numpy.float32)
        one, two = numpy.cumsum(OF_ONE[field]), numpy.cumsum(OF_TWO[field])
        for level in range(LEVELS - 1):
            levels[field] += luck > numpy.where(same, numpy.float32(one[level]), numpy.float32(two[level]))
    return levels


@jax.jit
def table_of(levels):
    """Ones where a field of a pair agrees to a level, (FIELDS * LEVELS, PAIRS), and how often that is."""
    ones = levels[:, None, :] == jnp.arange(LEVELS, dtype=jnp.int8)[None, :, None]
    table = ones.reshape(FIELDS * LEVELS, PAIRS).astype(jnp.float32)
    return table, table.mean(axis=1)


def em_round(table, held, share, one, two, history):
    """A round of EM: how likely each pair is of one person, and the numbers that follow from that."""
    weights = jnp.log(one) - jnp.log(two)
    evidence = (weights[:, None] * table).sum(axis=0) + jnp.log(share) - jnp.log1p(-share)
    likelihood = (held * jnp.log(two)).sum() + jnp.log1p(-share) + jax.nn.softplus(evidence).mean()
    chance = jax.nn.sigmoid(evidence)
    found, new_share = (chance * table).mean(axis=1), chance.mean()
    new_one = (found + LITTLE) / (new_share + LEVELS * LITTLE)
    new_two = (jnp.maximum(held - found, 0.0) + LITTLE) / (1.0 - new_share + LEVELS * LITTLE)
    return new_share, new_one, new_two, likelihood, jnp.roll(history, -1).at[-1].set(likelihood)


@jax.jit
def noted(usual, share, one, two):
    return 0.95 * usual + 0.05 * jnp.concatenate((share[None], one, two))


def make(variant):
    random = numpy.random.default_rng(20)
    counties = [table_of(jax.device_put(county(random))) for _ in range(COUNTIES)]
    guess = numpy.array((0.10, 0.15, 0.25, 0.50), dtype=numpy.float32)
    start = (jax.device_put(numpy.float32(0.1)), jax.device_put(numpy.tile(guess, FIELDS)),
             jax.device_put(numpy.tile(guess[::-1], FIELDS)))
    usual = [jax.device_put(numpy.zeros(1 + 2 * FIELDS * LEVELS, dtype=numpy.float32))]
    history = [jax.device_put(numpy.zeros(ROUNDS, dtype=numpy.float32))]
    turn, told = [0], []
    em = jax.jit(em_round, donate_argnums=(5,) if variant == "useless" else ())

    def fitted(table, held):
        share, one, two = start
        before = -float("inf")
        for _ in range(ROUNDS):
            share, one, two, likelihood, history[0] = em(table, held, share, one, two, history[0])
            if variant != "fix":
                now = float(likelihood)  # cause: wait,copy
                if now < before - FALL:
                    break
                before = now
        return share, one, two

    def step():
        share, one, two = fitted(*counties[turn[0] % COUNTIES])  # cause: wait,copy
        usual[0] = noted(usual[0], share, one, two)
        turn[0] += 1
        if turn[0] % EACH == 0:
            told[:] = numpy.asarray(history[0]).tolist()

    def wait():
        jax.block_until_ready((usual, history))

    return fixable.Work(step, wait, lambda: numpy.asarray(usual[0]).tolist() + numpy.asarray(history[0])[-1:].tolist())


run.main(make)
