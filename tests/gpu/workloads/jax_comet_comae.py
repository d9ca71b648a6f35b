# SPDX-License-Identifier: Apache-2.0
"""JAX: the pictures of a comet that a telescope takes night by night are blurred by the air; jets of gas near its core are seen
once that is undone. The method of Richardson and Lucy makes a sky that, blurred, is like the pictures. Each night's picture
of 2048 by 2048 points makes the sky better by up to 16 rounds, until it fits as well as the noise lets it.

Wrong: behind each round the host reads how well the sky fits, to stop in time, and the GPU has nothing to do until the host has
called the next round (sync-bound).
fix: all 16 rounds are called, and what was noted on the device is read later, as it is anyway (sync-bound).
useless: the sky and the notes are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, NIGHTS, ROUNDS, READ, JETS = 2048, 4, 16, 10, 6
SEEING, GROUND, FITS, LEAST = 3.0, 40.0, 0.5, 1e-3  # blur in points, light of the night's sky, a fit that is good enough


def blurring():
    """What the air leaves of each frequency, (SIZE, SIZE / 2 + 1)."""
    often = numpy.fft.fftfreq(SIZE)[:, None] ** 2 + numpy.fft.rfftfreq(SIZE) ** 2
    return numpy.exp(-2.0 * numpy.pi ** 2 * SEEING ** 2 * often).astype(numpy.float32)


def comet():
    """A coma with some jets, and stars, in counts."""
    random = numpy.random.default_rng(20)
    down, right = numpy.indices((SIZE, SIZE), dtype=numpy.float32) - SIZE / 2.0
    away, way = numpy.hypot(down, right) + 2.0, numpy.arctan2(down, right)
    jets = sum(numpy.exp(12.0 * (numpy.cos(way - a) - 1.0)) for a in random.uniform(0.0, 6.28, JETS))
    sky = GROUND + 4000.0 * (1.0 + jets) / away
    sky[random.integers(0, SIZE, 400), random.integers(0, SIZE, 400)] += random.exponential(20000.0, 400)
    return sky


def pictures(spread):
    """What the telescope sees in each night, with the noise of counted light."""
    random = numpy.random.default_rng(21)
    blurred = numpy.fft.irfft2(numpy.fft.rfft2(comet()) * spread, s=(SIZE, SIZE)).astype(numpy.float32)
    blurred = numpy.maximum(blurred, 1.0)
    for _ in range(NIGHTS):
        noise = random.standard_normal((SIZE, SIZE), dtype=numpy.float32)
        yield numpy.maximum(blurred + numpy.sqrt(blurred) * noise, 1.0).astype(numpy.float32)


def sharpened(sky, notes, seen, spread):
    """A round: the sky made better, the notes of the last rounds, and how well the sky had fitted."""
    blurred = jnp.fft.irfft2(jnp.fft.rfft2(sky) * spread, s=(SIZE, SIZE))
    blurred = jnp.maximum(blurred, LEAST)
    misfit = jnp.mean(jnp.square(seen - blurred) / blurred)
    more = jnp.fft.irfft2(jnp.fft.rfft2(seen / blurred) * spread, s=(SIZE, SIZE))
    notes = jnp.concatenate((notes[1:], misfit[None]))
    return jnp.maximum(sky * more, LEAST), notes, misfit


def make(variant):
    spread = blurring()
    nights = [jax.device_put(seen) for seen in pictures(spread)]
    spread = jax.device_put(spread)
    sky = jax.device_put(numpy.full((SIZE, SIZE), 2.0 * GROUND, dtype=numpy.float32))
    notes = jax.device_put(numpy.zeros(ROUNDS, dtype=numpy.float32))
    state, turn, usual = [sky, notes], [0], [0.0, 0.0]
    better = jax.jit(sharpened, donate_argnums=(0, 1) if variant == "useless" else ())
    del sky, notes

    def until_it_fits(seen):
        for _ in range(ROUNDS):
            state[0], state[1], misfit = better(state[0], state[1], seen, spread)
            if float(misfit) < FITS:  # cause: wait,copy
                break

    def all_rounds(seen):
        for _ in range(ROUNDS):
            state[0], state[1], _ = better(state[0], state[1], seen, spread)

    night = all_rounds if variant == "fix" else until_it_fits

    def step():
        night(nights[turn[0] % NIGHTS])  # cause: wait,copy
        turn[0] += 1
        if turn[0] % READ == 0:
            noted = numpy.asarray(state[1])
            usual[0] += 0.2 * (float(noted[0]) - usual[0])
            usual[1] += 0.2 * (float(noted.mean()) - usual[1])

    def wait():
        jax.block_until_ready(state)

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
