# SPDX-License-Identifier: Apache-2.0
"""JAX: half a million particles guess where a ship is, from its distances to four stations; the filter is written in jax.numpy, and
nobody put it under jax.jit. How many of the particles still count is read behind each measurement.

Wrong: each operation is dispatched by Python on its own, in many times what its kernel runs.
fix: what a measurement leads to is one function under jax.jit; the number is still read (launch-bound, host-bound).
useless: the number is read every 100 measurements.
"""
import fixable

TIMES = 50

run = fixable.Program(__doc__, steps=1100, warm_up=TIMES, multiple=TIMES)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PARTICLES, TICK, NOISE, PUSH, LOOK_EVERY = 1 << 19, 0.1, 0.3, 0.4, 100


def course(stations):
    """Distances from a ship that goes round in a circle to each station, with noise."""
    random = numpy.random.default_rng(21)
    angle = numpy.arange(TIMES) * (2.0 * numpy.pi / TIMES)
    places = 2.0 * numpy.stack([numpy.cos(angle), numpy.sin(angle)])
    apart = places[:, None, :] - stations[:, :, None]
    return (numpy.sqrt((apart ** 2).sum(axis=0)).T + 0.1 * random.standard_normal((TIMES, 4))).astype(numpy.float32)


def make(variant):
    random = numpy.random.default_rng(20)
    corners = numpy.array([[-5.0, -5.0, 5.0, 5.0], [-5.0, 5.0, -5.0, 5.0]], numpy.float32)
    distances = [jnp.asarray(row) for row in course(corners)]
    stations = jnp.asarray(corners[:, :, None])
    state = {"place": jnp.asarray(3.0 * random.standard_normal((2, PARTICLES), dtype=numpy.float32)),
             "speed": jnp.asarray(random.standard_normal((2, PARTICLES), dtype=numpy.float32)),
             "weight": jnp.full(PARTICLES, 1.0 / PARTICLES, jnp.float32), "key": jax.random.PRNGKey(20)}
    turn, told = [0], [0.0]

    def follow(state, distance):
        """Particles are drawn again by their weights, go on, and are weighed by what is measured."""
        key, for_draw, for_push = jax.random.split(state["key"], 3)  # cause: launch in xla_cuda_plugin
        sums = jnp.cumsum(state["weight"])  # cause: launch in xla_cuda_plugin
        steps = (jnp.arange(PARTICLES) + jax.random.uniform(for_draw)) / PARTICLES  # cause: launch in xla_cuda_plugin
        kept = jnp.searchsorted(sums, steps * sums[-1])  # cause: launch in xla_cuda_plugin
        kept = jnp.minimum(kept, PARTICLES - 1)  # cause: launch in xla_cuda_plugin
        place, speed = state["place"][:, kept], state["speed"][:, kept]  # cause: launch in xla_cuda_plugin

        push = PUSH * jax.random.normal(for_push, (2, PARTICLES))  # cause: launch in xla_cuda_plugin
        place = place + TICK * speed + (0.5 * TICK * TICK) * push  # cause: launch in xla_cuda_plugin
        speed = speed + TICK * push  # cause: launch in xla_cuda_plugin

        apart = jnp.expand_dims(place, 1) - stations  # cause: launch in xla_cuda_plugin
        off = jnp.sqrt(jnp.sum(apart * apart, axis=0)) - jnp.expand_dims(distance, 1)  # cause: launch in xla_cuda_plugin
        score = (-0.5 / NOISE ** 2) * jnp.sum(off * off, axis=0)  # cause: launch in xla_cuda_plugin
        weight = jnp.exp(score - jnp.max(score))  # cause: launch in xla_cuda_plugin
        weight = weight / jnp.sum(weight)  # cause: launch in xla_cuda_plugin
        middle = jnp.sum(place * weight, axis=1)  # cause: launch in xla_cuda_plugin
        count = 1.0 / jnp.sum(weight * weight)  # cause: launch in xla_cuda_plugin
        return {"place": place, "speed": speed, "weight": weight, "key": key}, middle, count

    if variant == "fix":
        follow = jax.jit(follow)

    last = [state, jnp.zeros(2)]

    def step():
        at = turn[0] % TIMES
        turn[0] += 1
        *last[:], count = follow(last[0], distances[at])
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            told[:] = [float(count)]

    def values():
        return numpy.asarray(last[1]).tolist() + [told[0] / PARTICLES]

    return fixable.Work(step, lambda: jax.block_until_ready(last), values)


run.main(make)
