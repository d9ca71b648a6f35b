# SPDX-License-Identifier: Apache-2.0
"""JAX: corals of a reef spawn in one night. 16384 bundles of eggs and sperm rise to the surface, where they break open; the tide
carries the eggs, the sperm is spread over cells of the sea, and where eggs and sperm meet, larvae begin. A step is an hour of
the night in 20 rounds, each of nine functions; what is known of one reef is how many eggs have met sperm.

Wrong: each function is compiled by itself, and is called for each round, so that the GPU is done with its small kernels long
before the next call comes.
fix: the hour, with its rounds written out, is compiled as one function (launch-bound).
useless: the usual share of eggs, which is read once in 50 steps, is not read before the end.
"""
import fixable

run = fixable.Program(__doc__, steps=850, warm_up=20)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BUNDLES, CELLS, ROUNDS, SHOWN = 16384, 64, 20, 50
SIDE, DEEP, RISES, OPENS, MIXED, DIES = 640.0, 6.0, 0.4, 0.3, 0.15, 0.05  # metres; metres and shares in a round


@jax.jit
def stream(east, north, tide):
    """How the sea moves at each bundle, in metres a round."""
    turns = 6.2831853 / SIDE
    return tide + jnp.sin(turns * north) * jnp.cos(2.0 * turns * east), 0.5 * tide * jnp.cos(turns * east)


@jax.jit
def carry(east, north, to_east, to_north):
    """Where the bundles go; who leaves on one side comes in on the other."""
    return (east + to_east) % SIDE, (north + to_north) % SIDE


@jax.jit
def rise(depth, closed):
    """How deep they are then; what is open sinks a little and rises again."""
    return jnp.maximum(depth - RISES * (0.2 + 0.8 * closed), 0.0)


@jax.jit
def open_up(depth, closed):
    """Which share of a bundle is closed yet, and what comes out of it."""
    out = OPENS * closed * jnp.exp(-depth)
    return closed - out, out


@jax.jit
def cell_of(east, north):
    """The cell of the sea where a bundle is."""
    across, up = (east * (CELLS / SIDE)).astype(jnp.int32), (north * (CELLS / SIDE)).astype(jnp.int32)
    return jnp.clip(up, 0, CELLS - 1) * CELLS + jnp.clip(across, 0, CELLS - 1)


@jax.jit
def shed(sperm, cell, out):
    """Adds the sperm of the bundles to their cells."""
    return sperm.reshape(-1).at[cell].add(out).reshape(CELLS, CELLS)


@jax.jit
def spread(sperm):
    """Mixes cells with those beside them; some sperm dies."""
    beside = jnp.roll(sperm, 1, 0) + jnp.roll(sperm, -1, 0) + jnp.roll(sperm, 1, 1) + jnp.roll(sperm, -1, 1)
    return (1.0 - DIES) * (sperm + MIXED * (beside - 4.0 * sperm))


@jax.jit
def meet(sperm, cell, closed, met):
    """The share of the eggs of a bundle that have met sperm."""
    near = sperm.reshape(-1)[cell]
    return met + (1.0 - closed - met) * (1.0 - jnp.exp(-0.1 * near))


@jax.jit
def tell(usual, met, sperm):
    """Shares that are told in the end: eggs that met sperm, and sperm in a cell."""
    return usual + 0.02 * (jnp.stack((met.mean(), sperm.mean())) - usual)


def hour(east, north, depth, closed, met, sperm, usual, tides):
    """The rounds of an hour."""
    for tide in tides:
        to_east, to_north = stream(east, north, tide)  # cause: launch
        east, north = carry(east, north, to_east, to_north)  # cause: launch
        depth = rise(depth, closed)  # cause: launch
        closed, out = open_up(depth, closed)  # cause: launch
        cell = cell_of(east, north)  # cause: launch
        sperm = shed(sperm, cell, out)  # cause: launch
        sperm = spread(sperm)  # cause: launch
        met = meet(sperm, cell, closed, met)  # cause: launch
        usual = tell(usual, met, sperm)  # cause: launch
    return usual


def make(variant):
    luck = numpy.random.default_rng(20)
    nights = []
    for _ in range(4):
        places, depths = luck.uniform(0.0, SIDE, (2, BUNDLES)), luck.uniform(1.0, DEEP, BUNDLES)
        drawn = (*places, depths, numpy.ones(BUNDLES), numpy.zeros(BUNDLES), numpy.zeros((CELLS, CELLS)))
        nights.append([jnp.asarray(part, dtype=jnp.float32) for part in drawn])
    tides = [jnp.asarray(3.0 * numpy.sin(0.2 * number), dtype=jnp.float32) for number in range(ROUNDS)]
    now, turn, curve = [jnp.zeros(2, dtype=jnp.float32)], [0], []
    one_hour = jax.jit(hour) if variant == "fix" else hour

    def step():
        now[0] = one_hour(*nights[turn[0] % len(nights)], now[0], tides)  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(now[0].tolist())

    return fixable.Work(step, lambda: jax.block_until_ready(now[0]), lambda: now[0].tolist())


run.main(make)
