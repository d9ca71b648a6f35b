# SPDX-License-Identifier: Apache-2.0
"""JAX: a colony of bacteria grows on a plate, and eats what is there (reaction and diffusion); the steps in time are as long as
the difference between a solution of second and one of third order allows (Bogacki and Shampine).

Wrong: the difference is waited for behind each step, since Python computes from it how long the next one may be; the GPU has
nothing to do until it has been told.
fix: the length of the next step is computed on the GPU, too, and stays there (sync-bound).
useless: the plate is donated.
"""
import functools

import fixable

EACH, LOOK_EVERY = 8, 20  # steps in time of a step of the loop

run = fixable.Program(__doc__, steps=1200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, TOLERANCE, SHORTEST, LONGEST, SPREADS, SEEPS, FRESH, DIES = 1024, 5e-7, 1e-2, 1.5, 0.1, 0.2, 0.026, 0.051


def plate():
    """Bacteria here and there, food everywhere, not the same: (2, SIZE, SIZE)."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[:SIZE, :SIZE] / SIZE
    bacteria = numpy.zeros((SIZE, SIZE))
    for at in random.random((60, 2)):
        bacteria += 0.8 * numpy.exp(-(numpy.square(y - at[0]) + numpy.square(x - at[1])) * (SIZE / 5.0) ** 2)
    bacteria = numpy.minimum(bacteria, 0.5)
    food = 0.95 - bacteria + 0.1 * random.random((SIZE, SIZE))
    return jnp.asarray(numpy.stack((bacteria, food)), jnp.float32)


def around(field):
    return sum(jnp.roll(field, way, axis) for axis in (0, 1) for way in (-1, 1)) - 4.0 * field


def growth(state):
    """How the bacteria and the food change (as Gray and Scott have it): two bacteria that find food become three."""
    bacteria, food = state
    eaten = bacteria * bacteria * food
    return jnp.stack((SPREADS * around(bacteria) + eaten - (FRESH + DIES) * bacteria,
                      SEEPS * around(food) - eaten + FRESH * (1.0 - food)))


def factor(off):
    """How much longer or shorter the next step is."""
    return 0.9 * (TOLERANCE / (off + 1e-9)) ** (1.0 / 3.0)


def make(variant):
    @functools.partial(jax.jit, donate_argnums=(0,) if variant == "useless" else ())
    def advance(state, time):
        """The plate after `time`, or as it is where that was too long; how far off it was, and how long the next step may be."""
        one = growth(state)
        two = growth(state + 0.5 * time * one)
        three = growth(state + 0.75 * time * two)
        later = jnp.maximum(state + time * (2.0 * one + 3.0 * two + 4.0 * three) / 9.0, 0.0)
        four = growth(later)
        off = jnp.max(jnp.abs(time * (-5.0 / 72.0 * one + two / 12.0 + three / 9.0 - four / 8.0)))
        following = jnp.clip(time * jnp.clip(factor(off), 0.3, 2.0), SHORTEST, LONGEST)
        return jnp.where(off < 2.0 * TOLERANCE, later, state), off, following

    state, turn, seen = [plate()], [0], []
    time = [jnp.float32(0.05) if variant == "fix" else numpy.float32(0.05)]

    def step():
        for _ in range(EACH):
            state[0], off, following = advance(state[0], time[0])
            if variant == "fix":
                time[0] = following
            else:
                longer = min(max(factor(float(off)), 0.3), 2.0)  # cause: wait,copy
                time[0] = numpy.float32(min(max(float(time[0]) * longer, SHORTEST), LONGEST))
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = numpy.asarray(state[0][:, ::64, ::64]).reshape(-1).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(seen))


run.main(make)
