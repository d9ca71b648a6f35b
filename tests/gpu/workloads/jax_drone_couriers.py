# SPDX-License-Identifier: Apache-2.0
"""JAX: 4096 drones carry parcels from roof to roof over a town, and the gains of their controllers are tried in gusts of wind. A
drone is a rigid body that tilts to where it wants to go; its motion is reckoned 250 times a second. One step is a fifth of a
second of flight; then those drones that have come to their roof are sent on to the next one.

Wrong: each of the fifty short steps of a step is one call of a jitted function, with a few small kernels; the GPU is through with
them before the host has launched the next ones.
fix: the fifty short steps are a loop within one jitted function (launch-bound).
useless: the usual distance and the next roofs, which stay on the GPU, are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=10)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

DRONES, ROOFS, SHORT, TIME, EVERY = 4096, 512, 50, 0.004, 25
GRAVITY, PULL, BRAKE, TILT, CALM, NEAR, FASTEST = 9.81, 1.2, 2.2, 60.0, 14.0, 1.5, 12.0


def upward(pose):
    """Where the drones' own upward axis points, by their quaternions (real part first)."""
    w, x, y, z = (pose[:, part] for part in range(4))
    return jnp.stack((2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)), axis=1)


def turned(pose, spin):
    """The quaternions behind a short step, by the spin in the drones' own axes."""
    w, x, y, z = (pose[:, part] for part in range(4))
    p, q, r = (0.5 * TIME * spin[:, part] for part in range(3))
    new = pose + jnp.stack((-x * p - y * q - z * r, w * p + y * r - z * q, w * q - x * r + z * p, w * r + x * q - y * p), axis=1)
    return new / jnp.sqrt((new * new).sum(axis=1, keepdims=True))


def into_own_axes(pose, way):
    """A direction in the town, in a drone's own axes."""
    real, axis = pose[:, :1], -pose[:, 1:]
    twice = 2.0 * jnp.cross(axis, way)
    return way + real * twice + jnp.cross(axis, twice)


def move(drones, goals):
    """A short step of all drones: (place, speed, pose, spin, the time since the start)."""
    place, speed, pose, spin, when = drones
    gust = jnp.stack((3.0 + 2.0 * jnp.sin(0.7 * when + 0.02 * place[:, 1]), 2.0 * jnp.cos(0.9 * when + 0.03 * place[:, 0]),
                      0.5 * jnp.sin(1.3 * when + 0.05 * place[:, 2])), axis=1)
    missing = goals - place
    far = jnp.sqrt((missing * missing).sum(axis=1, keepdims=True) + 1e-6)
    weight = jnp.array((0.0, 0.0, GRAVITY))
    asked = missing * jnp.minimum(1.0, FASTEST / far) * PULL - BRAKE * speed + weight
    much = jnp.sqrt((asked * asked).sum(axis=1, keepdims=True) + 1e-6)
    up = upward(pose)
    thrust = jnp.clip((asked * up).sum(axis=1, keepdims=True), 0.0, 2.5 * GRAVITY)
    torque = TILT * into_own_axes(pose, jnp.cross(up, asked / much)) - CALM * spin
    speed = speed + TIME * (thrust * up + 0.15 * (gust - speed) - weight)
    spin = spin + TIME * torque
    return place + TIME * speed, speed, turned(pose, spin), spin, when + TIME


def send_on(number, usual, place, roofs):
    """The next roof of each drone that has arrived, and the usual distance to the roofs."""
    far = jnp.sqrt(((roofs[number] - place) ** 2).sum(axis=1))
    number = jnp.where(far < NEAR, (number * 7 + 3) % ROOFS, number)
    return number, usual + 0.02 * (far.mean() - usual), roofs[number]


def make(variant):
    random = numpy.random.default_rng(20)
    town = random.uniform((0.0, 0.0, 5.0), (400.0, 400.0, 60.0), (ROOFS, 3)).astype(numpy.float32)
    first = random.integers(0, ROOFS, DRONES).astype(numpy.int32)
    start = numpy.zeros((DRONES, 10), dtype=numpy.float32)
    start[:, :3] = town[first] + random.normal(0.0, 5.0, (DRONES, 3))
    start[:, 6] = 1.0
    spins = numpy.zeros((DRONES, 3), dtype=numpy.float32)
    parts = (start[:, :3], start[:, 3:6], start[:, 6:], spins, numpy.float32(0.0))
    drones, roofs = tuple(jax.device_put(part) for part in parts), jax.device_put(town)
    number, usual = jax.device_put(first), jax.device_put(numpy.float32(20.0))
    sent = jax.jit(send_on, donate_argnums=(0, 1) if variant == "useless" else ())
    moved = jax.jit(move)
    flown = jax.jit(lambda all_of_them, goals: jax.lax.fori_loop(0, SHORT, lambda _, now: move(now, goals), all_of_them))
    now, turn, told = [drones, number, usual, jax.device_put(town[first])], [0], []

    def fly(flying, goals):
        if variant == "fix":
            return flown(flying, goals)
        for _ in range(SHORT):
            flying = moved(flying, goals)  # cause: launch
        return flying

    def step():
        now[0] = fly(now[0], now[3])  # cause: launch
        now[1], now[2], now[3] = sent(now[1], now[2], now[0][0], roofs)
        turn[0] += 1
        if turn[0] % EVERY == 0:
            told[:] = [float(now[2])]

    def values():
        """The usual distance to the next roof, and how high and how fast drones are."""
        place, speed = numpy.asarray(now[0][0]), numpy.asarray(now[0][1])
        return [float(now[2]), float(place[:, 2].mean()), float(numpy.sqrt((speed ** 2).sum(axis=1)).mean())]

    return fixable.Work(step, lambda: jax.block_until_ready(now), values)


run.main(make)
