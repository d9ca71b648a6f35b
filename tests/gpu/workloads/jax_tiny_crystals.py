# SPDX-License-Identifier: Apache-2.0
"""JAX: the shape of a tiny crystal is told from the speckles that an X-ray laser makes of it: a detector sees how strong each
wave is, and the phases, which it does not see, are looked for by going back and forth between waves and shape (hybrid
input-output, after Fienup). Of each start the shape that fits best is kept.

Wrong: how badly the shape fits is turned into a float behind each iteration, for the host to tell whether it is kept, and how
strong the feedback is next; only then the next iteration can be sent off.
fix: the jitted function keeps the best shape and tells the feedback, and the misfit is read at the end of a start (sync-bound).
useless: the density is donated to the iteration that makes the next one of it.
"""
import math

import fixable

ITERATIONS, START = 12, 5  # iterations of a step, and steps of a start

run = fixable.Program(__doc__, steps=1200, warm_up=4 * START, multiple=START)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIDE, FACES, STARTS, LARGER, NOISE = 144, 18, 4, 3.0, 0.02
FIRST, FASTER, SLOWER, STRONGEST, WEAKEST = 0.8, 1.02, 0.9, 0.9, 0.5  # the feedback


def crystal():
    """A crystal with flat faces and a soft dent inside, and where it may be: arrays of (SIDE, SIDE, SIDE)."""
    random = numpy.random.default_rng(20)
    at = numpy.arange(SIDE, dtype=numpy.float32) - SIDE / 2.0
    x, y, z = numpy.meshgrid(at, at, at, indexing="ij")
    inside = numpy.full((SIDE, SIDE, SIDE), numpy.inf, dtype=numpy.float32)
    for normal in random.standard_normal((FACES, 3)).astype(numpy.float32):
        a, b, c = normal / numpy.sqrt(numpy.square(normal).sum())
        far = numpy.float32(SIDE * random.uniform(0.14, 0.22))
        numpy.minimum(inside, far - (a * x + b * y + c * z), out=inside)
    dent = numpy.exp(-((x - 4.0) ** 2 + (y + 6.0) ** 2 + z * z) / 60.0)
    return (inside > 0.0) * (1.0 - 0.6 * dent), inside > -LARGER


@jax.jit
def measured(density, key):
    """How strong the waves are, as the detector sees them."""
    strong = jnp.abs(jnp.fft.rfftn(density))
    return strong * jnp.exp(NOISE * jax.random.normal(key, strong.shape))


def iterate(density, feedback, seen, support):
    """The next density, the shape of this iteration, and how much of what the waves tell is not in the shape."""
    waves = jnp.fft.rfftn(density)
    made = jnp.fft.irfftn(waves * (seen / jnp.maximum(jnp.abs(waves), 1e-6)), s=density.shape)
    allowed = support & (made > 0.0)
    shape = jnp.where(allowed, made, 0.0)
    misfit = jnp.sqrt(jnp.square(made - shape).sum() / jnp.square(made).sum())
    return jnp.where(allowed, made, density - feedback * made), shape, misfit


@jax.jit
def iterate_and_decide(density, feedback, before, best, kept, seen, support):
    """The same, and what the host would decide."""
    density, shape, misfit = iterate(density, feedback, seen, support)
    kept = jnp.where(misfit < best, shape, kept)
    feedback = jnp.where(misfit < before, jnp.minimum(STRONGEST, FASTER * feedback), jnp.maximum(WEAKEST, SLOWER * feedback))
    return density, feedback, misfit, jnp.minimum(misfit, best), kept


def make(variant):
    true, allowed = crystal()
    support = jnp.asarray(allowed)
    seen = measured(jnp.asarray(true, dtype=jnp.float32), jax.random.key(20))
    random = numpy.random.default_rng(21)
    starts = [jnp.asarray(random.random((SIDE, SIDE, SIDE), dtype=numpy.float32) * allowed) for _ in range(STARTS)]
    first, nothing = jnp.asarray(numpy.float32(FIRST)), jnp.asarray(numpy.float32(math.inf))
    go = jax.jit(iterate, donate_argnums=(0,) if variant == "useless" else ())
    mean_of = jax.jit(jnp.mean)
    turn, usual, state = [0], [0.0, 0.0], {}

    def begin():
        """From the next start."""
        there = variant == "fix"
        state["density"] = jnp.array(starts[turn[0] // START % STARTS], copy=True)
        state["feedback"] = first if there else FIRST
        state["before"] = state["best"] = nothing if there else math.inf
        state["kept"] = state["density"] if there else None

    def decide(misfit, shape):
        better = misfit < state["before"]
        feedback = state["feedback"]
        state["feedback"] = min(STRONGEST, FASTER * feedback) if better else max(WEAKEST, SLOWER * feedback)
        state["before"] = misfit
        if misfit < state["best"]:
            state["best"], state["kept"] = misfit, shape

    def look():
        """What has come of a start."""
        usual[0] += 0.05 * (float(state["best"]) - usual[0])
        usual[1] += 0.05 * (float(mean_of(state["kept"])) - usual[1])

    def improve():
        state["density"], shape, misfit = go(state["density"], numpy.float32(state["feedback"]), seen, support)
        decide(float(misfit), shape)  # cause: wait,copy

    def improve_there():
        names = "density", "feedback", "before", "best", "kept"
        state.update(zip(names, iterate_and_decide(*[state[name] for name in names], seen, support)))

    def step():
        if turn[0] % START == 0:
            begin()
        turn[0] += 1
        for _ in range(ITERATIONS):
            if variant == "fix":
                improve_there()
            else:
                improve()  # cause: wait,copy
        if turn[0] % START == 0:
            look()

    return fixable.Work(step, lambda: jax.block_until_ready(list(state.values())), lambda: list(usual))


run.main(make)
