# SPDX-License-Identifier: Apache-2.0
"""JAX: where lava would go if a volcano broke open at one of 24 places, so that villages know. On a map of 320 x 320 squares lava
comes out at a place, goes down to lower squares, the slower the colder it is, and cools; that is 120 moments. For each place it
is noted how much of the land is covered, and how high.

Wrong: a moment is a jitted function of a few short kernels, but Python calls it for each moment by itself.
fix: all moments are one jitted loop, lax.fori_loop (launch-bound, or host-bound, for what Python does between the calls).
useless: the table of what is noted is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=8)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIDE, MOMENTS, PLACES = 320, 120, 24
POURS, WIDE, RUNS, HOLDS, MOST, STIFF, COOLS, THIN = 0.15, 18.0, 0.2, 0.05, 0.2, 3.0, 0.01, 1e-3


def mountain(random):
    """Heights of a volcano in metres, with ridges and gullies."""
    waves = random.standard_normal((SIDE, SIDE // 2 + 1)) + 1j * random.standard_normal((SIDE, SIDE // 2 + 1))
    often = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.rfftfreq(SIDE)) * SIDE
    rough = numpy.fft.irfft2(waves / (3.0 + often) ** 2.0, s=(SIDE, SIDE))
    away = numpy.hypot(*numpy.meshgrid(numpy.arange(SIDE) - SIDE / 2.0, numpy.arange(SIDE) - SIDE / 2.0))
    return (120.0 - 0.8 * away + 6.0 * rough / rough.std()).astype(numpy.float32)


def goes_over(height, depth, heat, axis):
    """How much lava and heat goes from each square to the next one along an axis; less than none: it comes from there."""
    here = [jax.lax.slice_in_dim(field, 0, SIDE - 1, axis=axis) for field in (height, depth, heat)]
    there = [jax.lax.slice_in_dim(field, 1, SIDE, axis=axis) for field in (height, depth, heat)]
    drop = here[0] - there[0]
    lava = jnp.where(drop > 0.0, here[1], there[1])
    warm = jnp.where(drop > 0.0, here[2], there[2])
    soft = jnp.exp(STIFF * (warm / (lava + THIN) - 1.0))
    slides = jnp.sign(drop) * jnp.maximum(jnp.abs(drop) - HOLDS, 0.0)
    share = jnp.clip(RUNS * soft * slides / (1.0 + lava), -MOST, MOST)
    return share * lava, share * warm


def moment(ground, depth, heat, place):
    """Depth and heat of the lava one moment later."""
    rows, columns = jnp.arange(SIDE, dtype=jnp.float32)[:, None], jnp.arange(SIDE, dtype=jnp.float32)
    fresh = POURS * jnp.exp(-((rows - place[0]) ** 2 + (columns - place[1]) ** 2) / WIDE)
    new_depth, new_heat = depth + fresh, heat + fresh
    for axis in (0, 1):
        lava, warm = goes_over(ground + depth, depth, heat, axis)
        last = ((0, 1), (0, 0)) if axis == 0 else ((0, 0), (0, 1))
        first = ((1, 0), (0, 0)) if axis == 0 else ((0, 0), (1, 0))
        new_depth = new_depth - jnp.pad(lava, last) + jnp.pad(lava, first)
        new_heat = new_heat - jnp.pad(warm, last) + jnp.pad(warm, first)
    return new_depth, new_heat * (1.0 - COOLS / (1.0 + new_depth))


def all_moments(ground, depth, heat, place):
    return jax.lax.fori_loop(0, MOMENTS, lambda _, lava: moment(ground, *lava, place), (depth, heat))


def noted(table, number, depth, heat):
    """The table with how much land is covered, how high by the mean, and how warm the lava is by the mean."""
    told = jnp.stack((jnp.tanh(depth / 0.2).mean(), depth.mean(), heat.sum() / depth.sum()))
    return table.at[number].set(told)


def make(variant):
    random = numpy.random.default_rng(20)
    ground = jax.device_put(mountain(random))
    places = [jax.device_put(place) for place in random.uniform(SIDE / 3, 2 * SIDE / 3, (PLACES, 2)).astype(numpy.float32)]
    numbers = [jax.device_put(numpy.int32(number)) for number in range(PLACES)]
    bare = jax.device_put(numpy.zeros((SIDE, SIDE), dtype=numpy.float32))
    table, turn = [jax.device_put(numpy.zeros((PLACES, 3), dtype=numpy.float32))], [0]
    one, all_of_them = jax.jit(moment), jax.jit(all_moments)
    note = jax.jit(noted, donate_argnums=(0,) if variant == "useless" else ())

    def step():
        number = turn[0] % PLACES
        turn[0] += 1
        depth, heat = bare, bare
        if variant == "fix":
            depth, heat = all_of_them(ground, depth, heat, places[number])
        else:
            for _ in range(MOMENTS):
                depth, heat = one(ground, depth, heat, places[number])  # cause: launch
        table[0] = note(table[0], numbers[number], depth, heat)

    return fixable.Work(step, lambda: jax.block_until_ready(table[0]), lambda: numpy.asarray(table[0]).flatten().tolist())


run.main(make)
