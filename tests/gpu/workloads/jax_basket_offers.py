# SPDX-License-Identifier: Apache-2.0
"""JAX with Flax and Optax: a grocer wants to offer what is missing in a basket. From each of 512 baskets a step one good is held
out; the others' vectors are summed up, and a network learns to find the good among 15 wrong ones, which are drawn as often as
they are sold and are not in the basket. Each batch has its own luck, the same one in each epoch.

Wrong: Python draws the goods of each batch anew in each epoch, basket by basket, in the thread that launches, and the GPU waits.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
useless: the state of the training is donated.
"""
import itertools
import random

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=8)
jax, jnp, numpy, linen, optax, training = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "optax", "flax.training.train_state")

GOODS, BASKETS, BATCH, MOST, OFFERS, WIDE, DEEP, SHOWN, NONE = 20000, 6144, 512, 20, 16, 256, 1024, 25, 0


def sold():
    """Baskets as lists of goods, and how often the goods are sold, summed up; good number NONE is none."""
    luck = random.Random(20)
    often = list(itertools.accumulate([0.0] + [1.0 / (rank + 20) for rank in range(1, GOODS)]))
    baskets = []
    for _ in range(BASKETS):
        aisle = luck.randrange(1, GOODS - 400)
        staples = luck.choices(range(GOODS), cum_weights=often, k=luck.randint(2, 8))
        baskets.append(list({*staples, *luck.sample(range(aisle, aisle + 400), luck.randint(3, 12))} - {NONE}))
    return baskets, often


class Offers(linen.Module):
    """How well each of the offers fits what is in the basket."""

    @linen.compact
    def __call__(self, kept, offers):
        vectors = linen.Embed(GOODS, WIDE)
        tower = linen.Sequential([linen.Dense(DEEP), linen.gelu, linen.Dense(DEEP), linen.gelu, linen.Dense(WIDE)])
        there = (kept != NONE)[..., None]
        basket = (vectors(kept) * there).sum(axis=1) / jnp.maximum(there.sum(axis=1), 1)
        wanted = linen.Dense(WIDE)(linen.gelu(linen.Dense(DEEP)(basket)))
        return jnp.einsum("bw,bow->bo", wanted, tower(vectors(offers))) / WIDE ** 0.5


def learn(state, usual, kept, offers):
    """The state and the usual loss after a batch, whose first offers are the right ones."""
    def loss_of(params):
        fits = state.apply_fn({"params": params}, kept, offers)
        return optax.softmax_cross_entropy_with_integer_labels(fits, jnp.zeros(BATCH, dtype=jnp.int32)).mean()

    loss, slopes = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=slopes), usual + 0.02 * (loss - usual)


def make(variant):
    baskets, often = sold()
    goods = range(GOODS)
    model = Offers()
    params = model.init(jax.random.PRNGKey(20), jnp.zeros((2, MOST), dtype=jnp.int32), jnp.ones((2, OFFERS), dtype=jnp.int32))
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-4))
    state = [training.TrainState.create(apply_fn=model.apply, params=params["params"], tx=rule)]
    usual, turn, curve = [jax.device_put(numpy.float32(3.0))], [0], []
    learned = jax.jit(learn, donate_argnums=(0,) if variant == "useless" else ())

    def batch(number):
        """What is kept in each basket, and the offers: the good that is held out, and wrong ones."""
        luck = random.Random(number)
        kept = numpy.full((BATCH, MOST), NONE, dtype=numpy.int32)
        offers = numpy.empty((BATCH, OFFERS), dtype=numpy.int32)
        for row, basket in enumerate(baskets[number * BATCH:(number + 1) * BATCH]):
            held = luck.choice(basket)  # cause: loader
            rest = [good for good in basket if good != held][:MOST]
            kept[row, :len(rest)] = rest
            drawn = luck.choices(goods, cum_weights=often, k=2 * OFFERS)  # cause: loader
            wrong = [good for good in drawn if good not in basket][:OFFERS - 1]  # cause: loader
            offers[row] = [held] + wrong + [NONE] * (OFFERS - 1 - len(wrong))  # cause: loader
        return kept, offers

    every = range(BASKETS // BATCH)
    batches = itertools.cycle([batch(number) for number in every]) if variant == "fix" else map(batch, itertools.cycle(every))

    def step():
        made = next(batches)  # cause: loader
        kept, offers = jax.device_put(made)  # cause: delayed
        state[0], usual[0] = learned(state[0], usual[0], kept, offers)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(float(usual[0]))

    def wait():
        jax.block_until_ready((state[0].params, usual[0]))

    def values():
        """The loss, and how large the weights behind a basket have become."""
        return [float(usual[0])] + [float(jnp.linalg.norm(state[0].params[name]["kernel"])) for name in ("Dense_0", "Dense_1")]

    return fixable.Work(step, wait, values)


run.main(make)
