# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: the keyboard of a telephone learns to put right what was typed wrongly. From good texts bad ones are made: a
finger slips to a key beside, two letters are swapped, or a letter comes twice in the place of the next one; and a network of four
layers learns to tell for each letter which one was meant.

Wrong: the texts are made bad letter by letter in Python, before each step, and the GPU waits for them.
fix: the bad texts were made before the training (host-bound).
useless: the parameters and the state of the optimizer are donated.
"""
import itertools
import random

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=500, warm_up=LOOK_EVERY)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

TEXTS, LETTERS, SETS, WIDTH, LAYERS, REACH = 512, 64, 40, 128, 4, 2
SLIPS, SWAPS, TWICE = 0.06, 0.10, 0.13  # from 0 to the first a finger slips, to the second letters are swapped, and so on
KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
ALPHABET = " abcdefghijklmnopqrstuvwxyz"
NUMBER = {letter: number for number, letter in enumerate(ALPHABET)}


def keys_beside():
    """For each letter those whose keys are next to its own one."""
    where = {letter: (row, column + 0.5 * row) for row, keys in enumerate(KEYS) for column, letter in enumerate(keys)}
    beside = {" ": "bnv"}
    for letter, (row, column) in where.items():
        beside[letter] = [other for other, (r, c) in where.items()
                          if other != letter and abs(r - row) < 2 and abs(c - column) < 1.1]
    return beside


def good_texts(chance):
    """SETS times TEXTS texts of LETTERS letters, of words that are made of syllables."""
    syllables = [a + b + c for a in "bdfgklmnprstvw" for b in "aeiou" for c in ("", "n", "r", "s", "t")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(2000)]
    often = list(itertools.accumulate(1.0 / (10.0 + number) for number in range(len(words))))
    texts = []
    for _ in range(SETS * TEXTS):
        texts.append(" ".join(chance.choices(words, cum_weights=often, k=LETTERS // 3))[:LETTERS].ljust(LETTERS))
    return [texts[at:at + TEXTS] for at in range(0, SETS * TEXTS, TEXTS)]


def typed_badly(text, luck, beside):
    letters, at = list(text), 0
    while at < LETTERS:  # cause: loader
        fate = luck()  # cause: loader
        if fate < SLIPS:  # cause: loader
            near = beside[letters[at]]  # cause: loader
            letters[at] = near[int(fate / SLIPS * len(near))]  # cause: loader
        elif fate < SWAPS and at + 1 < LETTERS:  # cause: loader
            letters[at], letters[at + 1] = letters[at + 1], letters[at]  # cause: loader
            at += 1  # cause: loader
        elif fate < TWICE and at + 1 < LETTERS:  # cause: loader
            letters[at + 1] = letters[at]  # cause: loader
            at += 1  # cause: loader
        at += 1  # cause: loader
    return letters


def network(some):
    layers = [{"in": some((2 * REACH + 1) * WIDTH, WIDTH), "out": 0.5 * some(WIDTH, WIDTH), "bias": jnp.zeros(WIDTH)}
              for _ in range(LAYERS)]
    return {"letters": some(len(ALPHABET), WIDTH), "layers": layers, "last": some(WIDTH, len(ALPHABET))}


def loss_of(params, bad, good):
    x = params["letters"][bad]
    for layer in params["layers"]:
        y = x / jnp.sqrt(jnp.square(x).mean(axis=-1, keepdims=True) + 1e-5)
        y = jnp.pad(y, ((0, 0), (REACH, REACH), (0, 0)))
        around = jnp.concatenate([y[:, at:at + LETTERS] for at in range(2 * REACH + 1)], axis=-1)
        x = x + jax.nn.relu(around @ layer["in"] + layer["bias"]) @ layer["out"]
    return optax.softmax_cross_entropy_with_integer_labels(x @ params["last"], good).mean()


def make(variant):
    numbers, beside = numpy.random.default_rng(20), keys_beside()
    texts = good_texts(random.Random(20))

    def some(rows, columns):
        return jnp.asarray(numbers.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    params, optimizer = network(some), optax.adam(1e-3)
    state = [params, optimizer.init(params)]
    turn, last, seen = [0], [0.0], []

    def batch_of(number):
        """The texts as they were typed, and as they were meant; the same slips come each time, so that runs can be compared."""
        luck, good = random.Random(number).random, texts[number]
        bad = [typed_badly(text, luck, beside) for text in good]  # cause: loader
        bad = numpy.array([[NUMBER[letter] for letter in letters] for letters in bad], dtype=numpy.int32)  # cause: loader
        good = numpy.array([[NUMBER[letter] for letter in text] for text in good], dtype=numpy.int32)  # cause: loader
        return bad, good

    def learn(params, opt_state, bad, good):
        loss, gradients = jax.value_and_grad(loss_of)(params, bad, good)
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state, loss

    train = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())
    ready = [batch_of(number) for number in range(SETS)] if variant == "fix" else None

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        bad, good = ready[number] if ready else batch_of(number)  # cause: loader
        *state[:], loss = train(*state, bad, good)  # cause: delayed
        last[0] = loss
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(loss)]

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: [float(last[0])])


run.main(make)
