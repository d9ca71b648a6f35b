# SPDX-License-Identifier: Apache-2.0
"""JAX: a jitted step that writes one row into a large state, which is not donated.

Wrong: XLA copies the whole state at each step, since the caller might still need the old one; the GPU is busy with that.
fix: donate_argnums: the row is written in place (copy-bound; or gpu-bound, since the copies are the GPU's work).
useless: the rows lie on the device before the loop.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=4000, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

ROWS, WIDTH = 65536, 4096  # 1 GiB


def make(variant):
    random = numpy.random.default_rng(20)
    jit = functools.partial(jax.jit, donate_argnums=(0,)) if variant == "fix" else jax.jit
    rows = [random.standard_normal((1, WIDTH), dtype=numpy.float32) for _ in range(8)]
    if variant == "useless":
        rows = [jax.device_put(r) for r in rows]

    @jit
    def remember(memory, row, at):
        before = jax.lax.dynamic_slice(memory, (at, 0), (1, WIDTH))
        return jax.lax.dynamic_update_slice(memory, 0.5 * before + row, (at, 0))

    state, turn = [jnp.zeros((ROWS, WIDTH), jnp.float32)], [0]

    def step():
        state[0] = remember(state[0], rows[turn[0] % 8], turn[0] % ROWS)  # cause: copy in xla_cuda_plugin
        turn[0] += 1
        if turn[0] % 16 == 0:
            state[0].block_until_ready()  # not too many states at a time

    return fixable.Work(step, lambda: state[0].block_until_ready(), lambda: numpy.asarray(state[0][:64, 0]).tolist())


run.main(make)
