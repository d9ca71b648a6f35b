# SPDX-License-Identifier: Apache-2.0
"""JAX: a recurrent network writes melodies note by note; the step is under jax.jit, and Python calls it for each note.

Wrong: the key is split and the step dispatched by Python for each note, in many times what the kernels run.
fix: the melody is one lax.scan under one jax.jit (launch-bound, host-bound).
useless: the state is donated.
"""
import functools

import fixable

LENGTH = 64

run = fixable.Program(__doc__, steps=6400, warm_up=LENGTH, multiple=LENGTH)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BATCH, WIDTH, NOTES, LAYERS = 8, 192, 128, 2


def network(random):
    def some(*shape):
        return jnp.asarray(random.standard_normal(shape, dtype=numpy.float32) / numpy.float32(shape[0] ** 0.5))

    cells = [{"gates": {"x": some(WIDTH, 2 * WIDTH), "h": some(WIDTH, 2 * WIDTH), "b": jnp.zeros(2 * WIDTH)},
              "new": {"x": some(WIDTH, WIDTH), "h": some(WIDTH, WIDTH), "b": jnp.zeros(WIDTH)}} for _ in range(LAYERS)]
    return {"embed": some(NOTES, WIDTH) * 4.0, "cells": cells, "head": some(WIDTH, NOTES)}


def one_note(params, state, key):
    x, after = params["embed"][state["note"]], []
    for cell, h in zip(params["cells"], state["hidden"]):
        update, reset = jnp.split(jax.nn.sigmoid(
            x @ cell["gates"]["x"] + h @ cell["gates"]["h"] + cell["gates"]["b"]), 2, axis=-1)
        new = jnp.tanh(x @ cell["new"]["x"] + (reset * h) @ cell["new"]["h"] + cell["new"]["b"])
        x = (1.0 - update) * h + update * new
        after.append(x)
    note = jax.random.categorical(key, 2.0 * (x @ params["head"]))
    written = state["written"].at[:, state["at"]].set(note)
    return {"note": note, "hidden": after, "written": written, "at": state["at"] + 1}


def make(variant):
    params = network(numpy.random.default_rng(20))
    jit = functools.partial(jax.jit, donate_argnums=(1,)) if variant == "useless" else jax.jit
    next_note, melodies, turn = jit(one_note), [], [0]

    def begin():
        return {"note": jnp.zeros(BATCH, jnp.int32), "hidden": [jnp.zeros((BATCH, WIDTH)) for _ in range(LAYERS)],
                "written": jnp.zeros((BATCH, LENGTH), jnp.int32), "at": jnp.zeros((), jnp.int32)}

    @jax.jit
    def whole(params, state, key):
        def body(carry, _):
            state, key = carry
            key, mine = jax.random.split(key)
            return (one_note(params, state, mine), key), None
        (state, _), _ = jax.lax.scan(body, (state, key), None, length=LENGTH)
        return state

    def loop(steps):
        for _ in range(steps // LENGTH):
            key, state = jax.random.PRNGKey(turn[0] % 8), begin()
            turn[0] += 1
            if variant == "fix":
                state = whole(params, state, key)
            else:
                for _ in range(LENGTH):
                    key, mine = jax.random.split(key)  # cause: launch in xla_cuda_plugin
                    state = next_note(params, state, mine)  # cause: launch in xla_cuda_plugin
            melodies[:] = [numpy.asarray(state["written"])]

    return fixable.Work(loop=loop, values=lambda: melodies[0].reshape(-1).tolist())


run.main(make)
