# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: the sixteen coils of a stellarator, which shall hold a hot plasma by its magnetic field, are bent until no
field goes through the plasma's surface. Each coil is a closed curve of some waves; the law of Biot and Savart gives the field at
16384 places of the surface from each of the 4096 pieces of wire, and Adam goes down the slope.

Wrong: nothing: a step is one call, whose few large kernels go through 67 million pairs, there and back; the losses are read
every ten steps (gpu-bound).
fix: ten steps are one call, by lax.scan (launch-bound, or host-bound, for what Python does; but that gains little).
fix2: the losses are read ten steps later, when they are there (sync-bound).
useless: the curves and Adam's moments are donated.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

COILS, PIECES, WAVES, ROUND, ALONG, BENT, SHORT = 16, 256, 8, 64, 256, 0.3, 0.01


def surface():
    """Places on the plasma's surface, a twisted ring, and what stands upright on it: each (3, ROUND * ALONG)."""
    def place(small, large):
        far = 1.0 + 0.2 * numpy.cos(small) + 0.04 * numpy.cos(small - 4.0 * large)
        return numpy.stack((far * numpy.cos(large), far * numpy.sin(large),
                            0.2 * numpy.sin(small) - 0.04 * numpy.sin(small - 4.0 * large)))
    small, large = numpy.meshgrid(numpy.arange(ROUND) * (2.0 * numpy.pi / ROUND), numpy.arange(ALONG) * (2.0 * numpy.pi / ALONG),
                                  indexing="ij")
    little = 1e-4
    one = place(small + little, large) - place(small - little, large)
    other = place(small, large + little) - place(small, large - little)
    upright = numpy.cross(one, other, axis=0)
    upright /= numpy.sqrt(numpy.square(upright).sum(axis=0))
    return [array.reshape(3, -1).astype(numpy.float32) for array in (place(small, large), upright)]


def circles():
    """The waves of coils that are circles yet: (COILS, 3, 2 * WAVES + 1), the middle, cosines, sines."""
    curves = numpy.zeros((COILS, 3, 2 * WAVES + 1), dtype=numpy.float32)
    for coil, large in enumerate((numpy.arange(COILS) + 0.5) * (2.0 * numpy.pi / COILS)):
        outward = numpy.array((numpy.cos(large), numpy.sin(large), 0.0))
        curves[coil, :, 0] = outward
        curves[coil, :, 1] = 0.5 * outward
        curves[coil, 2, 1 + WAVES] = 0.5
    return curves


def waves():
    """What the waves are at the pieces of a coil, and how they change from one to the next: each (2 * WAVES + 1, PIECES)."""
    angle = numpy.arange(PIECES) * (2.0 * numpy.pi / PIECES)
    number = numpy.arange(1, WAVES + 1)[:, None]
    values = numpy.concatenate((numpy.ones((1, PIECES)), numpy.cos(number * angle), numpy.sin(number * angle)))
    slopes = numpy.concatenate((numpy.zeros((1, PIECES)), -number * numpy.sin(number * angle),
                                number * numpy.cos(number * angle)))
    return values.astype(numpy.float32), (slopes * (2.0 * numpy.pi / PIECES)).astype(numpy.float32)


def field(places, wires, ways):
    """The magnetic field at places, by all pieces of wire; each is (3, how many)."""
    x, y, z = [places[axis][:, None] - wires[axis][None, :] for axis in range(3)]
    near = jax.lax.rsqrt(x * x + y * y + z * z + 1e-6)
    near = near * near * near
    along_x, along_y, along_z = ways[0][None, :], ways[1][None, :], ways[2][None, :]
    return jnp.stack((((along_y * z - along_z * y) * near).sum(axis=1), ((along_z * x - along_x * z) * near).sum(axis=1),
                      ((along_x * y - along_y * x) * near).sum(axis=1)))


def make(variant):
    places, upright = [jax.device_put(array) for array in surface()]
    values, slopes = [jax.device_put(array) for array in waves()]
    first = jax.device_put(circles())
    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    curves = jnp.array(first)
    state, pending, behind, usual = [curves, adam.init(curves)], [], [], [0.0]

    def misfit(curves):
        """How much of the field goes through the surface, and how far the coils are from simple ones."""
        wires = jnp.einsum("caw,wp->acp", curves, values, precision="highest").reshape(3, -1)
        ways = jnp.einsum("caw,wp->acp", curves, slopes, precision="highest").reshape(3, -1)
        at = field(places, wires, ways)
        through = jnp.square((at * upright).sum(axis=0)) / jnp.square(at).sum(axis=0)
        length = jnp.sqrt(jnp.square(ways).sum(axis=0) + 1e-12).sum() / COILS
        return through.mean() + BENT * jnp.square(curves - first).mean() + SHORT * length

    def improve(curves, moments):
        loss, slope = jax.value_and_grad(misfit)(curves)
        changes, moments = adam.update(slope, moments, curves)
        return optax.apply_updates(curves, changes), moments, loss

    better = jax.jit(improve, donate_argnums=(0, 1) if variant == "useless" else ())
    better_ten = fixable.scanned(jax, improve, LOOK_EVERY)

    def loop(steps):
        for _ in range(steps // LOOK_EVERY):
            *state[:], loss = better_ten(*state)
            usual[0] += 0.2 * (100.0 * float(loss) - usual[0])

    def step():
        *state[:], loss = better(*state)
        pending.append(loss)
        if len(pending) == LOOK_EVERY:
            losses, behind[:] = (behind[:], pending[:]) if variant == "fix2" else (pending[:], [])
            if losses:
                usual[0] += 0.2 * (100.0 * sum(float(one) for one in jax.device_get(losses)) / LOOK_EVERY - usual[0])
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual),
                        loop if variant == "fix" else None)


run.main(make)
