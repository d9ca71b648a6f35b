# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: a foundry listens to eight bells that it has cast, each struck once. The sound of a bell is a sum of 256 tones
that die away, some faster, some slower, and Adam finds pitch, decay and strength of each so that the sum becomes what was heard,
in its waves and in its spectra. From that it is told where bronze must be turned off the bells.

Wrong: nothing: a step is one call, in which 134 million values of tones are computed and gone back through; the losses are read
every ten steps (gpu-bound).
fix: ten steps are one call, by lax.scan (launch-bound, or host-bound, for what Python does; but that gains little).
fix2: the losses are read ten steps later, when they are there (sync-bound).
useless: the tones and Adam's moments are donated.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

BELLS, TONES, SAMPLES, BLOCK, RATE, SPECTRA = 8, 256, 65536, 1024, 44100.0, 0.05


def sound(pitches, decays, cosines, sines, time):
    """The sum of tones, from what each bell's tones are, each (BELLS, TONES): (BELLS, SAMPLES)."""
    turns = pitches[:, :, None] * time
    angle = (2.0 * numpy.pi) * (turns - jnp.floor(turns))
    wave = cosines[:, :, None] * jnp.cos(angle) + sines[:, :, None] * jnp.sin(angle)
    return (jnp.exp(-decays[:, :, None] * time) * wave).sum(axis=1)


def cast(random):
    """Tones of the bells as they are, each (BELLS, TONES): Hz, per second, strengths."""
    low = random.uniform(180.0, 320.0, (BELLS, 1))
    pitches = low * (1.0 + 0.09 * numpy.arange(TONES) + random.uniform(0.0, 0.05, (BELLS, TONES)))
    decays = 0.8 + pitches / 1500.0 * random.uniform(0.7, 1.3, (BELLS, TONES))
    strengths = random.standard_normal((2, BELLS, TONES)) / (1.0 + pitches / 2000.0)
    return [array.astype(numpy.float32) for array in (pitches, decays, *strengths)]


def spectra(waves):
    """How strong each frequency is in each block."""
    found = jnp.fft.rfft(waves.reshape(BELLS, SAMPLES // BLOCK, BLOCK), axis=2)
    return jnp.sqrt(jnp.square(found.real) + jnp.square(found.imag) + 1e-3)


def make(variant):
    random = numpy.random.default_rng(20)
    time = jax.device_put((numpy.arange(SAMPLES) / RATE).astype(numpy.float32))
    pitches, decays, cosines, sines = cast(random)
    noise = random.standard_normal((BELLS, SAMPLES)).astype(numpy.float32)
    heard = jax.jit(sound)(pitches, decays, cosines, sines, time) + 0.05 * noise
    strong = jnp.square(heard).mean()
    heard_spectra = spectra(heard)
    near = jax.device_put((pitches + random.normal(0.0, 0.05, pitches.shape)).astype(numpy.float32))
    tones = {"higher": jnp.zeros((BELLS, TONES)), "decay": jnp.log(decays * numpy.float32(1.2)),
             "cosine": 0.7 * jnp.asarray(cosines), "sine": 0.7 * jnp.asarray(sines)}
    adam = optax.adam(1e-3)
    state, pending, behind, usual = [tones, adam.init(tones)], [], [], [0.0]

    def misfit(tones):
        made = sound(near + tones["higher"], jnp.exp(tones["decay"]), tones["cosine"], tones["sine"], time)
        waves = jnp.square(made - heard).mean() / strong
        return waves + SPECTRA * jnp.abs(jnp.log(spectra(made)) - jnp.log(heard_spectra)).mean()

    def improve(tones, moments):
        loss, slope = jax.value_and_grad(misfit)(tones)
        changes, moments = adam.update(slope, moments, tones)
        return optax.apply_updates(tones, changes), moments, loss

    better = jax.jit(improve, donate_argnums=(0, 1) if variant == "useless" else ())
    better_ten = fixable.scanned(jax, improve, LOOK_EVERY)

    def loop(steps):
        for _ in range(steps // LOOK_EVERY):
            *state[:], loss = better_ten(*state)
            usual[0] += 0.1 * (float(loss) - usual[0])

    def step():
        *state[:], loss = better(*state)
        pending.append(loss)
        if len(pending) == LOOK_EVERY:
            losses, behind[:] = (behind[:], pending[:]) if variant == "fix2" else (pending[:], [])
            if losses:
                usual[0] += 0.1 * (sum(float(one) for one in jax.device_get(losses)) / LOOK_EVERY - usual[0])
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(usual),
                        loop if variant == "fix" else None)


run.main(make)
