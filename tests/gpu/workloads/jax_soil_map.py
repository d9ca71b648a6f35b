# SPDX-License-Identifier: Apache-2.0
"""JAX: from 3072 samples of a field's soil a map of five nutrients is made, with how sure it is of each point (kriging); the
map's points come in blocks of 16384.

Wrong: the equations of the samples are solved anew for each block, though they are always the same; the GPU is at work all the
time (gpu-bound).
fix: the samples' matrix is factored once; a block takes one triangle instead of two, since that is enough (gpu-bound).
useless: the map is donated to the function that writes a block into it.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, linalg, numpy = fixable.load_jax("jax.numpy", "jax.scipy.linalg", "numpy")

SAMPLES, POINTS, BLOCKS, NUTRIENTS, REACH, NUGGET = 3072, 16384, 16, 5, 0.08, 0.1


def alike(one, other):
    """How much the soil at two places has to do with each other."""
    x, y = one[:, None, 0] - other[None, :, 0], one[:, None, 1] - other[None, :, 1]
    return jnp.exp(-jnp.sqrt(x * x + y * y + 1e-12) / REACH)


def among(samples):
    return alike(samples, samples) + NUGGET * jnp.eye(SAMPLES)


@jax.jit
def mapped(samples, measured, points):
    """What is believed of the points, and how unsure that is: (POINTS, NUTRIENTS + 1)."""
    near = alike(samples, points)
    weights = linalg.solve(among(samples), near, assume_a="pos")
    believed = jnp.matmul(weights.T, measured, precision="highest")
    unsure = 1.0 + NUGGET - (weights * near).sum(axis=0)
    return jnp.concatenate((believed, unsure[:, None]), axis=1)


@jax.jit
def factored(samples, measured):
    lower = jnp.linalg.cholesky(among(samples))
    return lower, linalg.cho_solve((lower, True), measured)


@jax.jit
def mapped_by(lower, solved, samples, points):
    near = alike(samples, points)
    half = linalg.solve_triangular(lower, near, lower=True)
    believed = jnp.matmul(near.T, solved, precision="highest")
    unsure = 1.0 + NUGGET - jnp.square(half).sum(axis=0)
    return jnp.concatenate((believed, unsure[:, None]), axis=1)


def write(field, block, number):
    return jax.lax.dynamic_update_slice(field, block[None], (number, 0, 0))


plain, donated = jax.jit(write), jax.jit(write, donate_argnums=0)


def make(variant):
    random = numpy.random.default_rng(20)
    samples = random.random((SAMPLES, 2))
    waves, start = random.normal(0.0, 12.0, (2, NUTRIENTS)), random.uniform(0.0, 6.0, NUTRIENTS)
    measured = numpy.sin(samples @ waves + start) + 0.3 * random.standard_normal((SAMPLES, NUTRIENTS))
    samples, measured = jnp.asarray(samples, dtype=jnp.float32), jnp.asarray(measured, dtype=jnp.float32)
    points = [jax.device_put(random.random((POINTS, 2), dtype=numpy.float32)) for _ in range(BLOCKS)]
    field, turn, seen = [jnp.zeros((BLOCKS, POINTS, NUTRIENTS + 1))], [0], []
    put = donated if variant == "useless" else plain
    lower, solved = factored(samples, measured) if variant == "fix" else (None, None)

    def step():
        number = turn[0] % BLOCKS
        turn[0] += 1
        if variant == "fix":
            block = mapped_by(lower, solved, samples, points[number])
        else:
            block = mapped(samples, measured, points[number])
        field[0] = put(field[0], block, number)
        if turn[0] % LOOK_EVERY == 0:  # how sure it is by now
            seen[:] = [float(block[:, -1].mean())]

    def values():
        return seen + numpy.abs(numpy.asarray(field[0])[:, ::1024]).mean(axis=(0, 1)).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(field[0]), values)


run.main(make)
