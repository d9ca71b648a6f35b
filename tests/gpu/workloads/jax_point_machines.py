# SPDX-License-Identifier: Apache-2.0
"""JAX: what is wrong with a railway's points (dry slides, a stone in the way, a loose rod, ...) is told from the current that its
motor takes while they move, in three phases. A network learns that from curves that workshops have named; as a move takes two to
six seconds, each curve is cut where the motor runs, brought to 512 moments and divided by its median.

Wrong: NumPy does that curve by curve, anew for each batch of each epoch, and takes some ten times as long as the GPU, which has
nothing to do meanwhile.
fix: the curves are brought to 512 moments once, before the first epoch (host-bound).
useless: weights and Adam's numbers are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=12)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

CURVES, BATCHES, PHASES, MOMENTS, FAULTS, RATE = 256, 12, 3, 512, 6, 100.0
PIECES, WIDE, HIDDEN, MIXED, BLOCKS, SMOOTH, READ_EACH = 32, 256, 1024, 64, 3, 0.1, 25


def workshop():
    """Batches of curves, each (PHASES, its samples), and what was wrong."""
    random = numpy.random.default_rng(20)
    for _ in range(BATCHES):
        faults, curves = random.integers(0, FAULTS, CURVES), []
        for fault in faults:
            samples = int(random.integers(280, 620))
            at = numpy.linspace(0.0, 1.0, samples)
            runs = (at > 0.06) & (at < 0.94)
            rush = 5.0 * numpy.exp(-numpy.clip(at - 0.06, 0.0, None) * 30.0)
            bump = (0.3 + 0.1 * fault) * numpy.exp(-((at - 0.15 - 0.12 * fault) / 0.06) ** 2)
            phases = [1.0 + rush + bump * (1.0 + 0.1 * phase) for phase in range(PHASES)]
            noise = random.normal(0.0, 0.05, (PHASES, samples))
            curves.append((numpy.stack(phases) * runs + numpy.abs(noise) * 0.2 + noise * runs).astype(numpy.float32))
        yield curves, faults.astype(numpy.int32)


def prepared(curves):
    """Curves of one length, (CURVES, PHASES, MOMENTS), and how long the motors ran."""
    even = numpy.empty((CURVES, PHASES, MOMENTS), dtype=numpy.float32)
    lasted = numpy.empty(CURVES, dtype=numpy.float32)
    for row, curve in enumerate(curves):
        running = numpy.flatnonzero(curve[0] > 0.4)  # cause: loader
        first, last = running[0], running[-1]
        at, samples = numpy.linspace(first, last, MOMENTS), numpy.arange(curve.shape[1])  # cause: loader
        for phase in range(PHASES):
            even[row, phase] = numpy.interp(at, samples, curve[phase])  # cause: loader
        even[row] /= numpy.median(even[row])  # cause: loader
        lasted[row] = (last - first) / RATE
    return even, lasted


def weights(random):
    def dense(rows, columns):
        return jnp.asarray(random.normal(0.0, rows ** -0.5, (rows, columns)), dtype=jnp.float32)
    blocks = [{"mix": dense(PIECES, MIXED), "unmix": dense(MIXED, PIECES), "up": dense(WIDE, HIDDEN), "down": dense(HIDDEN, WIDE)}
              for _ in range(BLOCKS)]
    return {"first": dense(PHASES * MOMENTS // PIECES, WIDE), "place": dense(PIECES, WIDE), "blocks": blocks,
            "time": dense(1, WIDE), "last": dense(WIDE, FAULTS)}


def normed(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def told(params, even, lasted):
    """How likely each fault is, as logits."""
    pieces = even.reshape(CURVES, PHASES, PIECES, MOMENTS // PIECES).transpose(0, 2, 1, 3).reshape(CURVES, PIECES, -1)
    x = pieces @ params["first"] + params["place"] + lasted[:, None, None] * params["time"]
    for block in params["blocks"]:
        mixed = jax.nn.gelu(jnp.swapaxes(normed(x), 1, 2) @ block["mix"]) @ block["unmix"]
        x = x + jnp.swapaxes(mixed, 1, 2)
        x = x + jax.nn.gelu(normed(x) @ block["up"]) @ block["down"]
    return normed(x).mean(axis=1) @ params["last"]


def loss_of(params, even, lasted, faults):
    wanted = jax.nn.one_hot(faults, FAULTS) * (1.0 - SMOOTH) + SMOOTH / FAULTS
    return -(wanted * jax.nn.log_softmax(told(params, even, lasted))).sum(axis=1).mean()


def make(variant):
    batches = list(workshop())
    ready = [prepared(curves) for curves, _ in batches] if variant == "fix" else None
    params = weights(numpy.random.default_rng(21))
    adam = optax.adam(2e-4)
    state, usual = adam.init(params), jnp.ones((), dtype=jnp.float32)
    turn, seen = [0], [1.0]

    def one(params, state, usual, even, lasted, faults):
        loss, slopes = jax.value_and_grad(loss_of)(params, even, lasted, faults)
        updates, state = adam.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, usual + 0.02 * (loss - usual)

    train = jax.jit(one, donate_argnums=(0, 1) if variant == "useless" else ())
    now = [params, state, usual]

    def step():
        number = turn[0] % BATCHES
        turn[0] += 1
        curves, faults = batches[number]
        even, lasted = ready[number] if variant == "fix" else prepared(curves)  # cause: loader
        now[:] = train(*now, even, lasted, faults)  # cause: delayed
        if turn[0] % READ_EACH == 0:
            seen[0] = float(now[2])

    return fixable.Work(step, lambda: jax.block_until_ready(now), lambda: [float(now[2])])


run.main(make)
