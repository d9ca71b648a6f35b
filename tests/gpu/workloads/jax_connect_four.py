# SPDX-License-Identifier: Apache-2.0
"""JAX: two thousand games of "connect four" are played at once by a network against itself, as the first half of learning the
game; the host throws the dice for each move, and a step is a whole set of games.

Wrong: behind each move the host asks whether all games are over, and the GPU has nothing until the next move is launched.
fix: it asks behind each seventh move (sync-bound).
fix2: the dice for all moves have been thrown, and lie on the device; it asks behind each move (host-bound).
useless: the boards are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=4)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

GAMES, ROWS, COLUMNS, WIDTH, LAYERS, SETS, ASK_EVERY = 2048, 6, 7, 1280, 4, 8, 7
MOVES, BOLD = ROWS * COLUMNS, 2.0


def network():
    random = numpy.random.default_rng(20)

    def layer(inputs, outputs, size):
        weight = (size / numpy.sqrt(inputs)) * random.standard_normal((inputs, outputs), dtype=numpy.float32)
        return {"weight": jnp.asarray(weight), "bias": jnp.zeros(outputs)}

    return {"in": layer(2 * MOVES, WIDTH, 1.5), "hidden": [layer(WIDTH, WIDTH, 0.7) for _ in range(LAYERS)],
            "out": layer(WIDTH, COLUMNS, 1.0)}


def liked(weights, mine, theirs):
    """How much the network likes each column."""
    x = jnp.concatenate((mine, theirs), axis=1).reshape(GAMES, -1).astype(jnp.float32)
    x = jax.nn.relu(x @ weights["in"]["weight"] + weights["in"]["bias"])
    for layer in weights["hidden"]:
        x = x + jax.nn.relu(x @ layer["weight"] + layer["bias"])
        x = x * jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6)
    return BOLD * (x @ weights["out"]["weight"] + weights["out"]["bias"])


def four(stones):
    """Whether four stones are in a row."""
    wide = jnp.pad(stones, ((0, 0), (0, 3), (3, 3)))
    found = jnp.zeros(GAMES, dtype=bool)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        lines = [wide[:, down * n:down * n + ROWS, 3 + right * n:3 + right * n + COLUMNS] for n in range(4)]
        found |= (lines[0] & lines[1] & lines[2] & lines[3]).any(axis=(1, 2))
    return found


def move(weights, boards, dice):
    """A move in each game that is not over: (boards, the columns, whether all games are over)."""
    mine, theirs, over, won = boards
    taken = mine | theirs
    free = ~taken[:, 0]
    chance = jax.nn.softmax(jnp.where(free, liked(weights, mine, theirs), -1e9), axis=1)
    upto = jnp.cumsum(chance, axis=1)
    column = jnp.argmax(upto >= dice[:, None] * upto[:, -1:], axis=1)
    row = ROWS - 1 - jnp.take_along_axis(taken.sum(axis=1), column[:, None], axis=1)[:, 0]
    here = (jnp.arange(ROWS)[:, None] == row[:, None, None]) & (jnp.arange(COLUMNS) == column[:, None, None])
    mine = mine | (here & ~over[:, None, None])
    wins = four(mine) & ~over
    over = over | wins | (mine | theirs).all(axis=(1, 2))
    return (theirs, mine, over, won | wins), column.astype(jnp.int8), over.all()


plain, donated = jax.jit(move), jax.jit(move, donate_argnums=1)


def make(variant):
    weights = network()
    play = donated if variant == "useless" else plain
    turn, played, told = [0], [], [0.0, 0.0]

    def empty():
        return tuple(jnp.zeros((GAMES, ROWS, COLUMNS), dtype=bool) for _ in range(2)) + \
            tuple(jnp.zeros(GAMES, dtype=bool) for _ in range(2))

    def thrown(random):
        return numpy.maximum(random.random(GAMES, dtype=numpy.float32), 1e-6)

    def dice_of(number):
        random = numpy.random.default_rng(number)
        return functools.partial(thrown, random)

    lying = None
    if variant == "fix2":
        lying = []
        for number in range(SETS):
            throw = dice_of(number)
            lying.append([jax.device_put(throw()) for _ in range(MOVES)])

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        boards, columns = empty(), []
        throw = iter(lying[number]).__next__ if lying else dice_of(number)
        for count in range(1, MOVES + 1):
            boards, column, finished = play(weights, boards, throw())
            columns.append(column)
            if variant != "fix" or count % ASK_EVERY == 0:
                if bool(finished):  # cause: wait,copy
                    break
        played[:] = columns  # to be learnt from
        told[:] = [float(boards[3].mean()), float(count)]

    def values():
        return told + [float(numpy.asarray(column).mean()) for column in played[:12]]

    return fixable.Work(step, lambda: jax.block_until_ready(played), values)


run.main(make)
