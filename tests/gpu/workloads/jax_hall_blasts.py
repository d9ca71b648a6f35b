# SPDX-License-Identifier: Apache-2.0
"""JAX: how hard a blast of gas hits the walls of a hall with batteries, for each of twelve places where it may begin: air is
computed on 1024 by 1024 cells (Euler's equations, fluxes of Rusanov), with walls that throw it back. The time step is as long as
the fastest wave lets it be, and gauges along the walls keep the highest pressure they had.

Wrong: each time step is read as a number, to see that it has not become tiny or nan and to add up the time; the GPU has nothing
to do until the next calls come.
fix: the time and the shortest step are kept on the device with the rest, and read with the gauges, for ten blasts together
(sync-bound).
fix2: what is between two reads is one call, not two (launch-bound).
useless: the map of the highest pressures is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=10, multiple=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, BLASTS, MOMENTS, GAUGES, TOGETHER = 1024, 12, 96, 32, 10
GAMMA, CELL, FACTOR, TINY = 1.4, 1.0 / 1024.0, 0.4, 1e-7


def pressure(state):
    return (GAMMA - 1.0) * (state[3] - 0.5 * (state[1] * state[1] + state[2] * state[2]) / state[0])


def begin(center):
    """Density, both momenta and energy of still air with a ball of hot gas; the highest pressures; time and shortest step."""
    at = (jnp.arange(SIZE, dtype=jnp.float32) + 0.5) * CELL
    off = jnp.square(at[:, None] - center[0]) + jnp.square(at - center[1])
    hot = 1.0 + 9.0 * jnp.exp(-off / 0.0008)
    zero = jnp.zeros((SIZE, SIZE), dtype=jnp.float32)
    state = jnp.stack((jnp.ones_like(zero), zero, zero, hot / (GAMMA - 1.0)))
    return state, pressure(state), jnp.array([0.0, 1.0], dtype=jnp.float32)


def longest(state):
    """The longest step in time."""
    swift = jnp.maximum(jnp.abs(state[1]), jnp.abs(state[2])) / state[0]
    return FACTOR * CELL / jnp.max(swift + jnp.sqrt(GAMMA * pressure(state) / state[0]))


def flows(state, axis):
    """What flows out of each cell along an axis, 1 or 2, where a wall throws back what comes to it."""
    def part(array, begin, end):
        return jax.lax.slice_in_dim(array, begin, end, axis=axis + array.ndim - 3)
    back = jnp.ones((4, 1, 1), dtype=jnp.float32).at[axis].set(-1.0)
    wide = jnp.concatenate((back * part(state, 0, 1), state, back * part(state, SIZE - 1, SIZE)), axis=axis)
    push = pressure(wide)
    speed = wide[axis] / wide[0]
    flux = [wide[k] * speed for k in range(3)] + [(wide[3] + push) * speed]
    flux[axis] = flux[axis] + push
    flux, swift = jnp.stack(flux), jnp.abs(speed) + jnp.sqrt(GAMMA * push / wide[0])
    swiftest = jnp.maximum(part(swift, 0, SIZE + 1), part(swift, 1, SIZE + 2))
    face = 0.5 * (part(flux, 0, SIZE + 1) + part(flux, 1, SIZE + 2))
    face = face - 0.5 * swiftest * (part(wide, 1, SIZE + 2) - part(wide, 0, SIZE + 1))
    return part(face, 1, SIZE + 1) - part(face, 0, SIZE)


def advance(state, highest, clock, span):
    state = state - (span / CELL) * (flows(state, 1) + flows(state, 2))
    clock = jnp.stack((clock[0] + span, jnp.minimum(clock[1], span)))
    return state, jnp.maximum(highest, pressure(state)), clock


def both(state, highest, clock, span):
    state, highest, clock = advance(state, highest, clock, span)
    return state, highest, clock, longest(state)


def gauges(highest, clock):
    """The highest pressures along two walls, near their corner, then the clock."""
    along = 12 * jnp.arange(GAUGES // 2) + 6
    return jnp.concatenate((highest[0, along], highest[along, 0], clock))


def make(variant):
    random = numpy.random.default_rng(20)
    centers = random.uniform(0.03, 0.09, (BLASTS, 2)).astype(numpy.float32)
    first, span_of, read_off, whole = jax.jit(begin), jax.jit(longest), jax.jit(gauges), jax.jit(both)
    further = jax.jit(advance, donate_argnums=(1,) if variant == "useless" else ())
    turn, kept, past, usual = [0], [], [0.0], [0.0, 0.0, 0.0, 0.0]

    def told(span):
        moment = float(span)  # cause: wait,copy
        if not moment > TINY:
            raise FloatingPointError("the time step is %g" % moment)
        past[0] += moment

    def blast(center):
        state, highest, clock = first(center)
        if variant == "fix2":
            span = span_of(state)
            for _ in range(MOMENTS - 1):
                told(span)
                state, highest, clock, span = whole(state, highest, clock, span)
            told(span)
            state, highest, clock = further(state, highest, clock, span)
            return read_off(highest, clock)
        for _ in range(MOMENTS):
            span = span_of(state)
            if variant != "fix":
                told(span)  # cause: wait,copy
            state, highest, clock = further(state, highest, clock, span)
        return read_off(highest, clock)

    def note(found):
        """The mean and the highest of the gauges, the time of a blast and its shortest step, in thousandths."""
        if not found[-1] > TINY:
            raise FloatingPointError("the time step was %g" % found[-1])
        numbers = (found[:-2].mean(), found[:-2].max(), 1e3 * found[-2], 1e3 * found[-1])
        for k, number in enumerate(numbers):
            usual[k] += 0.05 * (float(number) - usual[k])

    def read():
        if kept:
            for found in numpy.asarray(jnp.stack(kept)):
                note(found)
            kept.clear()

    def step():
        found = blast(centers[turn[0] % BLASTS])  # cause: wait,copy
        turn[0] += 1
        if variant != "fix":
            note(numpy.asarray(found))
            return
        kept.append(found)
        if len(kept) == TOGETHER:
            read()

    return fixable.Work(step, read, lambda: list(usual))


run.main(make)
