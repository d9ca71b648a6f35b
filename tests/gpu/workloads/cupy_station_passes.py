# SPDX-License-Identifier: Apache-2.0
"""CuPy: when are the satellites of a company above its 16 ground stations? 6144 satellites go on ellipses that turn slowly, as the
earth is flat at its poles. For each tick of ten seconds Kepler's equation is solved, the places are turned into those above the
turning earth, and it is told how high each satellite stands at each station; how long it can be heard, and how high it came at
best, are kept. A step is four ticks.

Wrong: a tick is nearly a hundred small kernels, each launched by an expression of its own, and the GPU is done with one before the
next one comes.
fix: the ticks of a step are one CUDA graph (launch-bound).
useless: the time that satellites are heard, which is read once in 50 steps, comes to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

SATELLITES, STATIONS, TICKS, TICK, NEWTON, SHOWN = 6144, 16, 4, 10.0, 4, 50
EARTH, PULL, FLAT, DAY, TURN = 6378.1, 398600.4, 1.0826e-3, 86164.1, 2.0 * math.pi  # km, km³/s², of the earth's shape, s, radians
LOWEST, FADES = 0.17, 0.999  # the sine of the lowest height at which a satellite is heard; of what is kept, a tick


def launched():
    """The orbits: half axis, eccentricity, slope, and the angles of node, perigee and satellite."""
    luck = numpy.random.default_rng(20)
    half = EARTH + luck.uniform(500.0, 1800.0, SATELLITES)
    oval = luck.uniform(0.0, 0.05, SATELLITES)
    slope = luck.choice([0.92, 1.22, 1.7], SATELLITES) + luck.normal(0.0, 0.01, SATELLITES)
    return half, oval, slope, luck.uniform(0.0, TURN, (3, SATELLITES))


def built():
    """The stations: unit vectors from the middle of the earth, (3, STATIONS, 1)."""
    luck = numpy.random.default_rng(21)
    north, east = luck.uniform(-1.2, 1.2, STATIONS), luck.uniform(0.0, TURN, STATIONS)
    return numpy.stack((numpy.cos(north) * numpy.cos(east), numpy.cos(north) * numpy.sin(east), numpy.sin(north)))[:, :, None]


def make(variant):
    half, oval, slope, angles = launched()
    pace = numpy.sqrt(PULL / half ** 3)
    slip = 1.5 * FLAT * pace * (EARTH / half / (1.0 - oval ** 2)) ** 2
    node_pace = -slip * numpy.cos(slope) - TURN / DAY  # as seen from the turning earth
    perigee_pace = slip * (2.0 - 2.5 * numpy.sin(slope) ** 2)

    def there(values):
        return cupy.asarray(numpy.ascontiguousarray(values, dtype=numpy.float32))

    ahead, node_ahead, perigee_ahead = there(pace * TICK), there(node_pace * TICK), there(perigee_pace * TICK)
    longer, shorter, off = there(half / EARTH), there(half / EARTH * numpy.sqrt(1.0 - oval ** 2)), there(oval)
    slope_cos, slope_sin = there(numpy.cos(slope)), there(numpy.sin(slope))
    node, perigee, mean = (there(angle) for angle in angles)
    stand_x, stand_y, stand_z = (there(axis) for axis in built())
    heard = cupy.zeros((STATIONS, SATELLITES), dtype=cupy.float32)
    best = cupy.zeros((STATIONS, SATELLITES), dtype=cupy.float32)
    landing = cupyx.empty_pinned((STATIONS, SATELLITES), dtype=numpy.float32) if variant == "useless" else None
    work, turn, told = cupy.cuda.Stream(non_blocking=True), [0], []

    def turned(angle, more):
        """Sets an angle ahead, and keeps it below a full turn."""
        angle += more  # cause: launch
        angle -= TURN * cupy.floor(angle * (1.0 / TURN))  # cause: launch

    def tick():
        """Sets the satellites ahead, and tells how high they stand."""
        for angle, more in ((mean, ahead), (node, node_ahead), (perigee, perigee_ahead)):
            turned(angle, more)  # cause: launch
        at = mean + off * cupy.sin(mean)  # cause: launch
        for _ in range(NEWTON):
            at -= (at - off * cupy.sin(at) - mean) / (1.0 - off * cupy.cos(at))  # cause: launch
        along, across = longer * (cupy.cos(at) - off), shorter * cupy.sin(at)  # cause: launch
        cos, sin = cupy.cos(perigee), cupy.sin(perigee)  # cause: launch
        first, second = along * cos - across * sin, along * sin + across * cos  # cause: launch
        cos, sin, level = cupy.cos(node), cupy.sin(node), second * slope_cos  # cause: launch
        x, y, z = first * cos - level * sin, first * sin + level * cos, second * slope_sin  # cause: launch
        far_x, far_y, far_z = x - stand_x, y - stand_y, z - stand_z  # cause: launch
        above = far_x * stand_x + far_y * stand_y + far_z * stand_z  # cause: launch
        high = above / cupy.sqrt(far_x * far_x + far_y * far_y + far_z * far_z)  # cause: launch
        cupy.multiply(heard, FADES, out=heard)  # cause: launch
        cupy.add(heard, high > LOWEST, out=heard)  # cause: launch
        cupy.maximum(best * FADES, high, out=best)  # cause: launch

    def ticks():
        for _ in range(TICKS):
            tick()  # cause: launch

    def captured():
        """A graph of the ticks; what they change is as before."""
        changed = mean, node, perigee, heard, best
        kept = [values.copy() for values in changed]
        ticks()
        ticks()
        work.begin_capture()
        ticks()
        made = work.end_capture()
        for values, before in zip(changed, kept):
            values[...] = before
        return made

    cupy.cuda.runtime.deviceSynchronize()
    with work:
        graph = captured() if variant == "fix" else None

    def step():
        with work:
            if graph:
                graph.launch()
            else:
                ticks()  # cause: launch
            turn[0] += 1
            if turn[0] % SHOWN == 0:
                told.append(float(heard.get(out=landing).mean()))

    def values():
        """How long each station hears its satellites, and how high they come."""
        return heard.mean(axis=1).get().tolist() + best.mean(axis=1).get().tolist()

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
