# SPDX-License-Identifier: Apache-2.0
"""JAX: a network learns to read bursts of a radio (QPSK) that have gone through a channel with echoes; NumPy plays transmitter,
channel and noise on the host, anew for each batch, and the loss is printed, so to speak, behind each step.

Wrong: the GPU waits for bursts in nearly all of a step; to learn from them takes it a small part of the time.
fix: twenty-four batches of bursts are made before the loop, and used in turns; the loss is still waited for (host-bound).
fix2: the losses are kept as arrays, and read every 24 steps; the bursts are still made in the loop (sync-bound).
useless: the weights and their momentum are donated.
"""
import functools

import fixable

TOGETHER = 24

run = fixable.Program(__doc__, steps=240, warm_up=TOGETHER, multiple=TOGETHER)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BATCH, SYMBOLS, KNOWN, ECHOES, WIDTH, LAYERS, RATE, FRICTION = 1024, 256, 32, 8, 2048, 6, 0.2, 0.9


def bursts(number):
    """What comes out of the channel, as real and imaginary parts, and the bits that went in."""
    random = numpy.random.default_rng(number % TOGETHER)
    bits = random.integers(0, 2, (2, BATCH, SYMBOLS), dtype=numpy.int8)  # cause: loader
    bits[:, :, :KNOWN] = numpy.arange(KNOWN) % 2  # what the receiver knows
    sent = numpy.sqrt(0.5) * ((1 - 2 * bits[0]) + 1j * (1 - 2 * bits[1]))  # cause: loader
    strength = numpy.exp(-0.7 * numpy.arange(ECHOES))
    taps = strength * (random.standard_normal((BATCH, ECHOES)) + 1j * random.standard_normal((BATCH, ECHOES)))  # cause: loader
    heard = numpy.fft.ifft(numpy.fft.fft(sent, axis=1) * numpy.fft.fft(taps, n=SYMBOLS, axis=1), axis=1)  # cause: loader
    noise = random.standard_normal((2, BATCH, SYMBOLS), dtype=numpy.float32)  # cause: loader
    parts = [part + 0.05 * n for part, n in zip((heard.real, heard.imag), noise)]  # cause: loader
    heard = numpy.concatenate(parts, axis=1).astype(numpy.float32)  # cause: loader
    heard /= numpy.sqrt(numpy.square(heard).mean(axis=1, keepdims=True))  # cause: loader
    return heard, numpy.concatenate(list(bits), axis=1)  # cause: loader


def start():
    random = numpy.random.default_rng(20)

    def layer(inputs, outputs, size):
        weight = (size / numpy.sqrt(inputs)) * random.standard_normal((inputs, outputs), dtype=numpy.float32)
        return {"weight": jnp.asarray(weight), "bias": jnp.zeros(outputs)}

    return {"in": layer(2 * SYMBOLS, WIDTH, 1.0), "hidden": [layer(WIDTH, WIDTH, 0.5) for _ in range(LAYERS)],
            "out": layer(WIDTH, 2 * SYMBOLS, 0.1)}


def loss_of(weights, heard, bits):
    x = heard @ weights["in"]["weight"] + weights["in"]["bias"]
    for layer in weights["hidden"]:
        x = x + jax.nn.relu(x @ layer["weight"] + layer["bias"])
        x = x * jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6)
    scores = x @ weights["out"]["weight"] + weights["out"]["bias"]
    return jnp.mean(jax.nn.softplus(scores) - scores * bits)


def make(variant):
    weights = start()
    state = [weights, jax.tree.map(jnp.zeros_like, weights)]
    made = [bursts(number) for number in range(TOGETHER)] if variant == "fix" else None
    turn, pending, mean = [0], [], [0.7]

    @functools.partial(jax.jit, donate_argnums=(0, 1) if variant == "useless" else ())
    def learn(weights, speed, heard, bits):
        loss, slope = jax.value_and_grad(loss_of)(weights, heard, bits.astype(jnp.float32))
        speed = jax.tree.map(lambda s, g: FRICTION * s + g, speed, slope)
        return jax.tree.map(lambda w, s: w - RATE * s, weights, speed), speed, loss

    def log(loss):
        mean[0] += 0.05 * (float(loss) - mean[0])

    def step():
        heard, bits = made[turn[0] % TOGETHER] if made else bursts(turn[0])  # cause: loader
        turn[0] += 1
        *state[:], loss = learn(*state, heard, bits)  # cause: delayed
        if variant != "fix2":
            log(loss)
            return
        pending.append(loss)
        if len(pending) == TOGETHER:
            for number in jax.device_get(pending):
                log(number)
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(mean))


run.main(make)
