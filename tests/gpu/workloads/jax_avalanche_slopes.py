# SPDX-License-Identifier: Apache-2.0
"""JAX: which houses of a valley would an avalanche reach? Slabs of snow are released on a slope of 2048 by 2048 cells of four
metres, and the flow is followed in 480 rounds: thickness and momentum by fluxes over the faces of the cells, driven by the slope,
held back by friction; a round is as long as the fastest snow lets it be. A step is 24 rounds, 20 steps follow one slab.

Wrong: behind each round the host reads how far down the snow has come, and the GPU has nothing to do until the next round
is called.
fix: how far it has come stays on the device, and is read once a slab, as the base reads it, too (sync-bound).
useless: the snow before a round is donated to the call, so that no arrays are taken for the snow behind it.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

CELLS, METRES, ROUNDS, FOLLOWED, SLABS = 2048, 4.0, 24, 20, 5
PULL, RUB, TURBULENT, THIN, FASTEST, SEEN = 9.81, 0.2, 1500.0, 0.02, 60.0, 0.1  # m/s2; friction; metres; m/s; metres


def slopes():
    """How steep the ground is, down and across, (CELLS, CELLS) each: steep above, flat below, with gullies."""
    down = jnp.linspace(0.0, 1.0, CELLS, dtype=jnp.float32)[:, None]
    right = jnp.linspace(0.0, 40.0, CELLS, dtype=jnp.float32)[None, :]
    steep = 0.75 * jnp.exp(-3.0 * down) + 0.02 * jnp.sin(right)
    return steep, 0.12 * jnp.sin(right + 4.0 * down)


def slab(number):
    """The snow that is released: its thickness, and no momentum."""
    luck = numpy.random.default_rng(number)
    down, right = numpy.ogrid[0:CELLS, 0:CELLS]
    snow = numpy.zeros((CELLS, CELLS), dtype=numpy.float32)
    for _ in range(6):
        top, left = luck.integers(100, 400), luck.integers(200, CELLS - 400)
        snow[top:top + 160, left:left + 200] = luck.uniform(1.0, 2.5)
    snow += 0.05 * (numpy.sin(0.2 * down) * numpy.sin(0.3 * right) + 1.0) * (snow > 0.0)
    still = numpy.zeros_like(snow)
    return snow, still, still.copy()


def over_faces(now, flux, fastest, axis):
    """What a quantity changes by the fluxes along an axis; behind the rim all is as at the rim."""
    def beside(values, low, high):
        wide = [(0, 0), (0, 0)]
        wide[axis] = (low, high)
        cut = [slice(None), slice(None)]
        cut[axis] = slice(high, high + CELLS)
        return jnp.pad(values, wide, mode="edge")[tuple(cut)]
    back, ahead = beside(now, 1, 0), beside(now, 0, 1)
    central = 0.5 * (beside(flux, 0, 1) - beside(flux, 1, 0))
    return central - 0.5 * fastest * (ahead - 2.0 * now + back)


def flow(steep, aside, thick, down, across, furthest):
    """One round: the snow behind it, and how many metres down it has come so far."""
    there = thick > THIN
    speed = jnp.where(there, down / jnp.maximum(thick, THIN), 0.0)
    drift = jnp.where(there, across / jnp.maximum(thick, THIN), 0.0)
    waves = jnp.sqrt(PULL * thick)
    fastest = jnp.max(jnp.maximum(jnp.abs(speed), jnp.abs(drift)) + waves)
    time = 0.4 * METRES / fastest
    press = 0.5 * PULL * thick * thick

    def moved(now, along, beyond):
        return now - time / METRES * (over_faces(now, along, fastest, 0) + over_faces(now, beyond, fastest, 1))

    new = jnp.maximum(moved(thick, down, across), 0.0)
    down = moved(down, down * speed + press, down * drift) + time * PULL * new * steep
    across = moved(across, across * speed, across * drift + press) + time * PULL * new * aside
    size = jnp.sqrt(down * down + across * across) / jnp.maximum(new, THIN)
    held = 1.0 + time * PULL * (RUB / (size + 0.1) + size / (TURBULENT * jnp.maximum(new, THIN)))
    kept = jnp.where(new > THIN, jnp.minimum(1.0, FASTEST / (size + 0.1)) / held, 0.0)
    reached = METRES * jnp.max(jnp.where(new > SEEN, jnp.arange(CELLS, dtype=jnp.float32)[:, None], 0.0))
    return new, down * kept, across * kept, jnp.maximum(furthest, reached)


def make(variant):
    ground = jax.jit(slopes)()
    released = [slab(number) for number in range(SLABS)]
    flown = jax.jit(flow, donate_argnums=(2, 3, 4) if variant == "useless" else ())
    now, turn = [], [0]
    notes, told = collections.deque(maxlen=ROUNDS), [0.0] * SLABS
    released = [[jax.device_put(part) for part in parts] for parts in released]
    nowhere = jax.device_put(numpy.float32(0.0))

    def one_round():
        now[:] = flown(*ground, *now)
        notes.append(now[3] if variant == "fix" else float(now[3]))  # cause: wait,copy

    def step():
        if turn[0] % FOLLOWED == 0:
            thick, down, across = released[turn[0] // FOLLOWED % SLABS]
            now[:] = jnp.copy(thick), jnp.copy(down), jnp.copy(across), nowhere
        for _ in range(ROUNDS):
            one_round()  # cause: wait,copy
        turn[0] += 1
        if turn[0] % FOLLOWED == 0:
            told[(turn[0] // FOLLOWED - 1) % SLABS] = float(now[3])

    def values():
        """How far each slab has come, the one that flows now, and how thick the snow is on average, in millimetres."""
        return told + [float(now[3]), 1000.0 * float(now[0].mean())]

    return fixable.Work(step, lambda: jax.block_until_ready(now), values)


run.main(make)
