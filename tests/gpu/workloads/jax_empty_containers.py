# SPDX-License-Identifier: Apache-2.0
"""JAX: empty containers lie in 4096 yards inland, and 5120 firms want some of them to fill them anew. Who gets which ones is
told by prices: each yard sends its containers to where way and price are cheap, a firm that would get too many of them gets
dearer and one that gets too few cheaper, 24 rounds long (transport with entropy).

Wrong: after each round the host reads how many containers would still go astray, to end if these are few enough, and the next
round is launched only when that number is there.
fix: a step has its 24 rounds, which it had anyway, and the number is read once in 20 steps (sync-bound).
useless: the prices are donated.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=900, warm_up=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

YARDS, FIRMS, DAYS, ROUNDS, HEAT, ENOUGH, SHARE = 4096, 5120, 12, 24, 0.04, 1e-6, 0.05


def country(random):
    """How far it is from each yard to each firm, in thousands of kilometres, (YARDS, FIRMS); towns have many of both."""
    towns = random.random((40, 2))
    yards, firms = (towns[random.integers(0, 40, many)] + 0.05 * random.standard_normal((many, 2)) for many in (YARDS, FIRMS))
    apart = yards[:, None, :] - firms[None, :, :]
    return numpy.sqrt(numpy.square(apart).sum(axis=2)).astype(numpy.float32)


def orders(random):
    """For each day what the yards have, and what the firms want; as many of both."""
    for _ in range(DAYS):
        have, want = 2.0 + random.gamma(2.0, 20.0, YARDS), 2.0 + random.gamma(1.5, 20.0, FIRMS)
        yield have.astype(numpy.float32), (want * (have.sum() / want.sum())).astype(numpy.float32)


def sent(far, have, price):
    """What each yard would send to each firm."""
    return have[:, None] * jax.nn.softmax((far + price) / -HEAT, axis=1)


def first_price(want):
    return jnp.zeros_like(want)


def next_price(far, have, want, price):
    """The prices of the next round, and which part of the containers would have gone astray by the ones before."""
    come = sent(far, have, price).sum(axis=0)
    return price + HEAT * jnp.log(come / want), jnp.abs(come - want).sum() / want.sum()


def noted(far, have, price, astray, usual):
    """How far a container goes by the mean, how much prices differ, and what goes astray; each as it is usual."""
    way = (sent(far, have, price) * far).sum() / have.sum()
    return usual + SHARE * (jnp.stack((way, price.std(), astray)) - usual)


def make(variant):
    random = numpy.random.default_rng(20)
    far = jax.device_put(country(random))
    days = [(jax.device_put(have), jax.device_put(want)) for have, want in orders(random)]
    begin, note = jax.jit(first_price), jax.jit(noted)
    improve = jax.jit(next_price, donate_argnums=(3,) if variant == "useless" else ())
    usual, turn, seen = [jnp.zeros(3, dtype=jnp.float32)], [0], []

    def rounds(have, want):
        """Prices at last, and what goes astray by those before them."""
        price = begin(want)
        for _ in range(ROUNDS):
            price, astray = improve(far, have, want, price)
            if variant != "fix" and float(astray) < ENOUGH:  # cause: wait,copy
                break
        return price, astray

    def step():
        have, want = days[turn[0] % DAYS]
        turn[0] += 1
        price, astray = rounds(have, want)  # cause: wait,copy
        usual[0] = note(far, have, price, astray, usual[0])
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(astray)]

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
