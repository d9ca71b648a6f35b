# SPDX-License-Identifier: Apache-2.0
"""JAX: three genes that each hold the next one back make half a million cells tick like clocks (repressilator), with the noise
of few molecules (chemical Langevin equation); a step of time must be the shorter the faster anything in any cell changes.

Wrong: how fast the fastest one changes is read by float() behind each of the eight steps of time, and the host tells from it
how long the next one is.
fix: a function under jax.jit tells that on the device, and the time that has gone is read every 25 times (sync-bound).
fix2: the cells' mean, which is kept for a curve, is an array that is read every 25 times; the rest is as before (sync-bound).
useless: the cells are donated.
"""
import fixable

EACH, LOOK_EVERY = 8, 25

run = fixable.Program(__doc__, steps=1500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

GENES, CELLS, LONGEST, SHARE = 3, 1 << 19, 0.05, 0.2
MADE, LEAK, HILL, HALF, COPIES, PROTEIN_LOST = 60.0, 0.3, 2.0, 40.0, 4.0, 0.8


def rates(messages, proteins):
    """How many molecules are made and lost in a unit of time."""
    held = jnp.roll(proteins, 1, axis=0) / HALF
    made = jnp.stack((MADE / (1.0 + held ** HILL) + LEAK, COPIES * messages))
    lost = jnp.stack((messages, PROTEIN_LOST * proteins))
    return made, lost


def advance(cells, key, number, length):
    """A step of time for all cells, and how fast the fastest one changes then: in parts of itself."""
    made, lost = rates(cells[0], cells[1])
    noise = jax.random.normal(jax.random.fold_in(key, number), cells.shape)
    cells = jnp.maximum(cells + length * (made - lost) + jnp.sqrt(length * (made + lost)) * noise, 0.0)
    made, lost = rates(cells[0], cells[1])
    return cells, jnp.max(jnp.abs(made - lost) / (cells + 10.0))


@jax.jit
def length_of(fastest, clock):
    """How long the next step of time is, and how late it is then."""
    length = jnp.minimum(LONGEST, SHARE / fastest)
    return length, clock + length


@jax.jit
def mean_of(cells):
    return cells[1].mean(axis=1)


plain, donated = jax.jit(advance), jax.jit(advance, donate_argnums=0)


def make(variant):
    go = donated if variant == "useless" else plain
    key = jax.random.key(20)
    start = numpy.random.default_rng(20).uniform(0.0, 60.0, (2, GENES, CELLS)).astype(numpy.float32)
    cells, turn, curve, pending = [jnp.asarray(start)], [0], [], []
    length, clock = (jnp.float32(0.001), jnp.float32(0.0)) if variant == "fix" else (0.001, 0.0)
    times = [length, clock]

    def note(mean):
        curve.append(numpy.asarray(mean).tolist())
        del curve[:-LOOK_EVERY]

    def leap(number):
        cells[0], fastest = go(cells[0], key, number, times[0])
        if variant == "fix":
            times[:] = length_of(fastest, times[1])
            return
        times[0] = min(LONGEST, SHARE / float(fastest))  # cause: wait,copy
        times[1] += times[0]

    def step():
        for k in range(EACH):
            leap(turn[0] * EACH + k)  # cause: wait,copy
        turn[0] += 1
        mean = mean_of(cells[0])
        if variant == "fix" or variant == "fix2":
            pending.append(mean)
            if turn[0] % LOOK_EVERY == 0:
                for one in jax.device_get(pending):
                    note(one)
                pending.clear()
        else:
            note(mean)  # cause: wait,copy

    return fixable.Work(step, lambda: jax.block_until_ready(cells), lambda: [float(times[1])] + curve[-1])


run.main(make)
