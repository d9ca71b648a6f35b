# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: a network tells from the articles that someone has looked at in a shop whether something will be bought; the
code comes from a TPU, where articles are looked up by a product with rows of which one number is 1.

Wrong: that product, and the one for its gradients, are as large as half of all other work of the GPU or more; it is at work
throughout (gpu-bound).
fix: the rows of the table are taken by their numbers (gpu-bound).
useless: the loss is read every 100 steps instead of every 20.
"""
import fixable

SETS = 10

run = fixable.Program(__doc__, steps=300, warm_up=2 * SETS, multiple=SETS)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

VISITS, LOOKS, ARTICLES, WIDTH, LAYERS = 128, 100, 30000, 512, 3


def network(random):
    def some(rows, columns, scale=1.0):
        return jnp.asarray(scale * random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    layers = [{"gate": some(WIDTH, WIDTH), "up": some(2 * WIDTH, 4 * WIDTH), "down": some(4 * WIDTH, WIDTH, 0.5)}
              for _ in range(LAYERS)]
    return {"articles": some(ARTICLES, WIDTH, 100.0), "layers": layers, "last": some(WIDTH, 1, 0.1)}


def normal(x):
    return x / jnp.sqrt(jnp.square(x).mean(axis=-1, keepdims=True) + 1e-5)


def make(variant):
    random = numpy.random.default_rng(20)
    params = network(random)
    optimizer = optax.adam(1e-5)
    state = [params, optimizer.init(params)]
    looked = (random.zipf(1.2, (SETS, VISITS, LOOKS)) % ARTICLES).astype(numpy.int32)
    bought = (looked % 7 == 3).mean(axis=2) > 0.14
    batches = [jax.device_put((looks, buys.astype(numpy.float32))) for looks, buys in zip(looked, bought)]
    look_every = 100 if variant == "useless" else 20
    turn, last, seen = [0], [], []

    def vectors(table, articles):
        if variant == "fix":
            return table[articles]
        return jax.nn.one_hot(articles, ARTICLES, dtype=table.dtype) @ table

    def loss_of(params, articles, bought):
        x = vectors(params["articles"], articles)
        so_far = jnp.arange(1, LOOKS + 1, dtype=x.dtype)[:, None]
        for layer in params["layers"]:
            y = normal(x)
            before = jnp.cumsum(y * jax.nn.sigmoid(y @ layer["gate"]), axis=1) / so_far  # what was looked at until then
            x = x + jax.nn.gelu(jnp.concatenate([y, before], axis=-1) @ layer["up"]) @ layer["down"]
        scores = (normal(x).mean(axis=1) @ params["last"])[:, 0]
        return optax.sigmoid_binary_cross_entropy(scores, bought).mean()

    @jax.jit
    def train(params, opt_state, articles, bought):
        loss, gradients = jax.value_and_grad(loss_of)(params, articles, bought)
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state, loss

    def step():
        articles, bought = batches[turn[0] % SETS]
        turn[0] += 1
        *state[:], loss = train(*state, articles, bought)
        last[:] = [loss]
        if turn[0] % look_every == 0:
            seen[:] = [float(loss)]

    def values():
        return [float(last[0])] + numpy.asarray(jnp.abs(state[0]["layers"][0]["gate"]).mean(axis=0)).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(state), values)


run.main(make)
