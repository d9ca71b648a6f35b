# SPDX-License-Identifier: Apache-2.0
"""JAX, Flax, Optax: people with Parkinson's disease wear a sensor at the ankle, and a hospital wants to see when their steps
freeze. Windows of six seconds are put right for a network: gravity is taken off, three axes come from the sensor's rate to 64 Hz,
and how strong the trembling is against the walking is added, from a spectrum. A network of convolutions learns from 224 windows
at a time.

Wrong: NumPy puts the windows right anew in each epoch, by the thread that calls the GPU, and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
useless: the state of the training is donated to each step.
"""
import fixable

run = fixable.Program(__doc__, steps=320, warm_up=20)
jax, jnp, numpy, flax, train, optax = fixable.load_jax("jax.numpy", "numpy", "flax.linen", "flax.training.train_state", "optax")

BATCHES, BATCH, RAW, LENGTH, AXES, KINDS, SCALE, SHOWN = 20, 224, 600, 384, 3, 3, 1.0 / 4096.0, 25


def worn():
    """What sensors have written, 16 bits a number, (windows, axes, RAW), and what a doctor has seen: walk, freeze, rest."""
    luck = numpy.random.default_rng(20)
    many = BATCHES * BATCH
    seen = luck.integers(0, KINDS, many)
    time = numpy.arange(RAW) / 100.0
    pace = numpy.where(seen == 0, luck.uniform(0.8, 1.4, many), luck.uniform(4.0, 7.0, many))
    strong = numpy.where(seen == 2, 0.02, numpy.where(seen == 1, 0.2, 0.6))
    swing = strong[:, None] * numpy.sin(2.0 * numpy.pi * (pace[:, None] * time + luck.uniform(0.0, 1.0, (many, 1))))
    turned = luck.standard_normal((many, AXES, 1))
    turned /= numpy.linalg.norm(turned, axis=1, keepdims=True)
    moved = turned * (1.0 + swing[:, None]) + 0.03 * luck.standard_normal((many, AXES, RAW))
    return (moved / SCALE).clip(-32767.0, 32767.0).astype(numpy.int16), seen.astype(numpy.int32)


def put_right(windows):
    """(windows, LENGTH, AXES) in g, and how strong the trembling of each window is."""
    moved = windows.astype(numpy.float32) * numpy.float32(SCALE)  # cause: loader
    moved -= moved.mean(axis=2, keepdims=True)  # cause: loader
    then, now = numpy.arange(RAW, dtype=numpy.float64), numpy.linspace(0.0, RAW - 1.0, LENGTH)
    made = numpy.empty((len(windows), LENGTH, AXES), dtype=numpy.float32)
    for number, window in enumerate(moved):
        for axis in range(AXES):
            made[number, :, axis] = numpy.interp(now, then, window[axis])  # cause: loader
    long = numpy.sqrt((made * made).sum(axis=2))  # cause: loader
    power = numpy.abs(numpy.fft.rfft(long, axis=1)) ** 2  # cause: loader
    trembling = power[:, 18:48].sum(axis=1) / (power[:, 3:18].sum(axis=1) + 1e-3)  # cause: loader
    return made, numpy.log1p(trembling).astype(numpy.float32)  # cause: loader


class Watcher(flax.Module):
    """Convolutions along the time, each half as long as the one before."""

    @flax.compact
    def __call__(self, made, trembling):
        x = made
        for wide in (64, 128, 128, 256):
            x = flax.relu(flax.Conv(wide, (5,), strides=(2,))(x))
        x = jnp.concatenate((x.mean(axis=1), trembling[:, None]), axis=1)
        return flax.Dense(KINDS)(flax.relu(flax.Dense(128)(x)))


def learn(state, usual, made, trembling, seen):
    """A step of training, and the usual loss."""
    def wrong(weights):
        told = state.apply_fn(weights, made, trembling)
        return optax.softmax_cross_entropy_with_integer_labels(told, seen).mean()
    loss, slopes = jax.value_and_grad(wrong)(state.params)
    return state.apply_gradients(grads=slopes), usual + 0.02 * (loss - usual)


def make(variant):
    written, seen = worn()
    model = Watcher()
    empty = jnp.zeros((1, LENGTH, AXES)), jnp.zeros(1)
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-4, weight_decay=0.01))
    state = train.TrainState.create(apply_fn=model.apply, params=jax.jit(model.init)(jax.random.PRNGKey(20), *empty), tx=rule)
    now, turn, curve = [state, jax.device_put(numpy.float32(1.0))], [0], []
    learned = jax.jit(learn, donate_argnums=(0,) if variant == "useless" else ())

    def batch(number):
        """The windows of a batch, put right, and what was seen in them."""
        part = slice(number * BATCH, (number + 1) * BATCH)
        return *put_right(written[part]), seen[part]  # cause: loader

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        now[:] = learned(*now, *given)  # cause: delayed
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(float(now[1]))

    return fixable.Work(step, lambda: jax.block_until_ready(now[1]), lambda: [float(now[1])])


run.main(make)
