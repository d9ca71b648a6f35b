# SPDX-License-Identifier: Apache-2.0
"""JAX: where an arm with seven joints can reach is mapped for the plan of a factory: for 131072 places at once angles are
looked for that bring the hand there, by damped least squares (Levenberg and Marquardt), from place to place along a way.

Wrong: behind each iteration the host reads the mean error, chooses the damping by it, and asks whether it is small enough.
fix: the damping is chosen on the device, and the host asks behind each sixth iteration; what is done stays (sync-bound).
useless: the angles are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=6)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

ARMS, JOINTS, MOST, ASK_EVERY, PLACES, NEAR = 131072, 7, 24, 6, 12, 1e-3
LENGTHS = (0.3, 0.05, 0.4, 0.05, 0.35, 0.05, 0.2)  # metres, of the parts behind the joints
SOFT, SOFTEST = 0.25, 2.0 ** -10


def hand(angles):
    """Where the hand is: joints turn about the part's own axis and across it, in turns."""
    turned, place = jnp.eye(3), jnp.zeros(3)
    for number, length in enumerate(LENGTHS):
        c, s = jnp.cos(angles[number]), jnp.sin(angles[number])
        if number % 2 == 0:
            joint = jnp.stack((c, -s, 0.0 * c, s, c, 0.0 * c, 0.0 * c, 0.0 * c, 0.0 * c + 1.0)).reshape(3, 3)
        else:
            joint = jnp.stack((c, 0.0 * c, s, 0.0 * c, 0.0 * c + 1.0, 0.0 * c, -s, 0.0 * c, c)).reshape(3, 3)
        turned = (turned[:, :, None] * joint[None, :, :]).sum(axis=1)
        place = place + length * turned[:, 2]
    return place


def moved(angles, target, damping):
    """The angles of one arm, one iteration later. The 3 x 3 equations are solved by Cramer's rule."""
    slope = jax.jacfwd(hand)(angles)
    missing = target - hand(angles)
    a, b, c = (slope[:, None, :] * slope[None, :, :]).sum(axis=2) + damping * jnp.eye(3)
    ab, bc, ca = jnp.cross(a, b), jnp.cross(b, c), jnp.cross(c, a)
    solved = (bc * missing[0] + ca * missing[1] + ab * missing[2]) / (a * bc).sum()
    return angles + (slope * solved[:, None]).sum(axis=0)


def iterate(angles, targets, damping):
    angles = jax.vmap(moved, in_axes=(0, 0, None))(angles, targets, damping)
    far = jnp.sqrt(jnp.square(jax.vmap(hand)(angles) - targets).sum(axis=1))
    return angles, far.mean()


@jax.jit
def iterate_there(state, targets):
    """An iteration whose damping comes from the one before, and goes to the next one."""
    angles, damping, error, done, count = state
    later, new = iterate(angles, targets, damping)
    softer = jnp.where(new < error, jnp.maximum(SOFTEST, 0.5 * damping), 4.0 * damping)
    return (jnp.where(done, angles, later), jnp.where(done, damping, softer), jnp.where(done, error, new), done | (new < NEAR),
            jnp.where(done, count, count + 1))


plain, donated = jax.jit(iterate), jax.jit(iterate, donate_argnums=0)


def way():
    """Places for all arms, each of which is a bit further along a circle."""
    random = numpy.random.default_rng(20)
    middle = random.uniform(-0.35, 0.35, (ARMS, 3)) + numpy.array([0.3, 0.0, 0.5])
    for number in range(PLACES):
        angle = 2.0 * numpy.pi * number / PLACES
        yield jnp.asarray(middle + 0.2 * numpy.array([numpy.cos(angle), numpy.sin(angle), 0.0]), dtype=jnp.float32)


def make(variant):
    targets = list(way())
    start = 0.3 + 0.1 * numpy.random.default_rng(21).standard_normal((ARMS, JOINTS))
    angles, turn, mean = [jnp.asarray(start, dtype=jnp.float32)], [0], [0.0, 0.0]
    go = donated if variant == "useless" else plain

    def note(error, count):
        mean[0] += 0.05 * (error - mean[0])
        mean[1] += 0.05 * (count - mean[1])

    def reach(target):
        damping, before = SOFT, numpy.inf
        for count in range(1, MOST + 1):
            angles[0], error = go(angles[0], target, damping)
            error = float(error)  # cause: wait,copy
            if error < NEAR:
                break
            damping = max(SOFTEST, 0.5 * damping) if error < before else 4.0 * damping
            before = error
        note(error, count)

    def reach_there(target):
        state = angles[0], jnp.float32(SOFT), jnp.float32(numpy.inf), jnp.bool_(False), jnp.int32(0)
        for count in range(1, MOST + 1):
            state = iterate_there(state, target)
            if count % ASK_EVERY == 0 and bool(state[3]):
                break
        angles[0] = state[0]
        note(float(state[2]), int(state[4]))

    def step():
        target = targets[turn[0] % PLACES]
        turn[0] += 1
        if variant == "fix":
            reach_there(target)
        else:
            reach(target)  # cause: wait,copy

    return fixable.Work(step, lambda: jax.block_until_ready(angles[0]), lambda: list(mean))


run.main(make)
