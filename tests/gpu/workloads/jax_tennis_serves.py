# SPDX-License-Identifier: Apache-2.0
"""JAX: which serves should a tennis player train? Four million serves wander by Metropolis' rule among those that are worth it: a
serve has a speed, two angles, two spins and a height, flies for 200 instants of 4 ms against drag and by Magnus' force, and is
worth the more the sooner it lands, the nearer to the line, and the more surely it is over the net and in the box. A step tries a
change of each serve.

Wrong: nothing; a step is one call of a jitted function, which keeps the GPU busy, and three numbers are read once in 20 steps
(gpu-bound).
useless: the serves and what they are worth are donated to each step.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=6)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SERVES, INSTANTS, INSTANT, SHOWN = 1 << 22, 200, 0.004, 20
NET, NET_HIGH, BOX, LINE, START = 11.885, 0.93, 18.285, 4.115, -0.6  # metres from the base line, or from the middle
DRAG, LIFT, GRAVITY = 0.0188, 0.00035, 9.81
USUAL = numpy.array([50.0, -0.09, 0.13, 120.0, 60.0, 2.75], dtype=numpy.float32)  # m/s, radians, radians, rad/s, rad/s, m
WIDE = numpy.array([0.8, 0.006, 0.006, 8.0, 8.0, 0.02], dtype=numpy.float32)
LEAST = numpy.array([35.0, -0.3, -0.1, 0.0, -300.0, 2.5], dtype=numpy.float32)
MOST = numpy.array([62.0, 0.1, 0.4, 350.0, 300.0, 2.9], dtype=numpy.float32)


def pulled(moving, top, slices):
    """What air and gravity do to a ball: drag, topspin that pulls it down, and slice that pulls it aside."""
    ahead, aside, up = moving
    fast = jnp.sqrt(ahead * ahead + aside * aside + up * up)
    return (-DRAG * fast * ahead + LIFT * (top * up + slices * aside),
            -DRAG * fast * aside - LIFT * slices * ahead,
            -DRAG * fast * up - LIFT * top * ahead - GRAVITY)


def flown(serves):
    """Where each serve lands, when, and how far above the net it goes."""
    speed, rise, aim, top, slices, reach = serves
    flat = speed * jnp.cos(rise)
    moving = flat * jnp.cos(aim), flat * jnp.sin(aim), speed * jnp.sin(rise)
    nothing = jnp.zeros_like(speed)

    def instant(_, state):
        """The next place and motion of balls that have not landed, by the rule of the midpoint."""
        place, moving, above, late = state
        half = [own + 0.5 * INSTANT * pull for own, pull in zip(moving, pulled(moving, top, slices))]
        pulls = pulled(half, top, slices)
        flies = place[2] > 0.0
        then = [jnp.where(flies, own + INSTANT * way, own) for own, way in zip(place, half)]
        moving = [jnp.where(flies, own + INSTANT * pull, own) for own, pull in zip(moving, pulls)]
        above = jnp.where((place[0] < NET) & (then[0] >= NET), then[2] - NET_HIGH, above)
        return tuple(then), tuple(moving), above, jnp.where(flies, late + INSTANT, late)

    state = (nothing, nothing + START, reach), moving, nothing - 1.0, nothing
    place, _, above, late = jax.lax.fori_loop(0, INSTANTS, instant, state)
    return place, above, late


def worth(serves):
    """The logarithm of how good a serve is."""
    (length, side, _), above, late = flown(serves)
    outside = jnp.maximum(length - BOX, 0.0) + jnp.maximum(side - LINE, 0.0) + jnp.maximum(-side, 0.0)
    outside += jnp.maximum(NET - length, 0.0)
    low = jnp.maximum(0.1 - above, 0.0)
    hard = jnp.maximum(serves[0] - 56.0, 0.0)
    return -late / 0.03 - 0.5 * (LINE - side) ** 2 - 8.0 * outside - 20.0 * low - 0.2 * hard * hard


def tried(serves, good, usual, key):
    """A change of each serve is tried, and taken or not."""
    key, shake, luck = jax.random.split(key, 3)
    other = serves + WIDE[:, None] * jax.random.normal(shake, serves.shape)
    other = jnp.clip(other, LEAST[:, None], MOST[:, None])
    as_good = worth(other)
    taken = jnp.log(jax.random.uniform(luck, good.shape)) < as_good - good
    serves, good = jnp.where(taken, other, serves), jnp.where(taken, as_good, good)
    seen = jnp.stack((taken.mean(), serves[0].mean(), good.mean()))
    return serves, good, usual + 0.05 * (seen - usual), key


def make(variant):
    first, key = jax.random.split(jax.random.PRNGKey(20))
    serves = USUAL[:, None] + 3.0 * WIDE[:, None] * jax.random.normal(first, (len(USUAL), SERVES))
    now = [serves, jax.jit(worth)(serves), jnp.zeros(3), key]
    del serves
    turned = jax.jit(tried, donate_argnums=(0, 1) if variant == "useless" else ())
    turn, curve = [0], []

    def step():
        now[:] = turned(*now)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(now[2].tolist())

    return fixable.Work(step, lambda: jax.block_until_ready(now[2]), lambda: now[2].tolist())


run.main(make)
