# SPDX-License-Identifier: Apache-2.0
"""JAX: a telescope for neutrinos is a cubic kilometre of ice with 5160 sensors of light. Each step has 128 events, as lists of
hits (string, sensor, time, charge) from the detector's computers: weak hits are left out, the others are put in the order of
their times, and the first 64 go to an array with the sensors' places. How likely a muon came from each of 49152 directions
(times and charges by Cherenkov's light) gives the mean direction of each event, and all together a map of the sky.

Wrong: Python goes through each event's hits, which takes the most time, and the GPU waits for it; then the host reads the events'
directions, and waits for the GPU, which takes about half as long.
fix: the hits are put into arrays once, before the loop (host-bound).
fix2: directions stay on the device, and those of 20 steps are read together, four steps behind the last of them (sync-bound).
useless: the map of the sky is donated.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

STRINGS, SENSORS, EVENTS, SETS, HITS, DIRECTIONS, TOGETHER, BEHIND = 86, 60, 128, 6, 64, 49152, 20, 4
LIGHT, SLANT, FADE, BLUR, BRIGHT, EARLY, DARK = 0.2998, 0.87, 35.0, 60.0, 5.0, 80.0, 0.25  # metres, nanoseconds, photons


def telescope():
    """Places of the sensors by string and number."""
    places = {}
    for string in range(STRINGS):
        row, column = divmod(string, 10)
        for number in range(SENSORS):
            places[string, number] = (125.0 * (column - 4.5) + 62.5 * (row % 2), 108.0 * (row - 4.0), 17.0 * (29.5 - number))
    return places


def night(random, places):
    """Events of one step, as lists of hits."""
    names = list(places)
    where = numpy.array([places[name] for name in names])
    events = []
    for _ in range(EVENTS):
        way = random.normal(size=3)
        way /= numpy.linalg.norm(way)
        away = where - random.uniform(-200.0, 200.0, 3)
        along = away @ way
        beside = numpy.sqrt(numpy.maximum((away ** 2).sum(axis=1) - along ** 2, 1.0))
        hit = numpy.argsort(beside * random.uniform(0.5, 1.5, beside.size))[:random.integers(56, 112)]
        times = 9000.0 + (along + SLANT * beside)[hit] / LIGHT + random.exponential(30.0, hit.size)
        charges = random.gamma(1.5, 0.8, hit.size)
        order = random.permutation(hit.size)
        events.append([(*names[hit[k]], float(times[k]), float(charges[k])) for k in order])
    return events


def arrays(events, places):
    """Hits of all events, side by side: place, time, charge, and 1 where there is one."""
    whole = numpy.zeros((EVENTS, HITS, 6), dtype=numpy.float32)
    for number, hits in enumerate(events):
        good = [hit for hit in hits if hit[3] > DARK]  # cause: loader
        good.sort(key=lambda hit: hit[2])  # cause: loader
        rows = [(*places[string, sensor], time, charge, 1.0) for string, sensor, time, charge in good[:HITS]]  # cause: loader
        whole[number, :len(rows)] = rows  # cause: loader
    return whole


def sphere():
    """Directions that are spread evenly."""
    number = numpy.arange(DIRECTIONS) + 0.5
    up = 1.0 - 2.0 * number / DIRECTIONS
    around = numpy.pi * (1.0 + 5.0 ** 0.5) * number
    flat = numpy.sqrt(1.0 - up * up)
    return numpy.stack((flat * numpy.cos(around), flat * numpy.sin(around), up), axis=1).astype(numpy.float32)


def fit(hits, ways, sky):
    """Each event's mean direction and the best direction's likelihood, (EVENTS, 4), and the map of the sky."""
    where, when, charge, there = hits[:, :, :3], hits[:, :, 3], hits[:, :, 4], hits[:, :, 5]
    weight = charge * there
    weight = weight / weight.sum(axis=1, keepdims=True)
    away = where - (where * weight[:, :, None]).sum(axis=1, keepdims=True)
    later = when - (when * weight).sum(axis=1, keepdims=True) + EARLY
    square = (away * away).sum(axis=2)
    along = sum(away[:, None, :, k] * ways[None, :, None, k] for k in range(3))
    beside = jnp.sqrt(jnp.maximum(square[:, None, :] - along * along, 1.0))
    late = (later[:, None, :] - (along + SLANT * beside) / LIGHT) / BLUR
    light = BRIGHT - beside / FADE - jnp.log(beside + 5.0)
    likely = charge[:, None, :] * light - jnp.exp(light) - jnp.log1p(late * late)
    likely = (likely * there[:, None, :]).sum(axis=2)
    odds = jax.nn.softmax(0.1 * likely, axis=1)
    found = jnp.concatenate((odds @ ways, 0.01 * likely.max(axis=1, keepdims=True)), axis=1)
    return found, 0.98 * sky + odds.mean(axis=0)


def make(variant):
    random = numpy.random.default_rng(20)
    places = telescope()
    nights = [night(random, places) for _ in range(SETS)]
    ready = [arrays(events, places) for events in nights] if variant == "fix" else None
    ways, sky = jax.device_put(sphere()), [jnp.zeros(DIRECTIONS, dtype=jnp.float32)]
    turn, pending, usual = [0], [], [0.0, 0.0]
    fitted = jax.jit(fit, donate_argnums=(2,) if variant == "useless" else ())

    def note(found):
        """How straight up the muons go, and how well they fit."""
        usual[0] += 0.05 * (float(found[:, 2].mean()) - usual[0])
        usual[1] += 0.05 * (float(found[:, 3].mean()) - usual[1])

    def note_some(number):
        for found in jax.device_get(pending[:number]):
            note(found)
        del pending[:number]

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        hits = ready[number] if variant == "fix" else arrays(nights[number], places)  # cause: loader
        found, sky[0] = fitted(hits, ways, sky[0])  # cause: delayed
        if variant == "fix2":
            pending.append(found)
            if len(pending) == TOGETHER + BEHIND:
                note_some(TOGETHER)
        else:
            note(numpy.asarray(found))  # cause: wait,copy

    def wait():
        note_some(len(pending))
        jax.block_until_ready(sky[0])

    return fixable.Work(step, wait, lambda: list(usual) + [float(sky[0].max()), float(sky[0].sum()) / 100.0])


run.main(make)
