# SPDX-License-Identifier: Apache-2.0
"""JAX: the electric potential around a protein in salt water, on a box of 176 points each way (the linear equation of Poisson and
Boltzmann), as acids and bases of the protein take up and give away protons: for each of six such states, up to 20 sweeps (Jacobi)
go on from the potential of the last state, and the energy of the charges is noted.

Wrong: behind each sweep float() reads how much the potential still changes, to stop where it is still (it never is by then);
the next sweep is launched only then.
fix: how much it changes stays on the GPU, where it is noted with the energy, as in the base (sync-bound).
useless: what has been noted is donated to the call that notes.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, ATOMS, STATES, SWEEPS, EACH = 176, 64, 6, 20, 10
RADIUS, BLUR, SALT, INSIDE, STILL = 9.0, 2.0, 0.02, 0.05, 1e-9  # points; INSIDE: of what water has


@jax.jit
def laid_out(atoms, charges):
    """For each point how much it is inside of the protein, and the charge there."""
    line = jnp.arange(SIZE, dtype=jnp.float32)

    def add(k, sums):
        inside, charge = sums
        away = ((line - atoms[k, 0]) ** 2)[:, None, None] + ((line - atoms[k, 1]) ** 2)[:, None] + (line - atoms[k, 2]) ** 2
        inside = jnp.maximum(inside, jax.nn.sigmoid((RADIUS * RADIUS - away) / 8.0))
        return inside, charge + charges[k] * jnp.exp(away / (-2.0 * BLUR * BLUR))

    nothing = jnp.zeros((SIZE, SIZE, SIZE), dtype=jnp.float32)
    return jax.lax.fori_loop(0, ATOMS, add, (nothing, nothing))


@jax.jit
def between(inside):
    """How well the field goes from each point to the next one, three ways, and what a point's potential is divided by."""
    eases = 1.0 - (1.0 - INSIDE) * inside
    ways = [2.0 * eases * jnp.roll(eases, -1, axis) / (eases + jnp.roll(eases, -1, axis)) for axis in range(3)]
    whole = sum(way + jnp.roll(way, 1, axis) for axis, way in enumerate(ways)) + SALT * (1.0 - inside)
    return (*ways, 1.0 / whole)


@jax.jit
def sweep(potential, charge, ways, inverse):
    """The potential from that of the neighbours, and how much it changes at most."""
    new = charge
    for axis, way in enumerate(ways):
        new = new + way * jnp.roll(potential, -1, axis) + jnp.roll(way, 1, axis) * jnp.roll(potential, 1, axis)
    new = new * inverse
    return new, jnp.abs(new - potential).max()


def note(usual, potential, charge, change):
    """The energy, the strongest potential and the last change, as they usually are."""
    now = jnp.stack((0.5 * (potential * charge).sum(), jnp.abs(potential).max(), change))
    return 0.98 * usual + 0.02 * now


def make(variant):
    random = numpy.random.default_rng(20)
    atoms = jax.device_put((SIZE / 2 + 16.0 * random.standard_normal((ATOMS, 3)).clip(-2.0, 2.0)).astype(numpy.float32))
    signs, charges = numpy.where(numpy.arange(ATOMS) % 2, 1.0, -1.0), []
    for _ in range(STATES):
        there = signs * (random.random(ATOMS) < 0.7)
        inside, charge = laid_out(atoms, jax.device_put(there.astype(numpy.float32)))
        charges.append(charge)
    *ways, inverse = between(inside)
    potential = [jax.device_put(numpy.zeros((SIZE, SIZE, SIZE), dtype=numpy.float32))]
    usual = [jax.device_put(numpy.zeros(3, dtype=numpy.float32))]
    noted = jax.jit(note, donate_argnums=(0,) if variant == "useless" else ())
    turn, told = [0], []

    def solved(start, charge):
        """The potential after the last sweep, and how much that changed it."""
        now = start
        for _ in range(SWEEPS):
            now, change = sweep(now, charge, ways, inverse)
            if variant != "fix":
                if float(change) < STILL:  # cause: wait,copy
                    break
        return now, change

    def step():
        charge = charges[turn[0] % STATES]
        turn[0] += 1
        potential[0], change = solved(potential[0], charge)  # cause: wait,copy
        usual[0] = noted(usual[0], potential[0], charge, change)
        if turn[0] % EACH == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    def wait():
        jax.block_until_ready((usual, potential))

    return fixable.Work(step, wait, lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
