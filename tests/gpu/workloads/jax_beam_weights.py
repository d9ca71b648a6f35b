# SPDX-License-Identifier: Apache-2.0
"""JAX: how strong each of 4096 thin beams shall be by which a tumour is irradiated, is looked for such that the tumour gets its
dose, and the organs around it as little as may be (intensity modulated radiotherapy, by accelerated projected gradients).

Wrong: nothing: each step goes twice through the table of how much each beam gives to each of 196,608 places, which has 3.2 GB;
the host is far ahead, and looks at the plan every 25 steps (gpu-bound).
useless: the weights are donated.
"""
import fixable

LOOK_EVERY = 25

run = fixable.Program(__doc__, steps=1200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

GRID, ANGLES, ROWS, COLUMNS = (64, 64, 48), 8, 16, 32  # places of the body; the beams of one angle
REACH, WIDE, STOPPED, WANTED = 0.35, 0.04, 0.8, 60.0  # how far beams are from the middle; how wide; and the tumour's dose
POWER_ROUNDS = 12


def body():
    """Where the places are: (places, 3), and the lowest and the highest dose that each one shall get, with weights."""
    axes = [(numpy.arange(size) + 0.5) * 2.0 / size - 1.0 for size in GRID]
    at = numpy.stack(numpy.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    tumour = (at[:, 0] ** 2 + (at[:, 1] - 0.1) ** 2 + at[:, 2] ** 2 < 0.06) & (at[:, 0] < 0.15)
    spine = (at[:, 0] - 0.3) ** 2 + (at[:, 1] + 0.2) ** 2 < 0.01
    least = numpy.where(tumour, WANTED, 0.0)
    most = numpy.where(tumour, 1.07 * WANTED, numpy.where(spine, 0.3 * WANTED, 0.6 * WANTED))
    weight = numpy.where(tumour, 20.0, numpy.where(spine, 10.0, 1.0)) / len(at)
    return [jnp.asarray(array, dtype=jnp.float32) for array in (at, least, most, weight)]


@jax.jit
def table_of(at, angle):
    """How much the beams of an angle give to each place: (places, ROWS * COLUMNS)."""
    along = at[:, 0] * jnp.cos(angle) + at[:, 1] * jnp.sin(angle)
    aside = at[:, 1] * jnp.cos(angle) - at[:, 0] * jnp.sin(angle)
    row, column = jnp.linspace(-REACH, REACH, ROWS), jnp.linspace(-REACH, REACH, COLUMNS)
    far = jnp.square(at[:, 2, None, None] - row[:, None]) + jnp.square(aside[:, None, None] - column)
    given = jnp.exp(-far / (2.0 * WIDE ** 2)) * jnp.exp(-STOPPED * (1.0 + along))[:, None, None]
    return given.reshape(len(at), ROWS * COLUMNS)


def improve(beams, ahead, table, rate, momentum, least, most, weight):
    """A step of the weights, and what the plan was worth before."""
    dose = table @ ahead
    wrong = jnp.minimum(dose - least, 0.0) + jnp.maximum(dose - most, 0.0)
    worth = (weight * wrong * wrong).sum()
    later = jnp.maximum(ahead - rate * ((weight * wrong) @ table), 0.0)
    return later, later + momentum * (later - beams), worth


@jax.jit
def stretched(vector, table, weight):
    """One round of the power method: a vector of length one, and how much longer it has become."""
    longer = (weight * (table @ vector)) @ table
    length = jnp.sqrt(jnp.square(longer).sum())
    return longer / length, length


plain, donated = jax.jit(improve), jax.jit(improve, donate_argnums=(0, 1))


def make(variant):
    at, least, most, weight = body()
    table = jnp.concatenate([table_of(at, 2.0 * numpy.pi * number / ANGLES) for number in range(ANGLES)], axis=1)
    beams = ANGLES * ROWS * COLUMNS
    vector = jnp.full(beams, beams ** -0.5)
    for _ in range(POWER_ROUNDS):
        vector, length = stretched(vector, table, weight)
    rate = 0.9 / length
    state, turn, seen = [jnp.zeros(beams), jnp.zeros(beams)], [0], []
    go = donated if variant == "useless" else plain

    def step():
        momentum = turn[0] / (turn[0] + 3.0)
        *state[:], worth = go(*state, table, rate, momentum, least, most, weight)
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(worth)]

    def values():
        return seen + numpy.asarray(state[0]).reshape(ANGLES, -1).mean(axis=1).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(state), values)


run.main(make)
