# SPDX-License-Identifier: Apache-2.0
"""JAX: where it rains in the next hour is told from a radar's last two pictures: how the rain moves is found by an optical flow
(Horn and Schunck), and the newest picture is carried on along it, for twelve moments. The maps go to the host, where those who
draw them and those who warn towns take them.

Wrong: twelve maps of float32, 50 MB, are brought to the host each time; the host waits for them, and the GPU has nothing to do.
fix: the maps are made whole numbers of half a decibel on the device, as radars have them, a byte each (copy-bound).
fix2: the maps are on their way to the host while the next ones are computed (copy-bound).
useless: what is known of the flow from the pictures before, with which it begins, is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=8)
jax, jnp, numpy, ndimage = fixable.load_jax("jax.numpy", "numpy", "jax.scipy.ndimage")

SIDE, LEADS, ROUNDS, SMOOTH, PICTURES, CELLS, TOWNS = 1024, 12, 300, 25.0, 10, 160, 500
HALF, LEAST = 0.5, -32.0  # decibels: of a step, and at nought


def pictures():
    """What the radar has seen, as whole numbers of half a decibel: cells of rain that move with the wind, and turn slowly."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32)
    places, sizes = random.uniform(0.0, SIDE, (CELLS, 2)), random.uniform(8.0, 40.0, CELLS)
    strong, seen = random.uniform(20.0, 55.0, CELLS), []
    for _ in range(PICTURES):
        rain = numpy.zeros((SIDE, SIDE), dtype=numpy.float32)
        for (down, right), size, most in zip(places, sizes, strong):
            top, left = max(0, int(down - 4 * size)), max(0, int(right - 4 * size))
            part = slice(top, max(top, int(down + 4 * size))), slice(left, max(left, int(right + 4 * size)))
            far = numpy.square(y[part] - numpy.float32(down)) + numpy.square(x[part] - numpy.float32(right))
            numpy.maximum(rain[part], numpy.float32(most) * numpy.exp(far * numpy.float32(-0.5 / size ** 2)), out=rain[part])
        rain += random.standard_normal((SIDE, SIDE), dtype=numpy.float32)
        seen.append(numpy.clip((rain - LEAST) / HALF, 0.0, 255.0).astype(numpy.uint8))
        turning = (places - SIDE / 2.0)[:, ::-1] * (0.004, -0.004)
        places = places + turning + (1.5, 2.5)
    return seen


def around(field):
    """The mean of what lies around each place."""
    return 0.25 * (jnp.roll(field, 1, -1) + jnp.roll(field, -1, -1) + jnp.roll(field, 1, -2) + jnp.roll(field, -1, -2))


def flow_of(before, now, flow):
    """How far the rain goes from one picture to the next: (2, SIDE, SIDE)."""
    middle = 0.5 * (before + now)
    down, right = [0.5 * (jnp.roll(middle, -1, axis) - jnp.roll(middle, 1, axis)) for axis in (0, 1)]
    later, steep = now - before, SMOOTH + down * down + right * right

    def better(_, flow):
        mean = around(flow)
        off = (down * mean[0] + right * mean[1] + later) / steep
        return jnp.stack([mean[0] - down * off, mean[1] - right * off])

    return jax.lax.fori_loop(0, ROUNDS, better, flow)


def taken(field, at):
    """A field between its places, at others."""
    return ndimage.map_coordinates(field, [at[0], at[1]], order=1, mode="nearest")


def carried(now, flow):
    """The newest picture as it will be: (LEADS, SIDE, SIDE); each place asks where its rain comes from."""
    def back(at, part):
        return at - part * jnp.stack([taken(flow[0], at), taken(flow[1], at)])

    def further(at, _):
        half = back(at, 0.5)
        at = at - jnp.stack([taken(flow[0], half), taken(flow[1], half)])
        return at, taken(now, at)

    start = jnp.stack(jnp.meshgrid(jnp.arange(SIDE, dtype=jnp.float32), jnp.arange(SIDE, dtype=jnp.float32), indexing="ij"))
    return jax.lax.scan(further, start, None, length=LEADS)[1]


def forecast(before, now, flow):
    """The maps in decibels, and the flow."""
    before, now = [around(HALF * picture.astype(jnp.float32) + LEAST) for picture in (before, now)]
    flow = flow_of(before, now, 0.5 * flow)
    return carried(now, flow), flow


def forecast_in_bytes(before, now, flow):
    maps, flow = forecast(before, now, flow)
    return jnp.clip(jnp.round((maps - LEAST) / HALF), 0.0, 255.0).astype(jnp.uint8), flow


def make(variant):
    seen, turn = pictures(), [0]
    towns = tuple(numpy.random.default_rng(21).integers(0, SIDE, (2, TOWNS)))
    flow, coming, rain = [jnp.zeros((2, SIDE, SIDE))], [], [0.0] * LEADS
    go = jax.jit(forecast_in_bytes if variant == "fix" else forecast, donate_argnums=(2,) if variant == "useless" else ())

    def warn(maps):
        """How much it will rain in the towns, at each of the moments."""
        maps = numpy.asarray(maps)  # cause: wait,copy
        mean = maps[:, towns[0], towns[1]].astype(numpy.float32).mean(axis=1)
        mean = mean * HALF + LEAST if variant == "fix" else mean
        for k in range(LEADS):
            rain[k] += 0.05 * (float(mean[k]) - rain[k])

    def step():
        number = turn[0] % (PICTURES - 1)
        turn[0] += 1
        maps, flow[0] = go(seen[number], seen[number + 1], flow[0])
        if variant != "fix2":
            warn(maps)  # cause: wait,copy
            return
        maps.copy_to_host_async()
        coming.append(maps)
        if len(coming) > 1:
            warn(coming.pop(0))

    return fixable.Work(step, lambda: jax.block_until_ready(flow[0]), lambda: list(rain))


run.main(make)
