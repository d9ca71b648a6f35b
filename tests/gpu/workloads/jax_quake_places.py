# SPDX-License-Identifier: Apache-2.0
"""JAX: where earthquakes begin is told by trying a million places under a county: it is known how long waves take from each one
to 48 stations, and the times when a quake began, as the stations have it, should be the same there. Quakes come one after
the other, and their places are told to those who draw the map.

Wrong: all stations are compared with all stations, two by two, at each place: 2304 differences, each squared, where 48 and
their mean say the same; the GPU is at work with that throughout.
fix: the sum over pairs is made of the squares of what each station is off the mean, which is the same sum (gpu-bound).
useless: the places are read behind each twentieth quake only.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

DEEP, LONG, WIDE, STATIONS, QUAKES, MISSED, ERROR = 64, 128, 128, 48, 40, 0.15, 0.12
FAR, BOTTOM, SLOW, FASTER = 100.0, 25.0, 5.2, 0.09  # km across, km down; km/s, and how much more it is a km further down


def grid():
    """All places: (DEEP * LONG * WIDE, 3), in kilometres."""
    z, y, x = [(jnp.arange(size) + 0.5) * (most / size) for size, most in ((DEEP, BOTTOM), (LONG, FAR), (WIDE, FAR))]
    return jnp.stack(jnp.meshgrid(z, y, x, indexing="ij"), axis=-1).reshape(-1, 3)


@jax.jit
def times(stations, places):
    """How long waves take from each place to each station, where they get faster with depth: (STATIONS, places)."""
    down, aside = places[:, 0], jnp.square(stations[:, None] - places[None, :, 1:]).sum(axis=2)
    bottom = SLOW + FASTER * down
    return jnp.arccosh(1.0 + FASTER ** 2 * (aside + down * down) / (2.0 * SLOW * bottom)) / FASTER


def by_pairs(began, sure):
    """How badly the stations agree at each place; began: (STATIONS, places)."""
    apart = began[:, None] - began[None]
    return ((sure[:, None] * sure[None])[:, :, None] * jnp.square(apart)).sum(axis=(0, 1))


def by_mean(began, sure):
    off = began - (sure[:, None] * began).sum(axis=0) / sure.sum()
    return 2.0 * sure.sum() * (sure[:, None] * jnp.square(off)).sum(axis=0)


def locator(misfit_of):
    @jax.jit
    def locate(table, places, heard, sure):
        """The quake's place as it is likely, and how well it is known: five numbers."""
        misfit = misfit_of(heard[:, None] - table, sure) / sure.sum()
        likely = jnp.exp((misfit.min() - misfit) / (4.0 * ERROR ** 2))
        likely = likely / likely.sum()
        mean = (likely[:, None] * places).sum(axis=0)
        spread = jnp.sqrt((likely * jnp.square(places - mean).sum(axis=1)).sum())
        return jnp.concatenate([mean, jnp.stack([spread, misfit.min()])])

    return locate


def quakes(random, stations):
    """When each station has heard each quake, and how sure it is of that; it is not at all where it has heard nothing."""
    for _ in range(QUAKES):
        place = numpy.array([[random.uniform(3.0, 20.0), *random.uniform(20.0, 80.0, 2)]], dtype=numpy.float32)
        heard = numpy.asarray(times(stations, place))[:, 0] + random.uniform(0.0, 30.0)
        heard = heard + ERROR * random.standard_normal(STATIONS)
        sure = random.uniform(0.3, 1.0, STATIONS) * (random.random(STATIONS) > MISSED)
        yield heard.astype(numpy.float32), sure.astype(numpy.float32)


def make(variant):
    random = numpy.random.default_rng(20)
    stations = random.uniform(0.0, FAR, (STATIONS, 2)).astype(numpy.float32)
    places = grid()
    table, heard = times(stations, places), list(quakes(random, stations))
    locate = locator(by_mean if variant == "fix" else by_pairs)
    turn, pending, usual = [0], [], [10.0, 50.0, 50.0, 5.0, 0.0]

    def note(found):
        """The usual place, by a running mean of each number."""
        for at, number in enumerate(found.tolist()):
            usual[at] += 0.05 * (number - usual[at])

    def step():
        found = locate(table, places, *heard[turn[0] % QUAKES])
        turn[0] += 1
        if variant != "useless":
            note(numpy.asarray(found))
            return
        pending.append(found)
        if len(pending) == LOOK_EVERY:
            for one in jax.device_get(pending):
                note(one)
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(table), lambda: list(usual))


run.main(make)
