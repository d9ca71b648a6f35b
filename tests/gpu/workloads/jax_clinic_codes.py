# SPDX-License-Identifier: Apache-2.0
"""JAX: a hospital wants to know who comes back within 30 days. What is known of a patient are the codes of diagnoses at each
visit ("E11.9") and when it was. A small transformer learns from 256 patients a step: of each of up to 72 codes the embedding of
the code, of its chapter and of how long ago it was told are added up.

Wrong: Python puts the codes of each batch together anew, from the visits, code by code, and the GPU waits for that.
fix: that is done once for each batch, before the loop (host-bound).
useless: weights and the state of Adam are donated.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=250, warm_up=10)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

PATIENTS, CODES, BATCHES, WIDTH, HEADS, LAYERS = 256, 72, 8, 128, 4, 2
KNOWN, CHAPTERS, AGOS, LOOK = 3000, 27, 13, 20  # KNOWN with 0 for none and 1 for one that is not known


def registry(random):
    """All codes that are in use, with rare ones left out of the table of numbers."""
    codes = sorted({"%s%02d.%d" % (chr(65 + letter), number, digit)
                    for letter, number, digit in random.integers(0, (26, 60, 10), (3600, 3)).tolist()})
    return codes, {code: 2 + k for k, code in enumerate(codes[:KNOWN - 2])}


def people(random, codes):
    """Visits of each patient, (day, codes) by time, and whether the patient came back."""
    odds = 1.0 / numpy.arange(1, len(codes) + 1)
    drawn = iter(random.choice(len(codes), PATIENTS * 40 * 10, p=odds / odds.sum()).tolist())
    visits = []
    for count in random.integers(8, 24, PATIENTS).tolist():
        days = numpy.sort(random.integers(0, 3000, count)).tolist()
        visits.append([(day, [codes[next(drawn)] for _ in range(size)])
                       for day, size in zip(days, random.integers(2, 7, count).tolist())])
    ill = numpy.array([sum(code[0] in "CFI" for _, found in v for code in found) / sum(len(f) for _, f in v) for v in visits])
    back = random.random(PATIENTS) < 1.0 / (1.0 + numpy.exp(-20.0 * (ill - ill.mean())))
    return visits, back.astype(numpy.float32)


def put_together(visits, table):
    """Numbers of codes, their chapters and how long ago they were told, the latest visits first, (3, PATIENTS, CODES)."""
    out = numpy.zeros((3, PATIENTS, CODES), dtype=numpy.int32)  # cause: loader
    for patient, seen in enumerate(visits):  # cause: loader
        last, at, known = seen[-1][0], 0, set()  # cause: loader
        for day, found in reversed(seen):  # cause: loader
            ago = 1 + min(AGOS - 2, int(math.log2(1 + last - day)))  # cause: loader
            for code in sorted(found):  # cause: loader
                if at == CODES or (code, ago) in known:  # cause: loader
                    continue  # cause: loader
                known.add((code, ago))  # cause: loader
                out[0, patient, at] = table.get(code, 1)  # cause: loader
                out[1, patient, at] = ord(code[0]) - 64  # cause: loader
                out[2, patient, at] = ago  # cause: loader
                at += 1  # cause: loader
    return out  # cause: loader


def weights(random):
    def some(*shape, scale):
        return jnp.asarray(random.normal(0.0, scale, shape), dtype=jnp.float32)
    thin = WIDTH ** -0.5
    layers = [{"qkv": some(WIDTH, 3 * WIDTH, scale=thin), "out": some(WIDTH, WIDTH, scale=0.5 * thin),
               "up": some(WIDTH, 4 * WIDTH, scale=thin), "down": some(4 * WIDTH, WIDTH, scale=0.25 * thin)}
              for _ in range(LAYERS)]
    return {"code": some(KNOWN, WIDTH, scale=0.1), "chapter": some(CHAPTERS, WIDTH, scale=0.1),
            "ago": some(AGOS, WIDTH, scale=0.1), "layers": layers, "end": some(WIDTH, scale=thin), "bias": jnp.zeros(())}


def normed(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def chances(w, told):
    """The logit of coming back, of each patient."""
    there = told[0] > 0
    x = w["code"][told[0]] + w["chapter"][told[1]] + w["ago"][told[2]]
    for layer in w["layers"]:
        q, k, v = jnp.split((normed(x) @ layer["qkv"]).reshape(PATIENTS, CODES, 3 * HEADS, WIDTH // HEADS), 3, axis=2)
        likes = jnp.einsum("pihd,pjhd->phij", q, k) * (WIDTH // HEADS) ** -0.5
        likes = jax.nn.softmax(jnp.where(there[:, None, None, :], likes, -1e9), axis=-1)
        x = x + jnp.einsum("phij,pjhd->pihd", likes, v).reshape(PATIENTS, CODES, WIDTH) @ layer["out"]
        x = x + jax.nn.gelu(normed(x) @ layer["up"]) @ layer["down"]
    mean = (normed(x) * there[:, :, None]).sum(axis=1) / there.sum(axis=1)[:, None]
    return mean @ w["end"] + w["bias"]


def make(variant):
    random = numpy.random.default_rng(20)
    codes, table = registry(random)
    batches = [people(random, codes) for _ in range(BATCHES)]
    ready = [put_together(visits, table) for visits, _ in batches] if variant == "fix" else None
    adam = optax.adam(1e-4)
    w = weights(random)
    now = [w, adam.init(w), None]
    turn, usual = [0], [0.7]

    def learn(w, state, told, back):
        loss, slopes = jax.value_and_grad(
            lambda w: optax.sigmoid_binary_cross_entropy(chances(w, told), back).mean())(w)
        changes, state = adam.update(slopes, state)
        return optax.apply_updates(w, changes), state, loss

    learn = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())

    def step():
        visits, back = batches[turn[0] % BATCHES]
        told = ready[turn[0] % BATCHES] if ready else put_together(visits, table)  # cause: loader
        turn[0] += 1
        now[:] = learn(now[0], now[1], told, back)  # cause: delayed
        if turn[0] % LOOK == 0:
            usual[0] += 0.1 * (float(now[2]) - usual[0])

    return fixable.Work(step, lambda: jax.block_until_ready(now[0]), lambda: list(usual))


run.main(make)
