# SPDX-License-Identifier: Apache-2.0
"""JAX: a satellite's scanner sees the land in one band some moments after the other, and shakes meanwhile, so the bands do not
lie upon each other. The six numbers of an affine map between two bands of 2048 by 2048 points are found by the method of Lucas
and Kanade: the band is sampled where the map says, what differs from the other band is cut off where it is far beyond the usual
(clouds), and the map is put right by it, 16 times for each pair of bands.

Wrong: how far the map has moved is read by float() in each round, to stop where that is nothing (it never is, in so few
rounds); the next round is launched only then.
fix: the moves stay on the GPU; they are read every ten steps, as they are in the base as well (sync-bound).
useless: the array of the moves is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=10)
jax, jnp, numpy, ndimage = fixable.load_jax("jax.numpy", "numpy", "jax.scipy.ndimage")

SIDE, PAIRS, ROUNDS, EACH, CAUTION, FAR, NOTHING = 2048, 3, 16, 10, 0.5, 3.0, 1e-9  # NOTHING in points
SHAKEN = ((2.5, 0.6, -0.4, -1.8, 0.5, 0.7), (-1.6, -0.5, 0.8, 2.2, -0.3, 0.4), (1.2, 0.9, 0.3, 2.8, 0.2, -0.6))


def land(random):
    """A picture of land, of mean zero and deviation one."""
    waves = random.standard_normal((SIDE, SIDE // 2 + 1)) + 1j * random.standard_normal((SIDE, SIDE // 2 + 1))
    often = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.rfftfreq(SIDE)) * SIDE
    found = numpy.fft.irfft2(waves * numpy.exp(-(often / 40.0) ** 2) / (6.0 + often), s=(SIDE, SIDE))
    return ((found - found.mean()) / found.std()).astype(numpy.float32)


def placed(numbers):
    """Where each point lies by the map, as rows and columns."""
    at = jnp.arange(SIDE, dtype=jnp.float32)
    down, right = at[:, None], at[None, :]
    y, x = down * (2.0 / SIDE) - 1.0, right * (2.0 / SIDE) - 1.0
    return [down + numbers[0] + numbers[1] * x + numbers[2] * y, right + numbers[3] + numbers[4] * x + numbers[5] * y]


@jax.jit
def shaken(band, numbers, noise):
    return ndimage.map_coordinates(band, placed(-numbers), order=1, mode="nearest") + noise


@jax.jit
def slopes_of(band):
    """How the picture changes by each of the six numbers, (6, SIDE, SIDE), and the products of those, (6, 6)."""
    down, right = jnp.gradient(band)
    at = jnp.arange(SIDE, dtype=jnp.float32) * (2.0 / SIDE) - 1.0
    y, x = at[:, None], at[None, :]
    slopes = jnp.stack((down, down * x, down * y, right, right * x, right * y))
    return slopes, jnp.stack([(slopes * one).sum(axis=(1, 2)) for one in slopes])


def one_round(band, other, slopes, inverse, numbers, moves):
    """The map, put right once; how far it has moved; and the last moves."""
    wrong = ndimage.map_coordinates(other, placed(numbers), order=1, mode="nearest") - band
    usual = jnp.abs(wrong).mean()
    wrong = jnp.clip(wrong, -FAR * usual, FAR * usual)
    pull = (slopes * wrong).sum(axis=(1, 2))
    move = CAUTION * (inverse * pull).sum(axis=1)
    moved = jnp.abs(move).max()
    return numbers - move, moved, jnp.roll(moves, -1).at[-1].set(moved)


@jax.jit
def noted(usual, numbers):
    return 0.95 * usual + 0.05 * numbers


def make(variant):
    random = numpy.random.default_rng(20)
    pairs = []
    for numbers in SHAKEN[:PAIRS]:
        band = jax.device_put(land(random))
        noise = jax.device_put(random.standard_normal((SIDE, SIDE), dtype=numpy.float32) * numpy.float32(0.03))
        other = shaken(band, jax.device_put(numpy.array(numbers, dtype=numpy.float32)), noise)
        slopes, products = slopes_of(band)
        inverse = numpy.linalg.inv(numpy.asarray(products).astype(numpy.float64)).astype(numpy.float32)
        pairs.append((band, other, slopes, jax.device_put(inverse)))
    start = jax.device_put(numpy.zeros(6, dtype=numpy.float32))
    usual = [jax.device_put(numpy.zeros(6, dtype=numpy.float32))]
    moves = [jax.device_put(numpy.zeros(ROUNDS, dtype=numpy.float32))]
    turn, told = [0], []
    put_right = jax.jit(one_round, donate_argnums=(5,) if variant == "useless" else ())

    def fitted(band, other, slopes, inverse):
        numbers = start
        for _ in range(ROUNDS):
            numbers, moved, moves[0] = put_right(band, other, slopes, inverse, numbers, moves[0])
            if variant != "fix":
                if float(moved) < NOTHING:  # cause: wait,copy
                    break
        return numbers

    def step():
        numbers = fitted(*pairs[turn[0] % PAIRS])  # cause: wait,copy
        usual[0] = noted(usual[0], numbers)
        turn[0] += 1
        if turn[0] % EACH == 0:
            told[:] = numpy.asarray(moves[0]).tolist()

    def wait():
        jax.block_until_ready((usual, moves))

    return fixable.Work(step, wait, lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
