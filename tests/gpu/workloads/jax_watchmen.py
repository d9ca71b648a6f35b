# SPDX-License-Identifier: Apache-2.0
"""JAX: a game of a watchman and a thief in a museum of 64 by 64 squares, with walls: the thief goes up, down, left or right, or
stays; the watchman may go aslant as well. How long the thief can make the game last, if both play as well as can be, is told
for all 16.8 million pairs of squares: the value of each is made better 72 times (value iteration), for one museum per step.

Wrong: hardly anything; the GPU goes through tables of 67 MB nearly all the time (gpu-bound).
fix: the mean value stays on the GPU, and is read at the end only (sync-bound, but that gains little).
useless: the walls of all museums come to the GPU together.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=160, warm_up=4)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, MUSEUMS, ROUNDS, PATIENCE, ROOMS = 64, 4, 72, 0.97, 24
THIEF = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
WATCHMAN = tuple(itertools.product((0, -1, 1), repeat=2))  # the first one is to stay


def museum(random):
    """Which squares are walls."""
    walls = numpy.zeros((SIZE, SIZE), dtype=bool)
    for _ in range(ROOMS):
        down, right, long = random.integers(2, SIZE - 14), random.integers(2, SIZE - 14), random.integers(4, 12)
        if random.random() < 0.5:
            walls[down, right:right + long] = True
        else:
            walls[down:down + long, right] = True
    return walls


def blocked(walls, moves):
    """From which squares each move would end in a wall, or outside: (moves, SIZE, SIZE)."""
    around = numpy.pad(walls, 1, constant_values=True)
    return numpy.stack([around[1 + down:1 + down + SIZE, 1 + right:1 + right + SIZE] for down, right in moves])


def caught_table():
    """Where the game is over: the watchman stands next to the thief, or upon the same square."""
    apart = numpy.abs(numpy.arange(SIZE)[:, None] - numpy.arange(SIZE)) <= 1
    return apart[:, None, :, None] & apart[None, :, None, :]


def best(value, stopped, moves, axes, better):
    """The value behind the best of the moves of one of the two, who stands on two axes of the table."""
    found = value
    for number, (down, right) in enumerate(moves[1:], start=1):
        there = jnp.roll(value, (-down, -right), axis=axes)
        stays = stopped[number][:, :, None, None] if axes == (0, 1) else stopped[number][None, None]
        found = better(found, jnp.where(stays, value, there))
    return found


def play(thief_stops, watchman_stops, caught, free):
    """The values of a museum, and their mean over all squares without walls."""
    def improved(_, value):
        value = best(value, thief_stops, THIEF, (2, 3), jnp.maximum)
        value = best(value, watchman_stops, WATCHMAN, (0, 1), jnp.minimum)
        return jnp.where(caught, 0.0, 1.0 + PATIENCE * value)

    value = jax.lax.fori_loop(0, ROUNDS, improved, jnp.zeros((SIZE, SIZE, SIZE, SIZE), dtype=jnp.float32))
    mean = (value * free[:, :, None, None] * free).sum() / jnp.square(free.sum())
    return value, mean


def make(variant):
    random = numpy.random.default_rng(20)
    caught, museums, turn = jax.device_put(caught_table()), [], [0]
    for _ in range(MUSEUMS):
        walls = museum(random)
        parts = [blocked(walls, THIEF), blocked(walls, WATCHMAN), (~walls).astype(numpy.float32)]
        museums.append(parts if variant == "useless" else [jax.device_put(part) for part in parts])
    museums = jax.device_put(museums) if variant == "useless" else museums
    solve, kept, told = jax.jit(play), [None], [0.0] * MUSEUMS

    def step():
        number = turn[0] % MUSEUMS
        turn[0] += 1
        thief_stops, watchman_stops, free = museums[number]
        kept[0], mean = solve(thief_stops, watchman_stops, caught, free)
        told[number] = mean if variant == "fix" else float(mean)

    def wait():
        if kept[0] is not None:
            kept[0].block_until_ready()

    def values():
        """The mean of each museum, and what the game is worth from some pairs of squares."""
        return [float(mean) for mean in told] + numpy.asarray(kept[0][8, 8, 40, 8:56:8]).tolist()

    return fixable.Work(step, wait, values)


run.main(make)
