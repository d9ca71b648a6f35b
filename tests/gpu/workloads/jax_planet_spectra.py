# SPDX-License-Identifier: Apache-2.0
"""JAX: the light of a star has come through the air of a planet that passes in front of it, and one wants to know how hot the air
is and what is in it. Airs are drawn by chance; for each the spectrum is computed, from tables of what four molecules absorb, along
ways through 64 layers, at 98304 wavelengths, and compared with what was seen in 512 channels. A step is 30 airs.

Wrong: how far each air is from what was seen is read by float() as soon as it is told, and the GPU has nothing to do until the
host calls again.
fix: these numbers stay on the device; nothing is read behind the calls (sync-bound).
useless: the state, of some sixty bytes, is donated to each call.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=420, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

MOLECULES, TEMPERATURES, WAVES, LAYERS, CHANNELS, DRAWN, CALLS, READ = 4, 16, 98304, 64, 512, 480, 30, 20
COLDEST, APART, ERROR, HIGH = 500.0, 100.0, 2e-4, 0.15  # kelvin; of the tables; of what is seen; the air's height in radii
LEAST, MOST = (700.0, 600.0, -8.0, -8.0, -9.0, -9.0), (1900.0, 1300.0, -3.0, -3.0, -4.0, -4.0)  # kelvin twice, then shares
TRUTH = (1500.0, 900.0, -4.0, -5.0, -6.5, -5.5)


def tables(key):
    """Logarithms of what molecules absorb, (MOLECULES, TEMPERATURES, WAVES): bands, lines in them, stronger where it is hot."""
    band, line, heat = jax.random.split(key, 3)
    wave = jnp.linspace(0.0, 1.0, WAVES)
    places = jax.random.uniform(band, (MOLECULES, 8, 1))
    bands = jnp.exp(-((wave - places) / 0.03) ** 2).sum(axis=1)
    lines = jax.random.normal(line, (MOLECULES, WAVES))
    rises = 0.5 + jax.random.uniform(heat, (MOLECULES, WAVES))
    warm = jnp.linspace(-1.0, 1.0, TEMPERATURES)[:, None]
    return (13.0 + 5.0 * bands + 1.2 * lines)[:, None] + rises[:, None] * warm


def ways():
    """How far light goes through each layer, (ways, layers), in radii of the planet; and the radius of each way."""
    edges = 1.0 + HIGH * numpy.arange(LAYERS + 1) / LAYERS
    middle = 0.5 * (edges[1:] + edges[:-1])
    outer = numpy.sqrt(numpy.maximum(edges[None, 1:] ** 2 - middle[:, None] ** 2, 0.0))
    inner = numpy.sqrt(numpy.maximum(edges[None, :-1] ** 2 - middle[:, None] ** 2, 0.0))
    return (2.0 * (outer - inner)).astype(numpy.float32), middle.astype(numpy.float32)


def spectrum(air, table):
    """What share of the star's light is taken in each channel."""
    paths, radius = ways()
    low = numpy.linspace(1.0, 0.0, LAYERS, dtype=numpy.float32)
    dense = jnp.exp(-9.0 * (1.0 - low))[:, None]
    warmth = (air[1] + (air[0] - air[1]) * low - COLDEST) / APART
    under = jnp.clip(warmth.astype(jnp.int32), 0, TEMPERATURES - 2)
    part = (warmth - under)[:, None]
    takes = 0.0
    for number in range(MOLECULES):
        own = table[number]
        cold, hot = jnp.take(own, under, axis=0, mode="clip"), jnp.take(own, under + 1, axis=0, mode="clip")
        takes = takes + dense * jnp.exp(2.302585 * air[2 + number] + cold + part * (hot - cold))
    dark = 1.0 - jnp.exp(-jnp.matmul(paths, takes))
    ring = 2.0 * radius * (HIGH / LAYERS)
    share = 0.01 * (1.0 + (ring[:, None] * dark).sum(axis=0))
    return share.reshape(CHANNELS, -1).mean(axis=1)


def tried(state, airs, table, seen):
    """The next air: the state behind it (how many, the best, how far it is, the mean, its weight), and how far this air is."""
    count, best, least, mean, weight = state
    air = airs[count % DRAWN]
    far = jnp.square((spectrum(air, table) - seen) / ERROR).mean()
    likely = jnp.exp(-0.5 * far) + 1e-6
    weight = weight + likely
    mean = mean + (air - mean) * (likely / weight)
    return (count + 1, jnp.where(far < least, air, best), jnp.minimum(far, least), mean, weight), far


def make(variant):
    key, chance, drawn = jax.random.split(jax.random.PRNGKey(20), 3)
    table = jax.jit(tables)(key)
    seen = jax.jit(spectrum)(jnp.array(TRUTH), table) + ERROR * jax.random.normal(chance, (CHANNELS,))
    airs = jax.random.uniform(drawn, (DRAWN, len(TRUTH)), minval=jnp.array(LEAST), maxval=jnp.array(MOST))
    coldest = numpy.array(LEAST, dtype=numpy.float32)
    first = numpy.int32(0), coldest, numpy.float32(1e9), coldest.copy(), numpy.float32(0.0)
    now, turn, told = [jax.device_put(first)], [0], []
    call = jax.jit(tried, donate_argnums=(0,) if variant == "useless" else ())
    fars = collections.deque(maxlen=CALLS)

    def step():
        for _ in range(CALLS):
            now[0], far = call(now[0], airs, table, seen)
            fars.append(far if variant == "fix" else float(far))  # cause: wait,copy
        turn[0] += 1
        if turn[0] % READ == 0:
            told[:] = [float(now[0][2]), *numpy.asarray(now[0][3]).tolist()]

    def values():
        """The mean air, the best one, and how far the last ones were."""
        return [*numpy.asarray(now[0][3]).tolist(), *numpy.asarray(now[0][1]).tolist(), *(float(far) for far in fars)]

    return fixable.Work(step, lambda: jax.block_until_ready(now[0]), values)


run.main(make)
