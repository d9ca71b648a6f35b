# SPDX-License-Identifier: Apache-2.0
"""JAX: astronomers follow the stars that a small cluster of stars has lost on its way around the Milky Way. 32768 stars, and the
cluster as the first of them, move in the fields of the halo, the disk and the bulge, and each other one is drawn by the cluster,
too; a step is a hundred leaps of two million years. Behind them it is counted where along the sky the stars are; after 40 steps
the cluster begins anew.

Wrong: each leap is a call of a jitted function, which has a few microseconds of work for the GPU; Python takes far longer to
call it.
fix: all leaps of a step are one jitted function, by lax.fori_loop (launch-bound).
fix2: the same, but ten leaps are written out in each round of the loop (launch-bound).
useless: the counts of before, which stay on the GPU, are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=10)
jax, jnp, lax, numpy = fixable.load_jax("jax.numpy", "jax.lax", "numpy")

STARS, LEAPS, LEAP, RUN, PLACES = 32768, 100, 0.002, 40, 72  # LEAP in thousand millions of years
FAST, CORE, FLAT = 205.0, 6.0, 0.9  # the halo, in kpc and kpc per thousand million years
DISK, LONG, THICK = 300000.0, 4.0, 0.3
BULGE, BULGE_SIZE, CLUSTER, CLUSTER_SIZE = 60000.0, 0.6, 0.3, 0.03


def pull(x, y, z):
    """The acceleration of all stars at their places."""
    round_2 = x * x + y * y
    halo = -FAST * FAST / (CORE * CORE + round_2 + z * z / (FLAT * FLAT))
    high = jnp.sqrt(z * z + THICK * THICK)
    disk = -DISK * (round_2 + (LONG + high) ** 2) ** -1.5
    far = jnp.sqrt(round_2 + z * z) + 1e-4
    bulge = -BULGE / (far * (far + BULGE_SIZE) ** 2)
    dx, dy, dz = x - x[0], y - y[0], z - z[0]
    own = -CLUSTER * (dx * dx + dy * dy + dz * dz + CLUSTER_SIZE * CLUSTER_SIZE) ** -1.5
    plane = halo + disk + bulge
    return plane * x + own * dx, plane * y + own * dy, (halo / FLAT ** 2 + disk * (LONG + high) / high + bulge) * z + own * dz


def leap(places, speeds):
    """Half a way on, the speeds, and the other half."""
    half = places + 0.5 * LEAP * speeds
    speeds = speeds + LEAP * jnp.stack(pull(*half))
    return half + 0.5 * LEAP * speeds, speeds


def all_leaps(places, speeds, written_out=1):
    return lax.fori_loop(0, LEAPS, lambda _, both: leap(*both), (places, speeds), unroll=written_out)


def count(usual, places):
    """How many stars in a thousand are in each part of the circle, and how far out they are, in the mean of the last steps."""
    angle = jnp.arctan2(places[1], places[0]) / (2.0 * numpy.pi) + 0.5
    part = jnp.clip((angle * PLACES).astype(jnp.int32), 0, PLACES - 1)
    stars = jnp.zeros(PLACES).at[part].add(1000.0 / STARS)
    out = jnp.sqrt((places * places).sum(axis=0)).mean()
    return usual + 0.05 * (jnp.append(stars, out) - usual)


def begun():
    """The cluster is 14 kpc out; stars leave it by both ends."""
    luck = numpy.random.default_rng(20)
    places, speeds = 0.03 * luck.standard_normal((3, STARS)), 2.0 * luck.standard_normal((3, STARS))
    places[0] += numpy.where(luck.random(STARS) < 0.5, -0.05, 0.05)
    places[:, 0], speeds[:, 0] = 0.0, 0.0
    places += numpy.array([[14.0], [0.0], [2.0]])
    speeds += numpy.array([[20.0], [160.0], [60.0]])
    return [jax.device_put(a.astype(numpy.float32)) for a in (places, speeds)]


def make(variant):
    start = begun()
    state, turn, told = list(start), [0], []
    usual = [jax.device_put(numpy.zeros(PLACES + 1, dtype=numpy.float32))]
    leaped, leaped_on = jax.jit(leap), jax.jit(lambda *both: all_leaps(*both, 10 if variant == "fix2" else 1))
    counted = jax.jit(count, donate_argnums=(0,) if variant == "useless" else ())

    def move(places, speeds):
        if variant in ("fix", "fix2"):
            return leaped_on(places, speeds)
        for _ in range(LEAPS):
            places, speeds = leaped(places, speeds)  # cause: launch
        return places, speeds

    def step():
        if turn[0] % RUN == 0:
            state[:] = start
        turn[0] += 1
        state[:] = move(*state)  # cause: launch
        usual[0] = counted(usual[0], state[0])
        if turn[0] % RUN == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    def values():
        """How far out the stars are, and how many are in the fullest parts of the circle."""
        last = numpy.asarray(usual[0])
        return [float(last[-1]), float(numpy.sort(last[:-1])[-12:].sum())]

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), values)


run.main(make)
