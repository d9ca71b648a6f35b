# SPDX-License-Identifier: Apache-2.0
"""JAX: reviews are judged by a transformer under jax.jit; since a jitted function wants one shape, each is filled up to 512 words.

Wrong: most of the words that the GPU computes are padding; it is at work throughout (gpu-bound).
fix: a batch is filled up to the next multiple of 128 words, which are two shapes in all (gpu-bound).
useless: the reviews are turned into numbers and put on the device before the loop.
"""
import fixable

SETS = 8

run = fixable.Program(__doc__, steps=320, warm_up=2 * SETS, multiple=SETS)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

BATCH, LONGEST, ROUND, KNOWN, WIDTH, HEADS, LAYERS, LOOK_EVERY = 48, 512, 128, 8000, 512, 8, 4, 20


def reviews(random):
    """Batches of texts, from the shortest to the longest: 20 to 240 words each."""
    lengths = numpy.sort(random.integers(20, 241, SETS * BATCH))
    texts = [" ".join("word%d" % number for number in random.zipf(1.3, length) % KNOWN) for length in lengths]
    return [texts[first:first + BATCH] for first in range(0, len(texts), BATCH)]


def network(random):
    def some(rows, columns, scale=1.0):
        return jnp.asarray(scale * random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(rows ** 0.5))

    layers = [{"in": some(WIDTH, 3 * WIDTH), "out": some(WIDTH, WIDTH),
               "up": some(WIDTH, 4 * WIDTH), "down": some(4 * WIDTH, WIDTH)} for _ in range(LAYERS)]
    return {"words": some(KNOWN + 1, WIDTH, 40.0), "places": some(LONGEST, WIDTH, 10.0), "layers": layers, "judge": some(WIDTH, 5)}


def normal(x):
    return (x - x.mean(axis=-1, keepdims=True)) / jnp.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


@jax.jit
def judge(params, words):
    count, length = words.shape
    there = words > 0
    x = params["words"][words] + params["places"][:length]
    for layer in params["layers"]:
        mine = (normal(x) @ layer["in"]).reshape(count, length, 3, HEADS, WIDTH // HEADS)
        asked, known, given = mine[:, :, 0], mine[:, :, 1], mine[:, :, 2]
        scores = jnp.einsum("bqhd,bkhd->bhqk", asked, known) / (WIDTH // HEADS) ** 0.5
        shares = jax.nn.softmax(jnp.where(there[:, None, None, :], scores, -1e9), axis=-1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", shares, given).reshape(count, length, WIDTH) @ layer["out"]
        x = x + jax.nn.gelu(normal(x) @ layer["up"]) @ layer["down"]
    share = there[:, :, None].astype(x.dtype)
    return jax.nn.softmax((normal(x) * share).sum(axis=1) / share.sum(axis=1) @ params["judge"])


def make(variant):
    random = numpy.random.default_rng(20)
    texts = reviews(random)
    params = network(random)
    vocabulary = {"word%d" % number: number + 1 for number in range(KNOWN)}
    turn, last, seen = [0], [], []

    def numbers(batch):
        """The words of some reviews as numbers, filled up with zeros."""
        rows = [[vocabulary[word] for word in text.split()] for text in batch]
        longest = max(len(row) for row in rows)
        length = (longest + ROUND - 1) // ROUND * ROUND if variant == "fix" else LONGEST
        filled = numpy.zeros((len(rows), length), numpy.int32)
        for place, row in zip(filled, rows):
            place[:len(row)] = row
        return filled

    ready = [jax.device_put(numbers(batch)) for batch in texts] if variant == "useless" else None

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        last[:] = [judge(params, ready[at] if ready else numbers(texts[at]))]
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = numpy.asarray(last[0]).reshape(-1).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(last), lambda: list(seen))


run.main(make)
