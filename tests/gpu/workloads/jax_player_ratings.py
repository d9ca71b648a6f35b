# SPDX-License-Identifier: Apache-2.0
"""JAX: how strong each of 7168 players of an online game is, is told from who has won against whom (Bradley and Terry); strengths
are made better round by round (Hunter's MM), and every 40 steps of eight rounds the games of another week are added.

Wrong: after each round how far a rating has moved is turned into a float, to see whether the ratings stand still, and the next
round can be sent off only then; the GPU has nothing meanwhile.
fix: how far they moved is noted in an array on the device, which is read at the end of the week (sync-bound).
useless: the strengths are donated to the round that makes them better.
"""
import fixable

ROUNDS, WEEK = 8, 40  # rounds of a step, and steps of a week

run = fixable.Program(__doc__, steps=2000, warm_up=WEEK, multiple=WEEK)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PLAYERS, GAMES, WEEKS, FORGOTTEN, STILL = 7168, 2_000_000, 4, 0.7, 1e-3
ELO = 400.0 / float(numpy.log(10.0))


def weeks():
    """Who won and who lost in some weeks' games; players look for others of about their own strength."""
    random = numpy.random.default_rng(20)
    skill = numpy.sort(random.standard_normal(PLAYERS))
    for _ in range(WEEKS):
        one = random.integers(0, PLAYERS, GAMES)
        other = (one + 1 + numpy.abs(random.normal(0.0, 1200.0, GAMES)).astype(numpy.int64)) % PLAYERS
        first_wins = random.random(GAMES) < 1.0 / (1.0 + numpy.exp(skill[other] - skill[one]))
        winners, losers = numpy.where(first_wins, one, other), numpy.where(first_wins, other, one)
        yield jnp.asarray(winners, dtype=jnp.int32), jnp.asarray(losers, dtype=jnp.int32)


@jax.jit
def add(met, wins, winners, losers):
    """Games between each two players, and the wins of each; older games count less and less."""
    met = FORGOTTEN * met
    met = met.at[winners, losers].add(1.0)
    met = met.at[losers, winners].add(1.0)
    return met, (FORGOTTEN * wins).at[winners].add(1.0)


def better(strength, met, wins):
    """A round, in which each player also has won and lost a game against one of strength 1; how far a rating moved at most."""
    chances = (met / (strength[:, None] + strength[None, :])).sum(axis=1) + 2.0 / (strength + 1.0)
    new = (wins + 1.0) / chances
    new = new / jnp.exp(jnp.log(new).mean())
    return new, ELO * jnp.abs(jnp.log(new / strength)).max()


@jax.jit
def better_noted(strength, moves, met, wins):
    new, moved = better(strength, met, wins)
    return new, jnp.concatenate((moves[1:], moved[None]))


def make(variant):
    played = list(weeks())
    met, wins = jnp.zeros((PLAYERS, PLAYERS)), jnp.zeros(PLAYERS)
    for winners, losers in played:
        met, wins = add(met, wins, winners, losers)
    table, strength = [met, wins], [jnp.ones(PLAYERS)]
    moves = [jnp.zeros(ROUNDS * WEEK)]
    turn, log = [0], {"moved": 0.0, "rounds": 0, "still": 0}
    improve = jax.jit(better, donate_argnums=(0,) if variant == "useless" else ())

    def note(moved):
        log["moved"] += moved
        log["rounds"] += 1
        log["still"] += moved < STILL

    def begin():
        """Another week: its games are added, and the strengths begin anew."""
        winners, losers = played[turn[0] // WEEK % WEEKS]
        table[:] = add(*table, winners, losers)
        strength[0] = jnp.ones(PLAYERS)

    def step():
        if turn[0] % WEEK == 0:
            begin()
        turn[0] += 1
        for _ in range(ROUNDS):
            if variant == "fix":
                strength[0], moves[0] = better_noted(strength[0], moves[0], *table)
                continue
            strength[0], moved = improve(strength[0], *table)
            note(float(moved))  # cause: wait,copy
        if variant == "fix" and turn[0] % WEEK == 0:
            for moved in jax.device_get(moves[0]).tolist():
                note(moved)

    def values():
        ratings = numpy.log(numpy.asarray(strength[0])) * ELO
        return [log["moved"] / log["rounds"], float(ratings.std())]

    return fixable.Work(step, lambda: jax.block_until_ready(strength[0]), values)


run.main(make)
