# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: a forecast of many series; each batch's windows are cut, brought to one scale and filled up in a Python loop.

Wrong: a window after the other costs the host many times what the GPU needs to learn from them, and the GPU waits.
fix: NumPy cuts and scales all windows of a batch at once (host-bound).
useless: the parameters are donated.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=20, multiple=20)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

SERIES, TIMES, PAST, FUTURE, BATCH, WIDTH, BLOCKS, LOOK_EVERY = 300, 4000, 168, 24, 96, 512, 4, 20


def readings(random):
    """Each series has its day, its week and its level; one in a hundred readings is missing."""
    time = numpy.arange(TIMES)
    level, day, week = (random.uniform(0.5, 2.0, (SERIES, 1)) for _ in range(3))
    daily, weekly = (numpy.sin(time * (2.0 * numpy.pi / hours)) for hours in (24.0, 168.0))
    found = 20.0 * level + 5.0 * day * daily + 3.0 * week * weekly
    found += random.standard_normal((SERIES, TIMES))
    found[random.random((SERIES, TIMES)) < 0.01] = numpy.nan
    return found.astype(numpy.float32)


def network(random):
    def some(rows, columns):
        return jnp.asarray(random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    return {"first": some(PAST + 2, WIDTH), "blocks": [(some(WIDTH, 2 * WIDTH), some(2 * WIDTH, WIDTH)) for _ in range(BLOCKS)],
            "last": some(WIDTH, FUTURE)}


def loss_of(params, past, future):
    x = past @ params["first"]
    for up, down in params["blocks"]:
        x = x + 0.5 * (jax.nn.gelu(x @ up) @ down)
    return jnp.abs(x @ params["last"] - future).mean()


def make(variant):
    random = numpy.random.default_rng(20)
    series = readings(random)
    params = network(random)
    optimizer = optax.adam(3e-4)
    state, turn, losses = [params, optimizer.init(params)], [0], []

    @functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())
    def train(params, opt_state, past, future):
        loss, gradients = jax.value_and_grad(loss_of)(params, past, future)
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state, loss

    def one_window(which, start):
        window = series[which, start:start + PAST + FUTURE]
        past = window[:PAST]
        middle, width = numpy.nanmean(past), numpy.nanstd(past) + 1e-3
        scaled = numpy.nan_to_num((window - middle) / width)
        hour = (start + PAST) % 24 * (2.0 * numpy.pi / 24.0)
        return numpy.concatenate([scaled[:PAST], [numpy.sin(hour), numpy.cos(hour)]]), scaled[PAST:]

    def in_turn(which, starts):
        windows = [one_window(w, s) for w, s in zip(which, starts)]  # cause: loader
        return tuple(numpy.stack(part).astype(numpy.float32) for part in zip(*windows))  # cause: loader

    def at_once(which, starts):
        window = series[which[:, None], starts[:, None] + numpy.arange(PAST + FUTURE)]
        there = ~numpy.isnan(window[:, :PAST])
        count = there.sum(axis=1, keepdims=True)
        past = numpy.where(there, window[:, :PAST], 0.0)
        middle = past.sum(axis=1, keepdims=True) / count
        square = numpy.square((past - middle) * there).sum(axis=1, keepdims=True)
        scaled = numpy.nan_to_num((window - middle) / (numpy.sqrt(square / count) + 1e-3))
        hour = (starts[:, None] + PAST) % 24 * (2.0 * numpy.pi / 24.0)
        past = numpy.concatenate([scaled[:, :PAST], numpy.sin(hour), numpy.cos(hour)], axis=1)
        return past.astype(numpy.float32), scaled[:, PAST:].astype(numpy.float32)

    batch_of = at_once if variant == "fix" else in_turn

    def loop(steps):
        for _ in range(steps):
            turn[0] += 1
            which, starts = random.integers(0, SERIES, BATCH), random.integers(0, TIMES - PAST - FUTURE, BATCH)
            past, future = batch_of(which, starts)  # cause: loader
            *state[:], loss = train(*state, past, future)  # cause: delayed
            if turn[0] % LOOK_EVERY == 0:
                losses[:] = [float(loss)]

    return fixable.Work(loop=loop, wait=lambda: jax.block_until_ready(state), values=lambda: list(losses))


run.main(make)
