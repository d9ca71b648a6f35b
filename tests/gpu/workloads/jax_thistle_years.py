# SPDX-License-Identifier: Apache-2.0
"""JAX: a rare thistle grows at 24 sites, and it is asked how it does in each of 40 made-up climates. Plants of a site are counted
by their size, 2048 classes of it, as in an integral projection model: in a year some die, by their size and the frost, the others
grow or shrink by the site's matrix, and seeds of large plants sprout where there is room. A climate is followed for 30 years.

Wrong: after each year the host reads how many plants the poorest site has, to end a climate where they have died out, which they
never do; the GPU has nothing to do until the next year comes.
fix: all climates are followed for 30 years, and the host does not look (sync-bound).
useless: the usual numbers, which stay on the GPU, are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SITES, SIZES, CLIMATES, YEARS, EVERY, GONE = 24, 2048, 40, 30, 20, 1.0
ROOM = 4000.0  # seedlings for which a site has room in a year


def sites(key):
    """How plants of a size grow, (SITES, to, from); their chance to live and their seeds, by site; the sizes of seedlings."""
    some, more = jax.random.split(key)
    size = jnp.linspace(0.0, 10.0, SIZES)
    rich = 0.8 + 0.4 * jax.random.uniform(some, (SITES, 1, 1))
    mild = jax.random.uniform(more, (SITES, 1))
    mean = 0.9 * rich + 0.88 * size
    growth = jnp.exp(-0.5 * ((size[:, None] - mean) / (0.4 + 0.04 * size)) ** 2)
    growth = growth / growth.sum(axis=1, keepdims=True)
    lives = jax.nn.sigmoid(0.7 * size - 0.5 + mild)
    seeds = 30.0 * jax.nn.sigmoid(2.0 * (size - 6.0)) * rich[:, :, 0]
    small = jnp.exp(-0.5 * ((size - 0.6) / 0.3) ** 2)
    return growth, lives, seeds, small / small.sum()


def climates():
    """Frost and rain of each year at each site, (SITES, 2), between zero and one: for each climate a list of years."""
    random = numpy.random.default_rng(20)
    for _ in range(CLIMATES):
        usual = random.uniform(0.3, 0.7, 2)
        years = usual + 0.15 * random.standard_normal((YEARS, 1, 2)) + 0.05 * random.standard_normal((YEARS, SITES, 2))
        yield [jax.device_put(year) for year in years.clip(0.0, 1.0).astype(numpy.float32)]


def one_year(site, plants, weather):
    """Plants of each size after a year, and how many the poorest site has."""
    growth, lives, seeds, small = site
    frost, rain = weather[:, :1], weather[:, 1:]
    living = plants * lives * (1.0 - 0.3 * frost)
    grown = (growth * living[:, None, :]).sum(axis=2)
    sown = (plants * seeds).sum(axis=1, keepdims=True)
    sprouts = rain * sown / (1.0 + sown / ROOM)
    after = grown + sprouts * small
    return after, after.sum(axis=1).min()


def note(usual, plants):
    """The usual numbers at the end of a climate: of plants, by the mean, the best and the poorest site, and of large ones."""
    many = plants.sum(axis=1)
    now = jnp.stack((many.mean(), many.max(), many.min(), plants[:, SIZES // 2:].sum(axis=1).mean()))
    return usual + 0.02 * (now - usual)


def make(variant):
    site = jax.jit(sites)(jax.random.PRNGKey(20))
    weathers = list(climates())
    planted = jax.device_put(numpy.full((SITES, SIZES), 0.5, dtype=numpy.float32))
    usual, turn, told = [jax.device_put(numpy.zeros(4, dtype=numpy.float32))], [0], []
    yearly = jax.jit(one_year)
    noted = jax.jit(note, donate_argnums=(0,) if variant == "useless" else ())

    def followed(years):
        plants = planted
        for weather in years:
            plants, fewest = yearly(site, plants, weather)
            if variant != "fix" and float(fewest) < GONE:  # cause: wait,copy
                break
        return plants

    def step():
        plants = followed(weathers[turn[0] % CLIMATES])  # cause: wait,copy
        turn[0] += 1
        usual[0] = noted(usual[0], plants)
        if turn[0] % EVERY == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
