# SPDX-License-Identifier: Apache-2.0
"""JAX: jets form in the turbulent air of a turning planet, which is stirred at random; its vorticity is computed by Fourier
transforms, and goes forward by the method of Runge and Kutta.

Wrong: only what takes "all the time", the tendency, is jitted; the two dozen other operations of a step are launched one by one.
fix: all of a step is one jitted function; the fastest wind is still waited for (launch-bound).
fix2: the fastest wind is looked at every 20 steps, to see whether steps must be shorter (sync-bound).
useless: the vorticity is donated to the function that smooths it.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=1500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIZE, LENGTH, BETA, DRAG, STIR, RING, LONGEST = 512, 2.0 * 3.14159265, 20.0, 0.1, 0.25, (28.0, 32.0), 2e-3
APART = LENGTH / SIZE


def waves():
    """The wave numbers along and across, the inverse of their square, and what is kept of each wave behind a step."""
    along, across = jnp.asarray(numpy.arange(SIZE // 2 + 1), jnp.float32), jnp.asarray(numpy.fft.fftfreq(SIZE, 1.0 / SIZE))
    along, across = along[None, :], across.astype(jnp.float32)[:, None]
    square = along ** 2 + across ** 2
    inverse = jnp.where(square > 0.0, 1.0 / jnp.maximum(square, 1.0), 0.0)
    size = jnp.sqrt(square) / (SIZE / 3.0)
    kept = jnp.where(size < 1.0, jnp.exp(-jnp.minimum(size, 1.0) ** 16), 0.0)
    ring = (square > RING[0] ** 2) & (square < RING[1] ** 2)
    return along, across, inverse, kept, ring.astype(jnp.float32) * (SIZE ** 2)


def make(variant):
    along, across, inverse, kept, ring = waves()
    state = [jnp.zeros((SIZE, SIZE // 2 + 1), jnp.complex64), jax.random.key(20), LONGEST]
    turn, told = [0], [0.0, 0.0]

    def winds(vorticity):
        stream = -inverse * vorticity
        return jnp.fft.irfft2(-1j * across * stream), jnp.fft.irfft2(1j * along * stream)

    @jax.jit
    def tendency(vorticity):
        east, north = winds(vorticity)
        carried = east * jnp.fft.irfft2(1j * along * vorticity) + north * jnp.fft.irfft2(1j * across * vorticity)
        return -jnp.fft.rfft2(carried) + BETA * 1j * along * inverse * vorticity - DRAG * vorticity

    @jax.jit
    def fastest(vorticity):
        east, north = winds(vorticity)
        return jnp.sqrt(jnp.max(east * east + north * north)), jnp.mean(east * east + north * north)

    def smooth(vorticity):
        return vorticity * kept

    smoothed = jax.jit(smooth, donate_argnums=0 if variant == "useless" else ())

    def forward(vorticity, key, time):
        """The vorticity a step later, with what the stirring adds to it."""
        first = tendency(vorticity)  # cause: launch
        second = tendency(vorticity + 0.5 * time * first)  # cause: launch
        third = tendency(vorticity + 0.5 * time * second)  # cause: launch
        fourth = tendency(vorticity + time * third)  # cause: launch
        vorticity = vorticity + time / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)  # cause: launch
        key, now = jax.random.split(key)  # cause: launch
        angle = LENGTH * jax.random.uniform(now, ring.shape)  # cause: launch
        push = ring * (jnp.cos(angle) + 1j * jnp.sin(angle))  # cause: launch
        vorticity = vorticity + STIR * time ** 0.5 * push  # cause: launch
        return smoothed(vorticity), key  # cause: launch

    together = jax.jit(forward)

    def step():
        vorticity, key, time = state
        vorticity, key = (together if variant == "fix" else forward)(vorticity, key, time)  # cause: launch
        turn[0] += 1
        speed, energy = fastest(vorticity)  # cause: launch
        if variant != "fix2" or turn[0] % LOOK_EVERY == 0:
            wind = float(speed)  # cause: wait,copy
            while time * wind > 0.5 * APART:
                time *= 0.5
            told[:] = [wind, energy]
        state[:] = vorticity, key, time

    return fixable.Work(step, lambda: jax.block_until_ready(state[0]), lambda: [told[0], float(told[1]), state[2]])


run.main(make)
