# SPDX-License-Identifier: Apache-2.0
"""JAX and optax: a network learns to heat and to air greenhouses (REINFORCE): on 4096 simulated ones a day goes by in 48 half
hours, in each of which it sees the climate and acts; then it is told what the day's energy and the plants' discomfort were.

Wrong: a loop in Python goes through the half hours, with a handful of small launches for each one.
fix: lax.scan goes through the day within one jitted function (launch-bound or host-bound).
fix2: one jitted function makes a whole half hour, but for the loop (launch-bound or host-bound).
useless: the weights and Adam's moments are donated.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

HOUSES, HALF_HOURS, SEEN, WIDTH, ACTIONS, SPREAD, DISCOUNT = 4096, 48, 8, 64, 2, 0.3, 0.9
TARGET, DAMPEST, PRICE, TIME = 21.0, 0.8, 0.6, 0.1
adam = optax.adam(3e-4)


def weather(clock):
    """The sine and cosine of the hour, how warm it is outside, and the sun."""
    hour = 2.0 * jnp.pi * (clock % HALF_HOURS) / HALF_HOURS
    return jnp.sin(hour), jnp.cos(hour), 7.0 + 6.0 * jnp.sin(hour - 2.2), jnp.maximum(0.0, -jnp.cos(hour))


def look(houses):
    """What the network sees: (HOUSES, SEEN)."""
    same = [jnp.broadcast_to(number, (HOUSES,)) for number in weather(houses["clock"])]
    same[2] = 0.1 * same[2]
    own = [0.1 * (houses["air"] - TARGET), 0.1 * (houses["soil"] - TARGET), houses["damp"], houses["glass"]]
    return jnp.stack(own + same, axis=1)


def meant(weights, seen):
    """How far the heating and the vents are opened on average, before the sigmoid."""
    for number in range(2):
        seen = jnp.tanh(seen @ weights["w%d" % number] + weights["b%d" % number])
    return seen @ weights["w2"] + weights["b2"]


def act(weights, houses, key):
    seen = look(houses)
    return seen, meant(weights, seen) + SPREAD * jax.random.normal(key, (HOUSES, ACTIONS))


def climate(houses, action):
    """The greenhouses half an hour later, and the reward."""
    heat, vents = jax.nn.sigmoid(action[:, 0]), jax.nn.sigmoid(action[:, 1])
    _, _, outside, sun = weather(houses["clock"])
    air, soil, damp = houses["air"], houses["soil"], houses["damp"]
    gained = 9.0 * heat + 6.0 * sun * houses["glass"] + 0.4 * (soil - air)
    lost = (0.3 + 0.9 * vents) * (air - outside)
    dried = (0.1 + 1.5 * vents) * (damp - 0.4)
    later = dict(houses, air=air + TIME * (gained - lost), soil=soil + 0.2 * TIME * (air - soil),
                 damp=damp + TIME * (0.15 + 0.3 * sun - dried), clock=houses["clock"] + 1)
    discomfort = 0.03 * jnp.square(later["air"] - TARGET) + 4.0 * jnp.maximum(0.0, later["damp"] - DAMPEST)
    return later, -discomfort - PRICE * heat


def half_hour(weights, houses, key):
    key, now = jax.random.split(key)
    seen, action = act(weights, houses, now)
    houses, reward = climate(houses, action)
    return houses, key, (seen, action, reward)


def learn(weights, moments, told):
    """One step of Adam after a day: (weights, Adam's moments, the mean reward)."""
    seen, actions, rewards = told

    def go_back(after, reward):
        after = reward + DISCOUNT * after
        return after, after

    _, worth = jax.lax.scan(go_back, jnp.zeros(HOUSES), rewards, reverse=True, unroll=8)
    worth = worth - worth.mean(axis=1, keepdims=True)

    def loss(weights):
        unlikely = 0.5 * jnp.square((actions - meant(weights, seen)) / SPREAD).sum(axis=2)
        return (worth * unlikely).mean()

    change, moments = adam.update(jax.grad(loss)(weights), moments, weights)
    return optax.apply_updates(weights, change), moments, rewards.mean()


def learn_from_list(weights, moments, told):
    return learn(weights, moments, jax.tree_util.tree_map(lambda *each: jnp.stack(each), *told))


@jax.jit
def whole_day(weights, houses, key):
    def next_one(carried, _):
        houses, key, told = half_hour(weights, *carried)
        return (houses, key), told

    (houses, key), told = jax.lax.scan(next_one, (houses, key), None, length=HALF_HOURS)
    return houses, key, told


def make(variant):
    random = numpy.random.default_rng(20)
    sizes = (SEEN, WIDTH, WIDTH, ACTIONS)
    weights = {"b%d" % n: jnp.zeros(size) for n, size in enumerate(sizes[1:])}
    for n in range(3):
        drawn = random.standard_normal((sizes[n], sizes[n + 1])) / sizes[n] ** 0.5
        weights["w%d" % n] = jnp.asarray(drawn, dtype=jnp.float32)
    start = {name: random.uniform(low, high, HOUSES) for name, low, high in (
        ("air", 12.0, 24.0), ("soil", 14.0, 20.0), ("damp", 0.5, 0.9), ("glass", 0.5, 1.0))}
    houses = {name: jnp.asarray(array, dtype=jnp.float32) for name, array in start.items()}
    houses["clock"] = jnp.zeros((), dtype=jnp.int32)
    now = {"weights": weights, "moments": adam.init(weights), "houses": houses, "key": jax.random.PRNGKey(20)}
    turn, pending, usual = [0], [], [0.0]
    acts, moves, together, learns = jax.jit(act), jax.jit(climate), jax.jit(half_hour), jax.jit(learn)
    learns_from_list = jax.jit(learn_from_list, donate_argnums=(0, 1) if variant == "useless" else ())

    def day(weights, houses, key):
        """The greenhouses a day later, and what was seen, done and got in each half hour."""
        told = []
        for _ in range(HALF_HOURS):
            if variant == "fix2":
                houses, key, one = together(weights, houses, key)
                told.append(one)
                continue
            key, lot = jax.random.split(key)  # cause: launch
            seen, action = acts(weights, houses, lot)  # cause: launch
            houses, reward = moves(houses, action)  # cause: launch
            told.append((seen, action, reward))
        return houses, key, told

    def step():
        go, keep = (whole_day, learns) if variant == "fix" else (day, learns_from_list)
        now["houses"], now["key"], told = go(now["weights"], now["houses"], now["key"])  # cause: launch
        now["weights"], now["moments"], reward = keep(now["weights"], now["moments"], told)
        pending.append(reward)
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (sum(float(one) for one in jax.device_get(pending)) / LOOK_EVERY - usual[0])
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(now["weights"]), lambda: list(usual))


run.main(make)
