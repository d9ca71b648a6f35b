# SPDX-License-Identifier: Apache-2.0
"""JAX: a column of resin parts a mixture of three substances by how firmly they hold on to it (chromatography); 64 plans of how
the salt rises are tried at once, and it is told how pure the second substance is in what each of them has collected.

Wrong: the three functions of a time step have jax.jit, but the loop over the time steps is Python's: many calls of short kernels.
fix: the sixteen time steps are one function under jax.jit, with lax.scan (launch-bound).
fix2: the best plan's purity is kept as an array, and read every 32 times (sync-bound).
fix3: each time step is one function under jax.jit, but the loop over them stays as it is (launch-bound).
useless: the amounts that were collected are donated, so that they can be added to in place.
"""
import functools

import fixable

EACH, CYCLE = 16, 32  # time steps that a step has, and steps from one injection to the next one

run = fixable.Program(__doc__, steps=1920, warm_up=CYCLE, multiple=CYCLE)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PLANS, KINDS, CELLS = 64, 3, 256
SPEED, SPREAD, RATE, RESIN, MOST_SALT = 0.8, 0.05, 0.3, 0.8, 1.0
FIRM, LESS, ROOM = (1.0, 4.0, 16.0), (4.0, 4.0, 4.0), 2.0  # how firmly they hold, how salt weakens that, and what the resin takes


def plans():
    """For each time step of a cycle: what flows in, the salt in it, and whether the plans collect what comes out."""
    times = numpy.arange(EACH * CYCLE)
    feed = (times < 40)[:, None, None] * numpy.array([0.2, 0.2, 0.2])[None, None, :]
    start, steep = 60.0 + 2.0 * (numpy.arange(PLANS) % 8), 0.001 + 0.0004 * (numpy.arange(PLANS) // 8)
    salt = numpy.clip((times[:, None] - start) * steep, 0.0, MOST_SALT)
    collects = (salt > 0.15) & (salt < 0.6)
    feed = numpy.broadcast_to(feed, (len(times), PLANS, KINDS))
    return [numpy.ascontiguousarray(part, dtype=numpy.float32) for part in (feed, salt, collects)]


def flow(liquid, salt, feed, salt_in):
    """All that is in the liquid goes on by a part of a cell, and mixes a bit."""
    def moved(x, first):
        wide = jnp.concatenate((first[..., None], x, x[..., -1:]), axis=-1)
        return x - SPEED * (x - wide[..., :-2]) + SPREAD * (wide[..., 2:] - 2.0 * x + wide[..., :-2])

    return moved(liquid, feed), moved(salt, salt_in)


def hold(liquid, bound, salt):
    """Some of it takes a place on the resin, or leaves it (Langmuir)."""
    firm = jnp.array(FIRM)[:, None] * jnp.exp(-jnp.array(LESS)[:, None] * salt[:, None, :])
    pulled = firm * liquid
    change = RATE * (ROOM * pulled / (1.0 + pulled.sum(axis=1, keepdims=True)) - bound)
    change = jnp.minimum(change, liquid / RESIN)
    return liquid - RESIN * change, bound + change


def collect(amounts, liquid, collects):
    return amounts + liquid[:, :, -1] * collects[:, None]


@jax.jit
def purest(amounts):
    return (amounts[:, 1] / (amounts.sum(axis=1) + 1e-3)).max()


def time_step(state, what):
    liquid, bound, salt, amounts = state
    feed, salt_in, collects = what
    liquid, salt = flow(liquid, salt, feed, salt_in)
    liquid, bound = hold(liquid, bound, salt)
    return (liquid, bound, salt, collect(amounts, liquid, collects)), None


def make(variant):
    tables = [part.reshape(CYCLE, EACH, *part.shape[1:]) for part in plans()]
    if variant == "fix":
        whats = [jax.device_put([table[number] for table in tables]) for number in range(CYCLE)]
    else:
        whats = [[jax.device_put([table[number, k] for table in tables]) for k in range(EACH)] for number in range(CYCLE)]
    nothing = jnp.zeros((PLANS, KINDS, CELLS)), jnp.zeros((PLANS, KINDS, CELLS)), jnp.zeros((PLANS, CELLS))
    state, turn, pending, mean, last = [*nothing, jnp.zeros((PLANS, KINDS))], [0], [], [0.0], []
    flows, holds = jax.jit(flow), jax.jit(hold)
    collects = jax.jit(collect, donate_argnums=(0,) if variant == "useless" else ())
    one = jax.jit(lambda state, what: time_step(state, what)[0])

    @jax.jit
    def all_of_them(state, what):
        return jax.lax.scan(time_step, state, what)[0]

    def by_hand(what):
        """The time steps, one after the other."""
        liquid, bound, salt, amounts = state
        for feed, salt_in, window in what:
            liquid, salt = flows(liquid, salt, feed, salt_in)  # cause: launch
            liquid, bound = holds(liquid, bound, salt)  # cause: launch
            amounts = collects(amounts, liquid, window)  # cause: launch
        state[:] = liquid, bound, salt, amounts

    def note(purity):
        mean[0] += 0.02 * (float(purity) - mean[0])

    def step():
        number = turn[0] % CYCLE
        turn[0] += 1
        if number == 0:
            state[3] = jnp.zeros((PLANS, KINDS))
        what = whats[number]
        if variant == "fix":
            state[:] = all_of_them(tuple(state), what)
        elif variant == "fix3":
            state[:] = functools.reduce(one, what, tuple(state))
        else:
            by_hand(what)  # cause: launch
        purity = purest(state[3])  # cause: launch
        if variant == "fix2":
            pending.append(purity)
            if number == CYCLE - 1:
                for one_of_them in jax.device_get(pending):
                    note(one_of_them)
                last[:] = pending[-1:]
                pending.clear()
        else:
            note(purity)
            last[:] = [purity]

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: [float(last[0]), mean[0]])


run.main(make)
