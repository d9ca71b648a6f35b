# SPDX-License-Identifier: Apache-2.0
"""JAX: how far the ground water falls where farmers of a plain pump it to their fields by night: heads of 3072 by 4096 cells, 50
metres wide, with what flows between them, rain that seeps down, and 1500 wells. An explicit step may be as long as the most
conductive cell allows, which changes with the heads.

Wrong: the host reads the length of each step, to stop when it becomes too short, before it calls the next one; the GPU has
nothing to do meanwhile.
fix: the shortest length is kept on the device as well, and is looked at with the report, every ten days (sync-bound).
useless: the lowest heads, which stay on the GPU, are donated.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=20)
jax, jnp, numpy, image = fixable.load_jax("jax.numpy", "numpy", "jax.image")

ROWS, COLS, WELLS, WATCHED, PARTS, REPORT = 3072, 4096, 1500, 64, 24, 10
CELL, SAFE, LONGEST, TOO_SHORT, NIGHT, LEAST = 50.0, 0.2, 0.1, 1e-3, 0.4, 0.5  # metres and days


def plain():
    """Heads in metres, and of each cell what it lets through (m/day), what it stores, rain and what is pumped (m/day)."""
    random = numpy.random.default_rng(20)

    def smooth():
        coarse = random.standard_normal((ROWS // 64, COLS // 64)).clip(-1.5, 1.5).astype(numpy.float32)
        return image.resize(jnp.asarray(coarse), (ROWS, COLS), "linear")

    wells = numpy.zeros((ROWS, COLS), dtype=numpy.float32)
    places = random.integers(0, ROWS, WELLS), random.integers(0, COLS, WELLS)
    wells[places] = random.uniform(400.0, 1500.0, WELLS) / (CELL * CELL)
    ground = (15.0 * jnp.exp(0.5 * smooth()), 0.15 + 0.02 * smooth(), 0.0004 + 0.0001 * smooth(), jnp.asarray(wells))
    watched = tuple(jnp.asarray(one[:WATCHED].astype(numpy.int32)) for one in places)
    return 30.0 + 2.0 * smooth(), ground, watched


def part_of_day(heads, lowest, clock, shortest, ground):
    """The heads one step later, the lowest ones so far, the time, the shortest step so far and this one, in days."""
    lets, stores, rain, wells = ground
    through = lets * heads
    days = jnp.minimum(LONGEST, SAFE * CELL * CELL / (through / stores).max())
    east = 0.5 * (through[:, 1:] + through[:, :-1]) * (heads[:, 1:] - heads[:, :-1])
    south = 0.5 * (through[1:] + through[:-1]) * (heads[1:] - heads[:-1])
    east = jnp.pad(east, ((0, 0), (1, 1)))
    south = jnp.pad(south, ((1, 1), (0, 0)))
    comes = (east[:, 1:] - east[:, :-1] + south[1:] - south[:-1]) / (CELL * CELL)
    season = 1.0 + 0.8 * jnp.cos(clock * (2.0 * math.pi / 365.0))
    pumps = jnp.where(jnp.mod(clock, 1.0) < NIGHT, 1.0, 0.0)
    heads = jnp.maximum(heads + days / stores * (comes + season * rain - pumps * wells), LEAST)
    return heads, jnp.minimum(lowest, heads), clock + days, jnp.minimum(shortest, days), days


def told_of(heads, lowest, clock, shortest, watched):
    """At the wells that are watched: the mean head and the mean of the lowest ones; the time and the shortest step."""
    return jnp.stack((heads[watched].mean(), lowest[watched].mean(), clock, shortest))


def make(variant):
    heads, ground, watched = plain()
    state = [heads, heads + 0.0, jnp.float32(0.0), jnp.float32(LONGEST)]
    del heads
    advance = jax.jit(part_of_day, donate_argnums=(1,) if variant == "useless" else ())
    report = jax.jit(told_of)
    turn, passed, usual = [0], [0.0], [0.0, 0.0]

    def check(days):
        passed[0] += days
        if not days >= TOO_SHORT:
            raise FloatingPointError("day %g: a step of %g days" % (passed[0], days))

    def step():
        for _ in range(PARTS):
            *state[:], days = advance(*state, ground)
            if variant != "fix":
                check(float(days))  # cause: wait,copy
        turn[0] += 1
        if turn[0] % REPORT == 0:
            head, low, _, shortest = numpy.asarray(report(*state, watched)).tolist()
            check(shortest)
            usual[0] += 0.2 * (head - usual[0])
            usual[1] += 0.2 * (low - usual[1])

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual))


run.main(make)
