# SPDX-License-Identifier: Apache-2.0
"""JAX: a wheat breeder tries on the computer how much yield twenty generations of selection can give. 256 plants have 16 pairs of
chromosomes with 64 genes each; yields are measured in a field, where luck adds to the genes; for each plant of the next
generation a mother and a father win against three rivals each, and each gives a gamete with one crossover in a chromosome. All is
counted in whole numbers. A step is a programme of twenty generations from the same founders.

Wrong: each part of a generation is a jitted function of its own, of a few tiny kernels, and the host cannot call as fast as the GPU
is done with them.
fix: the twenty generations are one jitted function, which calls the same ones (launch-bound).
useless: what the programmes have gained is read once in 400 steps, not in 50.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=12)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PLANTS, PAIRS, GENES, GENERATIONS, RIVALS, NOISE, SHOWN = 256, 16, 64, 20, 4, 60, 50


@jax.jit
def drawn(key):
    """A key for what comes later, and five for this generation."""
    return tuple(jax.random.split(key, 6))


@jax.jit
def worth(plants, effects):
    """What the genes of each plant are worth."""
    return (plants.astype(jnp.int32).sum(axis=1) * effects).sum(axis=(1, 2))


@jax.jit
def tested(key, worths):
    """The yields in a field, where soil and weather add to the genes."""
    return worths + jax.random.randint(key, (4, PLANTS), -NOISE, NOISE + 1).sum(axis=0)


@jax.jit
def winners(key, yields):
    """A parent for each plant to come: the one of some that are drawn that yields most."""
    rivals = jax.random.randint(key, (PLANTS, RIVALS), 0, PLANTS)
    best = yields[rivals].argmax(axis=1)
    return jnp.take_along_axis(rivals, best[:, None], axis=1)[:, 0]


@jax.jit
def gametes(key, plants, parents):
    """One chromosome of each pair of the parents, with one crossover."""
    luck, where = jax.random.split(key)
    begins = jax.random.bernoulli(luck, 0.5, (PLANTS, PAIRS, 1))
    crosses = jax.random.randint(where, (PLANTS, PAIRS, 1), 0, GENES)
    second = (jnp.arange(GENES) > crosses) ^ begins
    parent = plants[parents]
    return jnp.where(second, parent[:, 1], parent[:, 0])


@jax.jit
def joined(mothers, fathers):
    """The plants that grow from gametes."""
    return jnp.stack((mothers, fathers), axis=1)


@jax.jit
def noted(usual, worths, plants):
    """The usual worth of a plant, the best one, and how many genes of a plant are of two kinds."""
    mixed = (plants[:, 0] != plants[:, 1]).astype(jnp.float32).mean()
    seen = jnp.stack((worths.astype(jnp.float32).mean(), worths.max().astype(jnp.float32), mixed))
    return usual + 0.005 * (seen - usual)


def generation(key, plants, usual, effects):
    """The plants of the next generation."""
    key, field, ladies, lords, eggs, pollen = drawn(key)  # cause: launch
    worths = worth(plants, effects)  # cause: launch
    yields = tested(field, worths)  # cause: launch
    mothers = gametes(eggs, plants, winners(ladies, yields))  # cause: launch
    fathers = gametes(pollen, plants, winners(lords, yields))  # cause: launch
    return key, joined(mothers, fathers), noted(usual, worths, plants)  # cause: launch


@jax.jit
def whole(key, founders, usual, effects):
    """All generations of a programme, ten of them written out: what is in a loop XLA launches call by call."""
    def one(state, _):
        return generation(*state, effects), None
    (key, _, usual), _ = jax.lax.scan(one, (key, founders, usual), None, length=GENERATIONS, unroll=10)
    return key, usual


def make(variant):
    luck = numpy.random.default_rng(20)
    founders = jax.device_put((luck.random((PLANTS, 2, PAIRS, GENES)) < 0.3).astype(numpy.int8))
    effects = jax.device_put(luck.integers(-8, 9, (PAIRS, GENES)).astype(numpy.int32))
    now = [jax.random.PRNGKey(20), jax.device_put(numpy.zeros(3, dtype=numpy.float32))]
    turn, told, shown = [0], [], 8 * SHOWN if variant == "useless" else SHOWN

    def programme(key, usual):
        """Generation after generation."""
        plants = founders
        for _ in range(GENERATIONS):
            key, plants, usual = generation(key, plants, usual, effects)  # cause: launch
        return key, usual

    def step():
        if variant == "fix":
            now[:] = whole(now[0], founders, now[1], effects)
        else:
            now[:] = programme(*now)  # cause: launch
        turn[0] += 1
        if turn[0] % shown == 0:
            told.append(numpy.asarray(now[1]))

    return fixable.Work(step, lambda: jax.block_until_ready(now[1]), lambda: numpy.asarray(now[1]).tolist())


run.main(make)
