# SPDX-License-Identifier: Apache-2.0
"""JAX: X-rays that are scattered by a powder of gold particles make rings on a film. How bright they are at each of 256 angles
is told by Debye's equation from how far each of a particle's 4096 atoms is from each other one, 17 million distances an angle;
atoms are moved a bit by heat, otherwise each time, and the mean over many such particles makes the rings.

Wrong: nothing (gpu-bound); one call a step has the GPU do sines without a pause.
useless: the mean of the rings, which stays on the GPU, is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

ATOMS, ANGLES, TOGETHER, LATTICE, HEAT, RATE, LOOK = 4096, 256, 8, 4.08, 0.09, 0.02, 10  # LATTICE and HEAT in Angstrom
WAVES = numpy.linspace(1.0, 9.0, ANGLES, dtype=numpy.float32)  # how much a wave is turned, in 1 / Angstrom


def particle():
    """A ball of a crystal of gold: the atoms of its lattice that are nearest to its middle."""
    along = numpy.arange(-14, 15)
    cells = numpy.stack(numpy.meshgrid(along, along, along, indexing="ij"), axis=3).reshape(-1, 3)
    corners = numpy.array(((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)))
    places = (cells[:, None] + corners).reshape(-1, 3) + numpy.array((0.11, 0.07, 0.03))
    nearest = numpy.argsort((places ** 2).sum(axis=1), kind="stable")[:ATOMS]
    return (LATTICE * places[nearest]).astype(numpy.float32)


def rings(places):
    """How bright it is at each angle, by Debye's equation, for each atom."""
    apart = jnp.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2) + 1e-6)

    def some(waves):
        phase = waves[:, None, None] * apart
        return (jnp.sin(phase) / phase).sum(axis=(1, 2))

    return jax.lax.map(some, jnp.asarray(WAVES).reshape(-1, TOGETHER)).reshape(-1) / ATOMS


def warmer(places, mean, number):
    """The mean of the rings with those of one more particle."""
    moved = places + HEAT * jax.random.normal(jax.random.fold_in(jax.random.key(20), number), places.shape)
    return mean + RATE * (rings(moved) - mean)


def make(variant):
    places = jax.device_put(particle())
    mean = [jnp.zeros(ANGLES, dtype=jnp.float32)]
    add = jax.jit(warmer, donate_argnums=(1,) if variant == "useless" else ())
    turn, seen = [0], []

    def step():
        mean[0] = add(places, mean[0], numpy.int32(turn[0]))
        turn[0] += 1
        if turn[0] % LOOK == 0:
            seen.append(float(mean[0].max()))

    def values():
        """How bright the brightest ring is, and how bright it is in each eighth of the angles."""
        found = numpy.asarray(mean[0])
        return [float(found.max())] + [float(part.mean()) for part in numpy.split(found, 8)]

    return fixable.Work(step, lambda: jax.block_until_ready(mean[0]), values)


run.main(make)
