# SPDX-License-Identifier: Apache-2.0
"""JAX: where 2048 towns of the Roman empire lay is told from lists of how many miles it was from one to another, as copyists have
handed them down, with their errors: places are looked for whose distances are as the lists have them (stress). How sure a
place is, is told by doing it again and again with other weights of the distances. A descent has 40 tries of a step down
the slope; the steps become longer when they help, and shorter when they do not.

Wrong: behind each try the host reads its costs, to decide whether to take it and how long the next one is, and the GPU has
nothing to do until then.
fix: jnp.where decides on the GPU, and costs are read behind ten descents (sync-bound).
fix2: the same, and the tries of a descent are one call, with lax.fori_loop (sync-bound).
useless: the mean of all places is donated.
"""
import fixable

LOOK_EVERY = 10

run = fixable.Program(__doc__, steps=400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

TOWNS, TRIES, WEIGHTS, MILES, LONGER, SHORTER, FIRST, KEEPS = 2048, 40, 6, 1500.0, 1.25, 0.5, 0.7, 0.999


def lists(random):
    """How far towns are from each other by the lists, weights of that for each descent, and where to begin."""
    places = random.random((TOWNS, 2)) * (MILES, 0.6 * MILES)
    far = numpy.sqrt(numpy.square(places[:, None] - places).sum(axis=2))
    wrong = numpy.exp(0.15 * random.standard_normal(far.shape))
    told = far * numpy.sqrt(wrong * wrong.T)
    known = random.random(far.shape) < 0.1
    known = (known | known.T) & (far > 0.0)
    weights = []
    for _ in range(WEIGHTS):
        chance = random.exponential(1.0, far.shape)
        weights.append((known * (chance + chance.T) / (20.0 + told)).astype(numpy.float32))
    begin = places + 150.0 * random.standard_normal(places.shape)
    return told.astype(numpy.float32), weights, begin.astype(numpy.float32)


def costs_of(places, told, weight):
    """The costs, and their slope for each town by the sum of its weights."""
    across = places[:, 0, None] - places[:, 0]
    along = places[:, 1, None] - places[:, 1]
    far = jnp.sqrt(across * across + along * along + 1e-3)
    off = weight * (far - told)
    pull = off / far
    slope = jnp.stack(((pull * across).sum(axis=1), (pull * along).sum(axis=1)), axis=1)
    return 0.5 * (off * (far - told)).sum() / TOWNS, slope / (weight.sum(axis=1) + 1e-6)[:, None]


def next_try(place, slope, rate, mean):
    return place - rate * slope, KEEPS * mean + (1.0 - KEEPS) * place


def one_more(state, told, weight):
    """A try, where the GPU decides."""
    place, slope, best, rate, trial, mean = state
    costs, there = costs_of(trial, told, weight)
    good = costs < best
    place, slope, best = jnp.where(good, trial, place), jnp.where(good, there, slope), jnp.where(good, costs, best)
    rate = rate * jnp.where(good, LONGER, SHORTER)
    trial, mean = next_try(place, slope, rate, mean)
    return place, slope, best, rate, trial, mean


def all_of_them(state, told, weight):
    return jax.lax.fori_loop(0, TRIES, lambda _, state: one_more(state, told, weight), state)


def make(variant):
    told, weights, begin = lists(numpy.random.default_rng(20))
    told, begin = jax.device_put(told), jax.device_put(begin)
    weights = [jax.device_put(weight) for weight in weights]
    flat, large, first = jnp.zeros_like(begin), jnp.float32(jnp.inf), jnp.float32(FIRST)
    mean, turn, pending, usual = [begin + 0.0], [0], [], [0.0]
    costs_at, go_on, at_once = jax.jit(costs_of), jax.jit(one_more), jax.jit(all_of_them)
    move = jax.jit(next_try, donate_argnums=(3,) if variant == "useless" else ())

    def descend(weight):
        """The costs at the end, and the places."""
        if variant in ("fix", "fix2"):
            state = (begin, flat, large, first, begin, mean[0])
            if variant == "fix2":
                state = at_once(state, told, weight)
            else:
                for _ in range(TRIES):
                    state = go_on(state, told, weight)
            mean[0] = state[5]
            return state[2], state[0]
        place, slope, best, rate, trial = begin, flat, float("inf"), FIRST, begin
        for _ in range(TRIES):
            costs, there = costs_at(trial, told, weight)
            costs = float(costs)  # cause: wait,copy
            if costs < best:
                place, slope, best = trial, there, costs
                rate *= LONGER
            else:
                rate *= SHORTER
            trial, mean[0] = move(place, slope, numpy.float32(rate), mean[0])
        return best, place

    def step():
        pending.append(descend(weights[turn[0] % WEIGHTS]))  # cause: wait,copy
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            for costs, _ in pending:
                usual[0] += 0.05 * (float(costs) - usual[0])
            usual[1:] = numpy.asarray(pending[-1][1])[:4].ravel().tolist()
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(mean), lambda: list(usual))


run.main(make)
