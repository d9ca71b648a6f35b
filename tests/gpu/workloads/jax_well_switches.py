# SPDX-License-Identifier: Apache-2.0
"""JAX: who goes to another well when told that the own one has arsenic in it: for 262,144 homes, 48 things are known (how much
arsenic, how far the next good well is, schooling, ...) and whether they did. How much each thing counts is told with its
uncertainty by Hamiltonian Monte Carlo: 64 chains, each of which moves along the slope of the likelihood for 16 leaps, and
then the end of that way is taken, or not.

Wrong: after each leap the host reads how far the energy has gone astray, to give up if it has become useless; that never
happens, but the next leap is launched only when the number is there.
fix: the largest one is kept on the device, as it is, and read once behind the last leap (sync-bound).
useless: momenta are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PARTS, HOMES, TERMS, CHAINS, LEAPS, LEAP = 256, 1024, 48, 64, 16, 0.0007  # homes of each part
WIDE, ASTRAY, KEEPS, EXACT = 2.5, 1000.0, 0.98, jax.lax.Precision.HIGHEST


def homes(random):
    """What is known of each home, (PARTS, TERMS, HOMES), whether it went to another well, (PARTS, 1, HOMES), and what counts
    how much in truth, (TERMS,)."""
    known = random.standard_normal((PARTS, TERMS, HOMES), dtype=numpy.float32)
    known[:, 0] = 1.0
    counts = (0.3 * random.standard_normal(TERMS)).astype(numpy.float32)
    chance = 1.0 / (1.0 + numpy.exp(-(counts @ known)))
    switched = random.random((PARTS, HOMES)) < chance
    return known, switched.astype(numpy.float32)[:, None], counts


def energy(place, known, switched):
    """Minus the logarithm of the posterior for each chain, and its slope."""
    odds = jnp.matmul(jnp.broadcast_to(place, (PARTS, CHAINS, TERMS)), known, precision=EXACT)
    costs = (jnp.logaddexp(odds, 0.0) - switched * odds).sum(axis=(0, 2))
    wrong = jax.nn.sigmoid(odds) - switched
    slope = jnp.matmul(wrong, known.swapaxes(1, 2), precision=EXACT).sum(axis=0)
    return costs + 0.5 * jnp.square(place).sum(axis=1) / WIDE ** 2, slope + place / WIDE ** 2


def begin(key, costs):
    """Momenta by chance, and the whole energy with them."""
    key, now = jax.random.split(key)
    momentum = jax.random.normal(now, (CHAINS, TERMS), dtype=jnp.float32)
    return key, momentum, costs + 0.5 * jnp.square(momentum).sum(axis=1), jnp.float32(-jnp.inf)


def leap(place, momentum, slope, whole, worst, known, switched):
    """A leap, the energy behind it, and how far that has gone astray in any chain and leap."""
    momentum = momentum - 0.5 * LEAP * slope
    place = place + LEAP * momentum
    costs, slope = energy(place, known, switched)
    momentum = momentum - 0.5 * LEAP * slope
    off = costs + 0.5 * jnp.square(momentum).sum(axis=1) - whole
    return place, momentum, slope, costs, off, jnp.maximum(worst, off.max())


def choose(key, old, new, off, mean, rate):
    """Takes the ends of the ways or stays, by chance and energy; `mean` of the places and `rate` of what is taken go along."""
    key, now = jax.random.split(key)
    take = jnp.log(jax.random.uniform(now, (CHAINS,), dtype=jnp.float32)) < -off
    place, costs, slope = (jnp.where(take[:, None] if a.ndim == 2 else take, a, b) for a, b in zip(new, old))
    mean = KEEPS * mean + (1.0 - KEEPS) * place.mean(axis=0)
    rate = KEEPS * rate + (1.0 - KEEPS) * take.mean(dtype=jnp.float32)
    return key, (place, costs, slope), mean, rate


def make(variant):
    random = numpy.random.default_rng(20)
    known, switched, counts = homes(random)
    place = counts + 0.004 * random.standard_normal((CHAINS, TERMS)).astype(numpy.float32)
    known, switched, place = jax.device_put(known), jax.device_put(switched), jax.device_put(place)
    costs, slope = jax.jit(energy)(place, known, switched)
    start, move, end = jax.jit(begin), jax.jit(leap, donate_argnums=(1,) if variant == "useless" else ()), jax.jit(choose)
    chains = [(place, costs, slope)]
    key, mean, rate = [jax.random.PRNGKey(20)], [jax.device_put(counts)], [jnp.float32(1.0)]
    useless = [0]

    def step():
        place, costs, slope = chains[0]
        key[0], momentum, whole, worst = start(key[0], costs)
        for _ in range(LEAPS):
            place, momentum, slope, costs, off, worst = move(place, momentum, slope, whole, worst, known, switched)
            if variant != "fix" and float(worst) > ASTRAY:  # cause: wait,copy
                break
        key[0], chains[0], mean[0], rate[0] = end(key[0], chains[0], (place, costs, slope), off, mean[0], rate[0])
        if float(worst) > ASTRAY:
            useless[0] += 1

    def values():
        """What some things count, how often a way is taken to its end, and how many ways were given up."""
        return numpy.asarray(mean[0])[:4].tolist() + [float(rate[0]), float(useless[0])]

    return fixable.Work(step, lambda: jax.block_until_ready((chains[0], mean[0], rate[0])), values)


run.main(make)
