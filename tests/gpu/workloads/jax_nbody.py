# SPDX-License-Identifier: Apache-2.0
"""JAX: bodies that attract each other, moved by a function of jax.numpy that nobody put under jax.jit.

Wrong: each operation is dispatched by Python on its own, in many times what its kernel runs.
fix: the step is under jax.jit: fewer launches, and no Python between them (launch-bound, host-bound).
useless: the energy is looked at once, at the end, instead of every 50 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=2000, warm_up=20, multiple=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BODIES, STEP, SOFT = 384, 1e-3, 0.05


def make(variant):
    random = numpy.random.default_rng(20)
    places = jnp.asarray(random.standard_normal((BODIES, 3), dtype=numpy.float32))
    speeds = jnp.asarray(0.3 * random.standard_normal((BODIES, 3), dtype=numpy.float32))
    masses = jnp.asarray(random.random(BODIES, dtype=numpy.float32) / BODIES)
    state, seen, turn = [places, speeds], [], [0]

    def pull(places):
        apart = jnp.expand_dims(places, 0) - jnp.expand_dims(places, 1)  # cause: launch
        squared = jnp.sum(apart * apart, axis=-1) + SOFT  # cause: launch
        strength = masses / (squared * jnp.sqrt(squared))  # cause: launch
        return jnp.sum(apart * jnp.expand_dims(strength, -1), axis=1)  # cause: launch

    def advance(places, speeds):
        half = speeds + 0.5 * STEP * pull(places)  # cause: launch
        places = places + STEP * half  # cause: launch
        return places, half + 0.5 * STEP * pull(places)  # cause: launch

    if variant == "fix":
        advance = jax.jit(advance)

    def energy():
        return float(0.5 * jnp.sum(masses * jnp.sum(state[1] * state[1], axis=-1)))

    def step():
        state[:] = advance(*state)
        turn[0] += 1
        if turn[0] % 50 == 0 and variant != "useless":
            seen[:] = [energy()]

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: [energy()])


run.main(make)
