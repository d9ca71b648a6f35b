# SPDX-License-Identifier: Apache-2.0
"""JAX: a yard looks for rowing boats that make few waves. By Michell's integral the waves of a slender hull come from how its half
breadth changes from station to station: 8192 hulls of 128 stations and 24 waterlines are looked at in 256 directions, at eight
speeds of a race. A step moves what shapes the hulls, 96 numbers each, by the slopes of their drag; each hull keeps the weight
that it has to carry.

Wrong: nothing; the host has launched the next step long before the GPU is done with one (gpu-bound).
useless: the mean drag, which is read once in 20 steps, is not read before the end.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

HULLS, STATIONS, LINES, SIDES, SPEEDS, ALONG, DOWN, READ = 8192, 128, 24, 256, 8, 16, 6, 20
LENGTH, DRAUGHT, CARRIED, WATER, EARTH = 8.2, 0.12, 0.1, 1000.0, 9.81  # m, m, m3, kg/m3, m/s2
RATE, HELD, STIFF = 0.02, 0.9, 0.02


def bumps(many, few):
    """Smooth bumps, (few, many), of which curves of a hull are made."""
    at, middles = numpy.linspace(0.0, 1.0, many), numpy.linspace(0.0, 1.0, few)
    shape = numpy.exp(-0.5 * ((at[None, :] - middles[:, None]) * few / 0.9) ** 2)
    return (shape / shape.sum(axis=0)).astype(numpy.float32)


def directions():
    """For each speed: waves along the hull, (SPEEDS, STATIONS, 2 * SIDES), how they fade below, and how each direction counts."""
    angle = (numpy.arange(SIDES) + 0.5) / SIDES * 1.4
    along = (numpy.arange(STATIONS) - 0.5 * (STATIONS - 1)) * LENGTH / STATIONS
    deep = (numpy.arange(LINES) + 0.5) * DRAUGHT / LINES
    waves, fading, counted = [], [], []
    for speed in numpy.linspace(3.4, 5.5, SPEEDS):
        number = EARTH / speed ** 2
        turned = number / numpy.cos(angle) * along[:, None]
        fades = numpy.exp(-number / numpy.cos(angle) ** 2 * deep[:, None])
        count = 4.0 * WATER * EARTH ** 2 / (numpy.pi * speed ** 2) / numpy.cos(angle) ** 3 * 1.4 / SIDES
        waves.append(numpy.concatenate((numpy.cos(turned), numpy.sin(turned)), axis=1))
        fading.append(numpy.concatenate((fades, fades), axis=1))
        counted.append(numpy.concatenate((count, count)))
    return [jnp.asarray(numpy.stack(part), dtype=jnp.float32) for part in (waves, fading, counted)]


def drag(shaped, along, down, waves, fading, counted):
    """The mean drag of each hull over the speeds, in newtons."""
    breadth = jnp.einsum("nad,ax,dz->nzx", jax.nn.softplus(shaped), along, down)
    cell = LENGTH / STATIONS * DRAUGHT / LINES
    breadth = breadth * (0.5 * CARRIED / cell / breadth.sum(axis=(1, 2), keepdims=True))
    ends = jnp.pad(breadth, ((0, 0), (0, 0), (1, 1)))
    slopes = 0.5 * (ends[:, :, 2:] - ends[:, :, :-2]) * (DRAUGHT / LINES)
    flat = slopes.reshape(HULLS * LINES, STATIONS)
    total = 0.0
    for speed in range(SPEEDS):
        seen = (flat @ waves[speed]).reshape(HULLS, LINES, 2 * SIDES)
        far = (seen * fading[speed]).sum(axis=1)
        total = total + (far * far * counted[speed]).sum(axis=1)
    return total / SPEEDS


def improve(shaped, moved, drawn, *tables):
    """Moves what shapes the hulls, and tells their mean drag."""
    def costs(numbers):
        each = drag(numbers, *tables)
        return jnp.log(each).sum() + STIFF * jnp.square(numbers - drawn).sum(), each.mean()
    slopes, mean = jax.grad(costs, has_aux=True)(shaped)
    moved = HELD * moved + slopes
    return shaped - RATE * moved, moved, mean


def make(variant):
    luck = numpy.random.default_rng(20)
    full = numpy.sin(numpy.pi * (numpy.arange(ALONG) + 0.5) / ALONG)[:, None] * numpy.linspace(1.0, 0.3, DOWN)
    drawn = jnp.asarray(3.0 * full - 2.0 + 0.3 * luck.standard_normal((HULLS, ALONG, DOWN)), dtype=jnp.float32)
    tables = (jnp.asarray(bumps(STATIONS, ALONG)), jnp.asarray(bumps(LINES, DOWN)), *directions())
    now, turn, curve = [drawn, jnp.zeros_like(drawn), jnp.zeros(())], [0], []
    improved = jax.jit(improve)

    def step():
        now[:] = improved(now[0], now[1], drawn, *tables)
        turn[0] += 1
        if turn[0] % READ == 0 and variant != "useless":
            curve.append(float(now[2]))

    return fixable.Work(step, lambda: jax.block_until_ready(now[0]), lambda: [float(now[2])])


run.main(make)
