# SPDX-License-Identifier: Apache-2.0
"""JAX, Flax, Optax: an insurer of cars wants to know which crashes were staged. A claim is what its file has noted, 24 to 32 events
in the order that clerks wrote them: a day, a kind, who took part (garages, doctors, lawyers, witnesses), and an amount. Events
are sorted by their days, names become numbers by a hash of how they are written, gaps and amounts become logarithms, and who is
met again is marked. A small network with attention learns from 192 claims at a time.

Wrong: Python makes numbers of the claims anew in each epoch, in the thread that calls the GPU, and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
useless: the usual loss, which is read once in 25 steps, is not read before the end.
"""
import math
import zlib

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=16)
jax, jnp, numpy, flax, train, optax = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "flax.training.train_state", "optax")

BATCHES, BATCH, LONGEST, KINDS, NAMES, PARTIES, WIDE, LAYERS, SHOWN = 16, 192, 32, 24, 8192, 3000, 128, 2, 25


def filed():
    """The claims, lists of (day, kind, name, amount), and whether each was staged, which rings of the same people do more often."""
    luck = numpy.random.default_rng(20)
    trades = ("Garage", "Dr.", "Law Office", "Witness")
    many = BATCHES * BATCH
    staged = luck.random(many) < 0.3
    claims = []
    for wrong in staged:
        events = int(luck.integers(24, LONGEST + 1))
        days = luck.exponential(6.0 if wrong else 14.0, events).cumsum().astype(int)
        kinds = luck.integers(0, KINDS, events)
        parties = luck.integers(0, 200, events) if wrong else luck.integers(0, PARTIES, events)
        amounts = luck.lognormal(7.0 if wrong else 6.0, 1.0, events)
        notes = [(int(day), int(kind), "%s No %d " % (trades[party % 4], party), float(amount))
                 for day, kind, party, amount in zip(days, kinds, parties, amounts)]
        claims.append([notes[place] for place in luck.permutation(events)])
    return claims, staged.astype(numpy.float32)


def numbers_of(claims):
    """(claims, LONGEST) kinds and names, and (claims, LONGEST, 4) of gap, amount, met again, and whether there is an event."""
    kinds = numpy.zeros((len(claims), LONGEST), dtype=numpy.int32)
    names = numpy.zeros((len(claims), LONGEST), dtype=numpy.int32)
    amounts = numpy.zeros((len(claims), LONGEST, 4), dtype=numpy.float32)
    for row, claim in enumerate(claims):
        met, before = set(), None
        for place, (day, kind, name, amount) in enumerate(sorted(claim)):  # cause: loader
            name = " ".join(name.lower().replace(".", " ").split())  # cause: loader
            number = zlib.crc32(name.encode()) % NAMES  # cause: loader
            gap = 0.0 if before is None else math.log1p(day - before)  # cause: loader
            kinds[row, place], names[row, place] = kind, number  # cause: loader
            amounts[row, place] = gap, 0.1 * math.log1p(amount), float(number in met), 1.0  # cause: loader
            met.add(number)  # cause: loader
            before = day
    return kinds, names, amounts


class Doubt(flax.Module):
    """How likely it is that a claim was staged: events look at each other, then the mean of them is judged."""

    @flax.compact
    def __call__(self, kinds, names, amounts):
        there = amounts[:, :, 3]
        x = flax.Embed(KINDS, WIDE)(kinds) + flax.Embed(NAMES, WIDE)(names) + flax.Dense(WIDE)(amounts)
        mask = (there[:, None, None, :] > 0.0)
        for _ in range(LAYERS):
            x = x + flax.MultiHeadDotProductAttention(num_heads=4)(flax.LayerNorm()(x), mask=mask)
            x = x + flax.Dense(WIDE)(flax.gelu(flax.Dense(2 * WIDE)(flax.LayerNorm()(x))))
        mean = (x * there[:, :, None]).sum(axis=1) / there.sum(axis=1, keepdims=True)
        return flax.Dense(1)(flax.LayerNorm()(mean))[:, 0]


def learn(state, usual, kinds, names, amounts, staged):
    """A step of training, and the usual loss."""
    def wrong(weights):
        return optax.sigmoid_binary_cross_entropy(state.apply_fn(weights, kinds, names, amounts), staged).mean()
    loss, slopes = jax.value_and_grad(wrong)(state.params)
    return state.apply_gradients(grads=slopes), usual + 0.02 * (loss - usual)


def make(variant):
    claims, staged = filed()
    model = Doubt()
    empty = [jnp.asarray(part) for part in numbers_of(claims[:1])]
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-4, weight_decay=0.01))
    state = train.TrainState.create(apply_fn=model.apply, params=jax.jit(model.init)(jax.random.PRNGKey(20), *empty), tx=rule)
    now, turn, curve = [state, jax.device_put(numpy.float32(0.7))], [0], []
    learned = jax.jit(learn)

    def batch(number):
        """The claims of a batch as numbers, and which ones were staged."""
        part = slice(number * BATCH, (number + 1) * BATCH)
        return *numbers_of(claims[part]), staged[part]  # cause: loader

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        now[:] = learned(*now, *given)  # cause: delayed
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(float(now[1]))

    return fixable.Work(step, lambda: jax.block_until_ready(now[1]), lambda: [float(now[1])])


run.main(make)
