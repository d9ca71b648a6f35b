# SPDX-License-Identifier: Apache-2.0
"""JAX: the hot water of a town's heating runs through 1024 pipes, from the power station to the houses, and cools on its way; a
library of steam tables, written in NumPy, tells how thick the water is at a temperature, and how much warmth it holds.

Wrong: the tables are looked up by a jax.pure_callback() within the jitted step: the GPU waits until NumPy has looked them up.
fix: the tables lie on the GPU, and jnp.interp looks them up (host-bound).
fix2: the library knows that the table's temperatures are evenly spaced, and need not search (host-bound).
useless: the water's temperatures are donated.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=600, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PIPES, CELLS, TICKS, LINES = 1024, 256, 12, 400
COLDEST, HOTTEST, GROUND, USED = 5.0, 150.0, 8.0, 18.0  # degrees; USED: what a house takes from the water
SPACING, SECOND, PUSH, LOSS = 4.0, 0.8, 0.1, 6.0e3  # metres of a cell, a tick, the pumps, and how badly pipes are insulated


def tables():
    """Of water, by its temperature: how thick it is (in mPa s), and how much warmth a cubic metre holds (in kJ / K)."""
    at = numpy.linspace(COLDEST, HOTTEST, LINES)
    thick = 0.02414 * 10.0 ** (247.8 / (at + 133.15))
    heat = (1000.0 - 0.0036 * (at - 4.0) ** 2) * (4.21 - 0.0009 * at + 1.2e-5 * at ** 2)
    return at, thick, heat


AT, THICK, HEAT = tables()
PER_DEGREE = (LINES - 1) / (HOTTEST - COLDEST)


def searched(warm):
    """What the tables say for each cell."""
    warm = numpy.asarray(warm)
    thick = numpy.interp(warm, AT, THICK)  # cause: loader
    heat = numpy.interp(warm, AT, HEAT)  # cause: loader
    return thick.astype(numpy.float32), heat.astype(numpy.float32)  # cause: loader


THICK_32, HEAT_32 = THICK.astype(numpy.float32), HEAT.astype(numpy.float32)


def computed(warm):
    """The same without a search."""
    line = (numpy.clip(numpy.asarray(warm), COLDEST, HOTTEST) - numpy.float32(COLDEST)) * numpy.float32(PER_DEGREE)
    first = numpy.minimum(line.astype(numpy.int32), LINES - 2)
    part = line - first.astype(numpy.float32)
    return tuple(table[first] + part * (table[first + 1] - table[first]) for table in (THICK_32, HEAT_32))


def by_host(library):
    def told(warm):
        shape = jax.ShapeDtypeStruct(warm.shape, jnp.float32)
        return jax.pure_callback(library, (shape, shape), warm)
    return told


def by_device(warm):
    return tuple(jnp.interp(warm, jnp.asarray(AT, jnp.float32), jnp.asarray(table)) for table in (THICK_32, HEAT_32))


def stepped(told):
    """The step; told() says what is in the tables."""

    def advance(warm, parent, wide, outlet, station):
        """Some ticks later: the temperatures in the pipes (PIPES, CELLS), and the mean of those at the houses."""
        thick, heat = told(warm)
        speed = jnp.minimum(PUSH * wide / thick.mean(axis=1), 1.0)[:, None]  # in cells a tick
        cooling = LOSS * SECOND / (heat * wide[:, None] * SPACING * 1000.0)

        def tick(_, warm):
            ends = warm[:, -1][parent] - jnp.where(outlet, USED * 0.1, 0.0)
            first = jnp.where(parent == jnp.arange(PIPES), station, ends)
            before = jnp.concatenate((first[:, None], warm[:, :-1]), axis=1)
            return warm + speed * (before - warm) - cooling * (warm - GROUND)

        warm = jax.lax.fori_loop(0, TICKS, tick, warm)
        return warm, jnp.where(outlet, warm[:, -1], 0.0).sum() / outlet.sum()

    return advance


def make(variant):
    told = {"fix": by_device, "fix2": by_host(computed)}.get(variant, by_host(searched))
    advance = jax.jit(stepped(told), donate_argnums=0 if variant == "useless" else ())
    random = numpy.random.default_rng(20)
    parent = numpy.maximum((numpy.arange(PIPES) - 1) // 2, 0)  # a pipe parts into two; the first one begins at the station
    wide = random.uniform(0.6, 1.4, PIPES)
    town = [jnp.asarray(parent, jnp.int32), jnp.asarray(wide, jnp.float32), jnp.asarray(numpy.arange(PIPES) >= PIPES // 2)]
    warm = [jnp.asarray(random.uniform(60.0, 95.0, (PIPES, CELLS)), jnp.float32)]
    turn, usual = [0], [70.0]

    def step():
        station = 95.0 + 15.0 * numpy.sin(0.01 * turn[0])
        warm[0], houses = advance(warm[0], *town, numpy.float32(station))  # cause: delayed
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.1 * (float(houses) - usual[0])

    def values():
        return usual + numpy.asarray(warm[0]).mean(axis=1)[::128].tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(warm), values)


run.main(make)
