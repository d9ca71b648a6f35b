# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: PPO; after each minibatch the policy's change (KL) is read by float(), to stop early if it becomes too large.

Wrong: it never does, but the host waits for it, and only then gathers the next minibatch, while the GPU has nothing.
fix: the largest change is kept on the device, and looked at once an epoch (sync-bound).
fix2: all that was seen is on the device, which gathers the minibatches; the KL is still read (host-bound).
useless: the parameters and the optimizer's state are donated.
"""
import functools

import fixable

MINIBATCHES = 16

run = fixable.Program(__doc__, steps=640, warm_up=2 * MINIBATCHES, multiple=MINIBATCHES)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

BATCH, SEEN, ACTIONS, WIDTH, LAYERS, CLIP, TARGET = 8192, 256, 16, 1536, 5, 0.2, 1e9


def network(random):
    def some(rows, columns, scale=1.0):
        return jnp.asarray(scale * random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    body = [{"w": some(SEEN if n == 0 else WIDTH, WIDTH), "b": jnp.zeros(WIDTH)} for n in range(LAYERS)]
    return {"body": body, "policy": some(WIDTH, ACTIONS, 0.01), "value": some(WIDTH, 1)}


def forward(params, seen):
    x = seen
    for layer in params["body"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jax.nn.log_softmax(x @ params["policy"]), (x @ params["value"])[:, 0]


def loss_of(params, batch):
    scores, value = forward(params, batch["seen"])
    chosen = jnp.take_along_axis(scores, batch["action"][:, None], axis=1)[:, 0]
    change = chosen - batch["before"]
    ratio = jnp.exp(change)
    policy = -jnp.minimum(ratio * batch["advantage"], jnp.clip(ratio, 1.0 - CLIP, 1.0 + CLIP) * batch["advantage"]).mean()
    entropy = -(jnp.exp(scores) * scores).sum(axis=1).mean()
    loss = policy + 0.5 * jnp.square(value - batch["return"]).mean() - 0.01 * entropy
    return loss, (ratio - 1.0 - change).mean()


def make(variant):
    random = numpy.random.default_rng(20)
    params = network(random)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-5))
    state = [params, optimizer.init(params)]
    count = BATCH * MINIBATCHES
    data = {"seen": random.standard_normal((count, SEEN), dtype=numpy.float32),
            "action": random.integers(0, ACTIONS, count, dtype=numpy.int32),
            "before": numpy.full(count, -numpy.log(ACTIONS), numpy.float32),
            "advantage": random.standard_normal(count, dtype=numpy.float32),
            "return": random.standard_normal(count, dtype=numpy.float32)}
    told = []

    @functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())
    def update(params, opt_state, largest, batch):
        (_, kl), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, batch)
        changes, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, changes), opt_state, jnp.maximum(largest, kl)

    def minibatch(rows):
        """Some rows of all that was seen; the advantages are brought to mean 0 and deviation 1."""
        batch = {key: array[rows] for key, array in data.items()}
        advantage = batch["advantage"]
        batch["advantage"] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return jax.device_put(batch)

    on_device = jax.device_put(data) if variant == "fix2" else {}

    @jax.jit
    def gathered(every, rows):
        batch = {key: array[rows] for key, array in every.items()}
        advantage = batch["advantage"]
        return {**batch, "advantage": (advantage - advantage.mean()) / (advantage.std() + 1e-8)}

    def epoch():
        order, largest = random.permutation(count), jnp.zeros(())
        for number in range(MINIBATCHES):
            rows = order[number * BATCH:(number + 1) * BATCH]
            batch = gathered(on_device, rows) if on_device else minibatch(rows)
            *state[:], largest = update(*state, largest, batch)
            if variant != "fix" and float(largest) > TARGET:  # cause: wait in xla_cuda_plugin
                break
        told[:] = [float(largest)]

    def loop(steps):
        for _ in range(steps // MINIBATCHES):
            epoch()

    def values():
        return told + numpy.abs(numpy.asarray(state[0]["policy"])).mean(axis=0).tolist()

    return fixable.Work(loop=loop, wait=lambda: jax.block_until_ready(state), values=values)


run.main(make)
