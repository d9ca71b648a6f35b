# SPDX-License-Identifier: Apache-2.0
"""JAX: telephones learn together to tell from how they are shaken whether their owner walks, runs, cycles or sits in a bus, and
none of them gives away what it has felt (federated learning): in each round sixteen of them learn a bit, each on its own and
not too far away from the others (FedProx), and the mean of their weights is what all have then.

Wrong: the three functions that a telephone learns with have jax.jit, but the loops over the telephones, and over the steps that
each of them makes, are Python's: some two hundred calls of short kernels a round.
fix: a round is one function under jax.jit: jax.vmap goes over the telephones, lax.scan over their steps (launch-bound or
host-bound).
fix2: a telephone's step is one function under jax.jit, but the loops stay as they are (launch-bound or host-bound).
useless: the gradients and the sum of the weights are donated.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=700, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PHONES, WINDOWS, FELT, KINDS, CHOSEN, STEPS, BATCH, RATE, NEAR = 160, 256, 96, 6, 16, 4, 64, 0.05, 0.01


def telephones():
    """What each of them has felt, (PHONES, WINDOWS, FELT), and what its owner did then, (PHONES, WINDOWS)."""
    random = numpy.random.default_rng(20)
    did = random.integers(0, KINDS, (PHONES, WINDOWS), dtype=numpy.int32)
    usual = 0.25 * random.standard_normal((KINDS, FELT), dtype=numpy.float32)
    owner = 0.5 * random.standard_normal((PHONES, 1, FELT), dtype=numpy.float32)
    return usual[did] + owner + random.standard_normal((PHONES, WINDOWS, FELT), dtype=numpy.float32), did


def draw(felt, did, key):
    """Some of a telephone's windows by lot, and the key for the next lot."""
    key, lot = jax.random.split(key)
    rows = jax.random.randint(lot, (BATCH,), 0, WINDOWS)
    return felt[rows], did[rows], key


def loss_of(weights, felt, did):
    likely = jax.nn.log_softmax(felt @ weights["slope"] + weights["start"])
    return -(likely * jax.nn.one_hot(did, KINDS)).sum(axis=1).mean()


def move(own, shared, slopes):
    """Down the slope, and back to what is shared."""
    return jax.tree.map(lambda x, mean, slope: x - RATE * (slope + NEAR * (x - mean)), own, shared, slopes)


def add(total, own):
    return jax.tree.map(jnp.add, total, own)


def learn_once(own, shared, felt, did, key):
    """A step of a telephone: (its weights, the key for the next step, the loss)."""
    some_felt, some_did, key = draw(felt, did, key)
    loss, slopes = jax.value_and_grad(loss_of)(own, some_felt, some_did)
    return move(own, shared, slopes), key, loss


def learn_alone(shared, felt, did, key):
    """What a telephone does in a round: (its weights, the key for the next round, the loss of its last step)."""
    def once(carried, _):
        own, key, loss = learn_once(carried[0], shared, felt, did, carried[1])
        return (own, key), loss

    (own, key), losses = jax.lax.scan(once, (shared, key), None, length=STEPS)
    return own, key, losses[-1]


@jax.jit
def all_together(shared, felt, did, keys, chosen):
    some = shared, felt[chosen], did[chosen], keys[chosen]
    own, after, losses = jax.vmap(learn_alone, in_axes=(None, 0, 0, 0))(*some)
    return jax.tree.map(lambda x: x.mean(axis=0), own), keys.at[chosen].set(after), losses.mean()


@jax.jit
def mean_of(total, losses):
    return jax.tree.map(lambda x: x / CHOSEN, total), sum(losses) / CHOSEN


def make(variant):
    (felt, did), random = telephones(), numpy.random.default_rng(21)
    keys = [jax.random.PRNGKey(number) for number in range(PHONES)]
    if variant == "fix":
        felt, did, keys = jax.device_put(felt), jax.device_put(did), jnp.stack(keys)
    else:
        phones = [jax.device_put(own) for own in zip(felt, did)]
    now = {"weights": {"slope": jnp.zeros((FELT, KINDS)), "start": jnp.zeros(KINDS)}, "keys": keys}
    draws, slopes_of, steps_once = jax.jit(draw), jax.jit(jax.value_and_grad(loss_of)), jax.jit(learn_once)
    moves = jax.jit(move, donate_argnums=(2,) if variant == "useless" else ())
    adds = jax.jit(add, donate_argnums=(0,) if variant == "useless" else ())
    pending, usual = [], [1.8]

    def in_turn(shared, chosen):
        """The mean of what the chosen telephones have learnt, one after the other, and their mean loss."""
        total, losses = None, []
        for number in chosen:
            (felt, did), own, key = phones[number], shared, now["keys"][number]
            for _ in range(STEPS):
                if variant == "fix2":
                    own, key, loss = steps_once(own, shared, felt, did, key)
                    continue
                some_felt, some_did, key = draws(felt, did, key)  # cause: launch
                loss, slopes = slopes_of(own, some_felt, some_did)  # cause: launch
                own = moves(own, shared, slopes)  # cause: launch
            now["keys"][number] = key
            total = own if total is None else adds(total, own)  # cause: launch
            losses.append(loss)
        return mean_of(total, losses)  # cause: launch

    def step():
        chosen = random.permutation(PHONES)[:CHOSEN].astype(numpy.int32)
        if variant == "fix":
            now["weights"], now["keys"], loss = all_together(now["weights"], felt, did, now["keys"], chosen)
        else:
            now["weights"], loss = in_turn(now["weights"], chosen.tolist())  # cause: launch
        pending.append(loss)
        if len(pending) == LOOK_EVERY:
            usual[0] += 0.1 * (sum(float(one) for one in jax.device_get(pending)) / LOOK_EVERY - usual[0])
            pending.clear()

    return fixable.Work(step, lambda: jax.block_until_ready(now["weights"]), lambda: list(usual))


run.main(make)
