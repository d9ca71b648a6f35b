# SPDX-License-Identifier: Apache-2.0
"""JAX: which land could be seen from each hill fort of the Iron Age: from a fort one looks in 4096 directions, and along each of
them goes out over a map of heights, up to 1024 points far; what is higher than all before it, as the eye sees it, is seen. The
views are kept on the host, where archaeologists lay them over maps of fields, graves and ways.

Wrong: a view comes to the host as 4.2 million numbers of 32 bits, each of which is zero or one, and the GPU has nothing to do
until they are there; that takes much longer than to compute them.
fix: eight points of a view are packed into a byte before (copy-bound).
fix2: a view comes while the next one is computed (copy-bound).
useless: the sum of all views, which stays on the GPU, is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
jax, jnp, numpy, ndimage = fixable.load_jax("jax.numpy", "numpy", "jax.scipy.ndimage")

SIZE, WAYS, FAR, FORTS, KEPT, EYE, STEP, EARTH = 4096, 4096, 1024, 48, 12, 6.0, 10.0, 7.4e6  # metres; EARTH with refraction


def land(random):
    """Heights of the ground in metres, every ten metres."""
    waves = random.standard_normal((SIZE, SIZE // 2 + 1)) + 1j * random.standard_normal((SIZE, SIZE // 2 + 1))
    often = numpy.hypot(numpy.fft.fftfreq(SIZE)[:, None], numpy.fft.rfftfreq(SIZE)) * SIZE
    ground = numpy.fft.irfft2(waves / (4.0 + often) ** 2.2, s=(SIZE, SIZE))
    return (90.0 * (ground - ground.mean()) / ground.std()).astype(numpy.float32)


def hill_tops(random, ground):
    """The highest places of squares of the map that are far enough from its edge."""
    tops = []
    for _ in range(FORTS):
        down, right = random.integers(FAR, SIZE - FAR - 64, 2)
        top = ground[down:down + 64, right:right + 64].argmax()
        tops.append((down + top // 64, right + top % 64))
    return numpy.array(tops, dtype=numpy.float32)


def view(ground, forts, number):
    """For each direction and distance whether it is seen."""
    down, right = forts[number]
    way = (jnp.arange(WAYS) * (2.0 * jnp.pi / WAYS))[:, None]
    away = jnp.arange(1, FAR + 1, dtype=jnp.float32)
    where = [down + jnp.cos(way) * away, right + jnp.sin(way) * away]
    height = ndimage.map_coordinates(ground, where, order=1, mode="nearest")
    eye = ground[down.astype(jnp.int32), right.astype(jnp.int32)] + EYE
    metres = STEP * away
    steep = (height - eye - metres * metres / (2.0 * EARTH)) / metres
    highest = jax.lax.associative_scan(jnp.maximum, steep, axis=1)
    before = jnp.concatenate((jnp.full((WAYS, 1), -jnp.inf, dtype=jnp.float32), highest[:, :-1]), axis=1)
    return steep >= before


def make(variant):
    random = numpy.random.default_rng(20)
    ground = land(random)
    forts = jax.device_put(hill_tops(random, ground))
    ground = jax.device_put(ground)
    total = [jnp.zeros((WAYS, FAR), dtype=jnp.float32)]
    turn, pending, kept = [0], [], [None] * KEPT

    def seen_and_sum(ground, forts, number, total):
        seen = view(ground, forts, number)
        total = 0.99 * total + seen
        return jnp.packbits(seen, axis=1) if variant == "fix" else seen.astype(jnp.float32), total

    look = jax.jit(seen_and_sum, donate_argnums=(3,) if variant == "useless" else ())

    def keep(seen, number):
        kept[number % KEPT] = numpy.asarray(seen)  # cause: copy,wait

    def step():
        number = turn[0] % FORTS
        turn[0] += 1
        seen, total[0] = look(ground, forts, numpy.int32(number), total[0])
        if variant == "fix2":
            seen.copy_to_host_async()
            pending.append((seen, number))
            if len(pending) > 1:
                keep(*pending.pop(0))
        else:
            keep(seen, number)  # cause: copy,wait

    def wait():
        while pending:
            keep(*pending.pop(0))
        jax.block_until_ready(total)

    def values():
        """Which share of the land is seen from each of the last forts, and on the whole."""
        views = [numpy.unpackbits(seen) if variant == "fix" else seen for seen in kept if seen is not None]
        return [float(seen.mean(dtype=numpy.float64)) for seen in views] + [float(total[0].mean())]

    return fixable.Work(step, wait, values)


run.main(make)
