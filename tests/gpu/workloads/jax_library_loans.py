# SPDX-License-Identifier: Apache-2.0
"""JAX: public libraries of eight towns lend from the same hundred thousand books, and a recommender with two towers (flax, optax)
learns which book goes with the 24 that a reader had before, as against those of the other readers of a batch. A step has a batch
from each town; how well each town is told is a running mean, which librarians see every 25 steps.

Wrong: since once a town's file was broken, the loss is looked at behind each batch, whether it is a number at all; the GPU has
nothing to do until the host has read it and has called for the next batch.
fix: the running means are looked at every 25 steps, when they are read anyway; what is no number stays in them (sync-bound).
useless: weights and means are donated to each call.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
jax, jnp, numpy, optax, nn, train_state = fixable.load_jax("jax.numpy", "numpy", "optax", "flax.linen",
                                                          "flax.training.train_state")

TOWNS, SETS, READERS, LOANS, GENRES, IN_GENRE, WIDTH, HIDDEN, LOOK = 8, 4, 1024, 24, 400, 250, 128, 1024, 25
SHARP = 5.0
BOOKS = GENRES * IN_GENRE


def loans():
    """For each town its batches: the books that readers had, (READERS, LOANS), and the next one; mostly of few genres."""
    random = numpy.random.default_rng(20)
    for town in range(TOWNS):
        batches = []
        for _ in range(SETS):
            liked = random.integers(0, GENRES, (READERS, 3))
            which = random.integers(0, 3, (READERS, LOANS + 1))
            genres = numpy.take_along_axis(liked, which, axis=1)
            ranks = numpy.minimum(random.geometric(0.02 + 0.002 * town, (READERS, LOANS + 1)), IN_GENRE) - 1
            books = (genres * IN_GENRE + ranks).astype(numpy.int32)
            batches.append((jax.device_put(books[:, :LOANS]), jax.device_put(books[:, LOANS])))
        yield batches


class Towers(nn.Module):
    """A reader and a book as vectors of length one."""

    @nn.compact
    def __call__(self, had, following):
        table = self.param("books", nn.initializers.normal(0.1), (BOOKS, WIDTH))
        reader = nn.LayerNorm()(table[had].mean(axis=1))
        reader = nn.relu(nn.Dense(HIDDEN)(reader))
        reader = nn.Dense(WIDTH)(reader)
        book = nn.Dense(WIDTH)(table[following])
        return [vector / jnp.sqrt(1e-6 + jnp.sum(vector * vector, axis=1, keepdims=True)) for vector in (reader, book)]


def learn(state, means, town, had, following):
    """One batch of a town: the new state and means, and the loss."""
    def loss_of(params):
        reader, book = state.apply_fn({"params": params}, had, following)
        scores = SHARP * reader @ book.T
        return optax.softmax_cross_entropy_with_integer_labels(scores, jnp.arange(READERS)).mean()

    loss, slopes = jax.value_and_grad(loss_of)(state.params)
    means = means.at[town].add(0.02 * (loss - means[town]))
    return state.apply_gradients(grads=slopes), means, loss


def make(variant):
    lent = list(loans())
    towns = [jax.device_put(numpy.int32(town)) for town in range(TOWNS)]
    model = Towers()
    params = model.init(jax.random.PRNGKey(20), *lent[0][0])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))
    now = [state.replace(step=jnp.zeros((), dtype=jnp.int32)), jnp.zeros(TOWNS, dtype=jnp.float32)]
    update = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())
    turn, told = [0], []

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        for town in range(TOWNS):
            now[0], now[1], loss = update(*now, towns[town], *lent[town][number])
            if variant != "fix" and not math.isfinite(float(loss)):  # cause: wait,copy
                raise ValueError("the loans of town %d cannot be used" % town)
        if turn[0] % LOOK == 0:
            means = numpy.asarray(now[1])
            if not numpy.isfinite(means).all():
                raise ValueError("the loans of some town cannot be used")
            told.append(means.tolist())

    return fixable.Work(step, lambda: jax.block_until_ready(now), lambda: numpy.asarray(now[1]).tolist())


run.main(make)
