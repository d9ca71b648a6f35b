# SPDX-License-Identifier: Apache-2.0
"""JAX: a network (Flax) learns how many turns a scrambled magic cube is away from the solved one: one more than the best of what
an older network thinks of the twelve cubes that a turn leads to (approximate value iteration, as in DeepCubeA).

Wrong: the cubes are scrambled in Python, turn by turn, and the loss is waited for behind each step, so that the GPU does nothing
meanwhile.
fix: the scrambled cubes of 64 batches are made before the loop, and used in turns; the loss is still waited for (host-bound).
fix2: the losses are kept as arrays, and read every 20 steps; the cubes are still scrambled in the loop (sync-bound).
useless: the weights and the optimizer's state are donated.
"""
import functools
import random

import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=240, warm_up=TOGETHER, multiple=TOGETHER)
jax, jnp, numpy, nn, optax = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "optax")

CUBES, DEEPEST, STICKERS, COLORS, READY, RENEWED = 640, 20, 54, 6, 64, 100
FIRST, WIDTH, BLOCKS, RATE = 4096, 1536, 3, 1e-4


def quarter_turns():
    """Where each sticker comes from in each of the twelve turns."""
    stickers = []  # a sticker is a place of the cube and the side that it looks to
    for axis in range(3):
        for side in (-1, 1):
            for one in (-1, 0, 1):
                for other in (-1, 0, 1):
                    place = [one, other]
                    place.insert(axis, side)
                    stickers.append((tuple(place), tuple(side if at == axis else 0 for at in range(3))))
    number = {sticker: at for at, sticker in enumerate(stickers)}
    turns = []
    for axis in range(3):
        one, other = [at for at in range(3) if at != axis]
        for layer in (-1, 1):
            for way in (-1, 1):
                def turned(vector):
                    new = list(vector)
                    new[one], new[other] = -way * vector[other], way * vector[one]
                    return tuple(new)

                comes = list(range(STICKERS))
                for at, (place, look) in enumerate(stickers):
                    if place[axis] == layer:
                        comes[number[turned(place), turned(look)]] = at
                turns.append(comes)
    return turns


TURNS = quarter_turns()
SOLVED = [at // 9 for at in range(STICKERS)]


def scrambled(luck):
    """Cubes that were turned at random some times: (CUBES, STICKERS)."""
    cubes = []
    for _ in range(CUBES):
        cube = SOLVED
        for _ in range(luck.randint(1, DEEPEST)):  # cause: loader
            turn = luck.choice(TURNS)  # cause: loader
            cube = [cube[at] for at in turn]  # cause: loader
        cubes.append(cube)
    return numpy.array(cubes, dtype=numpy.int8)  # cause: loader


class Guess(nn.Module):
    """How many turns it takes to solve a cube."""

    @nn.compact
    def __call__(self, cubes):
        x = jax.nn.one_hot(cubes, COLORS).reshape(-1, STICKERS * COLORS)
        x = nn.relu(nn.Dense(WIDTH)(nn.relu(nn.Dense(FIRST)(x))))
        for _ in range(BLOCKS):
            x = x + nn.Dense(WIDTH)(nn.relu(nn.Dense(WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(1)(x)[:, 0]


def make(variant):
    luck, model, adam = random.Random(20), Guess(), optax.adam(RATE)
    weights = jax.jit(model.init)(jax.random.key(20), jnp.zeros((1, STICKERS), jnp.int8))
    state, older = [weights, adam.init(weights)], [jax.tree.map(jnp.copy, weights)]
    turns, solved = jnp.asarray(TURNS), jnp.asarray(SOLVED, jnp.int8)
    made = [scrambled(luck) for _ in range(READY)] if variant == "fix" else None
    turn, pending, mean = [0], [], [5.0]

    @functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())
    def learn(weights, moments, older, cubes):
        further = cubes[:, turns].reshape(-1, STICKERS)
        guessed = jnp.where((further == solved).all(axis=1), 0.0, model.apply(older, further))
        wanted = 1.0 + jnp.clip(guessed.reshape(CUBES, -1).min(axis=1), 0.0, 30.0)
        wanted = jnp.where((cubes == solved).all(axis=1), 0.0, wanted)
        loss, slope = jax.value_and_grad(lambda w: jnp.mean(jnp.square(model.apply(w, cubes) - wanted)))(weights)
        change, moments = adam.update(slope, moments)
        return optax.apply_updates(weights, change), moments, loss

    def log(loss):
        mean[0] += 0.05 * (loss - mean[0])

    def step():
        cubes = made[turn[0] % READY] if made else scrambled(luck)  # cause: loader
        turn[0] += 1
        *state[:], loss = learn(*state, older[0], cubes)  # cause: delayed
        if turn[0] % RENEWED == 0:
            older[0] = jax.tree.map(jnp.copy, state[0])
        if variant != "fix2":
            log(float(loss))  # cause: wait,copy
            return
        pending.append(loss)
        if len(pending) == TOGETHER:
            for number in jax.device_get(pending):
                log(float(number))
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(mean))


run.main(make)
