# SPDX-License-Identifier: Apache-2.0
"""JAX: how much lower the energy of a molecule is since its electrons keep out of each other's way (perturbation theory of second
order, with fitted densities). A step takes other orbitals: the integrals over three functions are turned to them, products of
them give the repulsion of all pairs, and the pairs of equal and of opposite spin are added up, each by their energies.

Wrong: nothing; nearly all the time goes to products of large matrices in float32 (gpu-bound).
useless: the energies are read every hundred steps rather than every 20.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

FULL, EMPTY, FITTED, SETS = 32, 256, 1024, 8
ORBITALS = FULL + EMPTY
EXACT = jax.lax.Precision.HIGHEST


def three_centers(key):
    """Integrals over a fitted function and two others, which fall off as these are apart: (FITTED, ORBITALS, ORBITALS)."""
    some = jax.random.normal(key, (FITTED, ORBITALS, ORBITALS))
    number = jnp.arange(ORBITALS, dtype=jnp.float32)
    apart = jnp.abs(number[:, None] - number[None, :])
    return 0.005 * jnp.exp(-apart / 25.0) * (some + some.transpose(0, 2, 1))


def orbitals():
    """Coefficients of the orbitals, the full ones first, and their energies in hartree, of some slightly bent molecules."""
    random = numpy.random.default_rng(20)
    base = random.standard_normal((ORBITALS, ORBITALS))
    for _ in range(SETS):
        bent = base + 0.1 * random.standard_normal((ORBITALS, ORBITALS))
        values, vectors = numpy.linalg.eigh(bent + bent.T)
        values = (values - values[0]) / (values[-1] - values[0])
        levels = numpy.where(numpy.arange(ORBITALS) < FULL, -1.3 + 3.0 * values, 0.1 + 3.0 * values)
        levels[:FULL] = levels[:FULL].clip(None, -0.3)
        yield vectors.astype(numpy.float32), levels.astype(numpy.float32)


def correlation(integrals, coefficients, levels, usual):
    """Energies of the pairs of opposite and of equal spin, and both as they are usually scaled, as running averages."""
    full, empty = coefficients[:, :FULL], coefficients[:, FULL:]
    half = jnp.einsum("qmn,na->qma", integrals, empty, precision=EXACT)
    pairs = jnp.einsum("qma,mi->iaq", half, full, precision=EXACT).reshape(FULL * EMPTY, FITTED)
    repulsion = jnp.matmul(pairs, pairs.T, precision=EXACT).reshape(FULL, EMPTY, FULL, EMPTY)
    below, above = levels[:FULL], levels[FULL:]
    both = below[:, None] - above[None, :]
    gaps = both[:, :, None, None] + both[None, None, :, :]
    weighed = repulsion / gaps
    opposite = (weighed * repulsion).sum()
    equal = (weighed * (repulsion - repulsion.transpose(0, 3, 2, 1))).sum()
    now = jnp.stack((opposite, equal, 1.2 * opposite + equal / 3.0))
    return usual + 0.05 * (now - usual)


def make(variant):
    integrals = jax.jit(three_centers)(jax.random.PRNGKey(20))
    molecules = [(jax.device_put(c), jax.device_put(e)) for c, e in orbitals()]
    usual, turn, told = [jax.device_put(numpy.zeros(3, dtype=numpy.float32))], [0], []
    correlated = jax.jit(correlation)
    every = 100 if variant == "useless" else 20

    def step():
        coefficients, levels = molecules[turn[0] % SETS]
        turn[0] += 1
        usual[0] = correlated(integrals, coefficients, levels, usual[0])
        if turn[0] % every == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
