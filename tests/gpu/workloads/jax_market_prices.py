# SPDX-License-Identifier: Apache-2.0
"""JAX: each week there is another harvest of 64 goods, and the prices are looked for at which 256 thousand households, each with
an income and tastes of its own, want to buy just that much (tatonnement): a price goes up where more is wanted than there is, and
a try that brings the market no nearer to its balance is taken back.

Wrong: whether a try is kept, and how far the next one goes, is decided on the host: float() waits for the market's gap, and only
then the next try can be sent off; the GPU has nothing meanwhile.
fix: the jitted function decides, by jnp.where; the gaps are read every 20 weeks (sync-bound).
useless: the harvests of many weeks lie on the GPU before the loop.
"""
import math

import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=1600, warm_up=2 * TOGETHER, multiple=TOGETHER)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

HOUSES, GOODS, TRIES, DRAWN = 262144, 64, 8, 16384
FIRST, FASTER, SLOWER, FASTEST = 0.5, 1.5, 0.5, 1.5  # how far tries go


def households():
    """(what each would spend on each good if all cost the same, how readily it changes, its income)."""
    random = numpy.random.default_rng(20)
    tastes = random.random((HOUSES, GOODS), dtype=numpy.float32) ** 3 + 0.01
    tastes /= tastes.sum(axis=1, keepdims=True)
    bends = random.uniform(0.4, 1.8, (HOUSES, 1)).astype(numpy.float32)
    incomes = numpy.exp(0.6 * random.standard_normal((HOUSES, 1))).astype(numpy.float32)
    return jnp.asarray(tastes), jnp.asarray(bends), jnp.asarray(incomes * (GOODS / incomes.sum()))


def wanted(prices, people):
    """How much of each good all households want."""
    tastes, bends, incomes = people
    spent = tastes * jnp.exp((1.0 - bends) * jnp.log(prices))
    spent = spent / spent.sum(axis=1, keepdims=True)
    return (incomes * spent).sum(axis=0) / prices


def attempt(prices, push, speed, harvest, people):
    """The prices of a try, where they are pushed to from there, and the market's gap."""
    prices = prices * jnp.exp(speed * push)
    push = jnp.log(wanted(prices, people) / harvest)
    return prices, push, jnp.abs(push).max()


def make(variant):
    people = households()
    random = numpy.random.default_rng(21)
    prices, still = [jnp.ones(GOODS, dtype=jnp.float32)], jnp.zeros(GOODS, dtype=jnp.float32)
    nothing, first = jnp.asarray(numpy.float32(math.inf)), jnp.asarray(numpy.float32(FIRST))
    turn, pending, usual = [0], [], [0.0, 0.0]
    go = jax.jit(attempt)

    @jax.jit
    def go_and_decide(prices, push, best, speed, harvest, people):
        tried, other, gap = attempt(prices, push, speed, harvest, people)
        better = gap < best
        speed = jnp.where(better, jnp.minimum(FASTEST, FASTER * speed), SLOWER * speed)
        return jnp.where(better, tried, prices), jnp.where(better, other, push), jnp.where(better, gap, best), speed

    def harvested():
        luck = random.standard_normal(GOODS, dtype=numpy.float32)
        return jnp.asarray(numpy.exp(numpy.float32(0.08) * luck))

    harvests = [harvested() for _ in range(DRAWN)] if variant == "useless" else None

    def note(opening, closing):
        """The gaps at a week's begin and end."""
        usual[0] += 0.02 * (opening - usual[0])
        usual[1] += 0.02 * (closing - usual[1])

    def traded(harvest):
        """Looks for the week's prices; the first try is the prices of last week."""
        push, best, speed, opening = still, math.inf, numpy.float32(FIRST), None
        for _ in range(TRIES):
            tried, other, gap = go(prices[0], push, speed, harvest, people)
            gap = float(gap)  # cause: wait
            opening = gap if opening is None else opening
            if gap < best:
                prices[0], push, best = tried, other, gap
                speed = numpy.float32(min(FASTEST, FASTER * speed))
            else:
                speed = numpy.float32(SLOWER * speed)
        note(opening, best)

    def traded_ahead(harvest):
        """The same, without a look at the gaps."""
        push, best, speed, opening = still, nothing, first, None
        for _ in range(TRIES):
            prices[0], push, best, speed = go_and_decide(prices[0], push, best, speed, harvest, people)
            opening = best if opening is None else opening
        pending.append((opening, best))

    def step():
        harvest = harvests[turn[0] % DRAWN] if harvests else harvested()
        turn[0] += 1
        if variant != "fix":
            traded(harvest)  # cause: wait
            return
        traded_ahead(harvest)
        if turn[0] % TOGETHER == 0:
            for opening, closing in jax.device_get(pending):
                note(float(opening), float(closing))
            pending.clear()

    def values():
        """The gap at the weeks' begins, and how much the prices differ."""
        return [usual[0], float(jnp.std(prices[0]))]

    return fixable.Work(step, lambda: jax.block_until_ready(prices), values)


run.main(make)
