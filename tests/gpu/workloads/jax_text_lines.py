# SPDX-License-Identifier: Apache-2.0
"""JAX: how well a transformer reads lines of scanned text; its answers for a batch go to the host, where repeated letters and
gaps are taken out (CTC), and each line is compared with what is really written: how many letters must be changed (Levenshtein).

Wrong: Python fills the tables of the comparison cell by cell, while the GPU has nothing to do until the next batch is sent.
fix: NumPy compares all lines of a batch at once (host-bound).
fix2: a batch is read and compared when the next one is under way; its tables are filled as before (sync-bound).
useless: the pictures lie on the device before the loop.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

LINES, HEIGHT, WIDE, COLUMNS, LETTERS, LENGTH, SETS = 96, 32, 8, 64, 40, 20, 6
WIDTH, LAYERS, HEADS, NOISE = 768, 6, 12, 1.3


def pages(random, glyphs):
    """Pictures of lines, and what is written on them: (letters, lengths). 0 is no letter."""
    found = []
    for _ in range(SETS):
        lengths = random.integers(LENGTH - 6, LENGTH + 1, LINES)
        letters = random.integers(1, LETTERS, (LINES, LENGTH)) * (numpy.arange(LENGTH) < lengths[:, None])
        columns = numpy.zeros((LINES, COLUMNS), dtype=numpy.int64)
        places = numpy.cumsum(random.integers(2, 4, (LINES, LENGTH)), axis=1)  # with a gap between letters
        numpy.put_along_axis(columns, places, letters, axis=1)
        seen = glyphs[columns] + NOISE * random.standard_normal((LINES, COLUMNS, HEIGHT * WIDE), dtype=numpy.float32)
        found.append(((numpy.clip(127.0 + 30.0 * seen, 0.0, 255.0)).astype(numpy.uint8), letters, lengths))
    return found


def reader(random, glyphs):
    """Weights that have learnt the letters."""
    def some(*shape, size):
        return jnp.asarray(size * random.standard_normal(shape, dtype=numpy.float32) / numpy.sqrt(shape[0]))

    into = random.standard_normal((HEIGHT * WIDE, WIDTH), dtype=numpy.float32) / numpy.sqrt(WIDTH)
    layers = [{"three": some(WIDTH, 3 * WIDTH, size=1.0), "out": some(WIDTH, WIDTH, size=0.05),
               "up": some(WIDTH, 4 * WIDTH, size=1.0), "down": some(4 * WIDTH, WIDTH, size=0.05)} for _ in range(LAYERS)]
    square = numpy.square(glyphs).sum(axis=1)
    return {"in": jnp.asarray(into), "layers": layers, "head": jnp.asarray((glyphs @ into).T.copy()),
            "bias": jnp.asarray(-0.5 * square)}


def normal(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


@jax.jit
def read(weights, pictures):
    """The likeliest letter of each column."""
    x = (pictures.astype(jnp.float32) - 127.0) / 30.0 @ weights["in"]
    for layer in weights["layers"]:
        parts = (normal(x) @ layer["three"]).reshape(LINES, COLUMNS, 3, HEADS, WIDTH // HEADS)
        query, key, value = (parts[:, :, number].transpose(0, 2, 1, 3) for number in range(3))
        heed = jax.nn.softmax(query @ key.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5)
        x = x + (heed @ value).transpose(0, 2, 1, 3).reshape(LINES, COLUMNS, WIDTH) @ layer["out"]
        x = x + jax.nn.gelu(normal(x) @ layer["up"]) @ layer["down"]
    return jnp.argmax(x @ weights["head"] + weights["bias"], axis=-1)


def distance(one, other):
    """How many letters must be put in, taken out or changed."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], number
        for at, wanted in enumerate(other, 1):  # cause: loader
            diagonal, row[at] = row[at], min(diagonal + (letter != wanted), row[at] + 1, row[at - 1] + 1)  # cause: loader
    return row[-1]


def one_by_one(columns, letters, lengths):
    """Wrong letters of each line."""
    wrong = []
    for line, written, length in zip(columns.tolist(), letters.tolist(), lengths.tolist()):
        text = [letter for before, letter in zip([0] + line, line) if letter and letter != before]  # cause: loader
        wrong.append(distance(text, written[:length]))  # cause: loader
    return numpy.array(wrong)


def at_once(columns, letters, lengths):
    """The same: a row of all lines' tables at a time."""
    before = numpy.pad(columns, ((0, 0), (1, 0)))[:, :-1]
    good = (columns != 0) & (columns != before)
    counts = good.sum(axis=1)
    texts = numpy.take_along_axis(columns, numpy.argsort(~good, axis=1, kind="stable"), axis=1)[:, :counts.max()]
    ends = numpy.arange(LENGTH + 1, dtype=numpy.int32)
    row = numpy.broadcast_to(ends, (LINES, LENGTH + 1)).copy()
    answer = numpy.where(counts == 0, lengths, 0)
    for number in range(1, texts.shape[1] + 1):
        new = row + 1
        changed = row[:, :-1] + (texts[:, number - 1:number] != letters)
        numpy.minimum(new[:, 1:], changed, out=new[:, 1:])
        row = numpy.minimum.accumulate(new - ends, axis=1) + ends  # what is put in
        here = counts == number
        answer[here] = row[here, lengths[here]]
    return answer


def make(variant):
    random = numpy.random.default_rng(20)
    glyphs = numpy.where(random.random((LETTERS, HEIGHT * WIDE)) < 0.3, 1.0, -0.3).astype(numpy.float32)
    glyphs[0] = 0.0
    weights, data = reader(random, glyphs), pages(random, glyphs)
    if variant == "useless":
        data = [(jax.device_put(pictures), letters, lengths) for pictures, letters, lengths in data]
    compare = at_once if variant == "fix" else one_by_one
    turn, pending, mean, lines = [0], [], [0.0], numpy.zeros((SETS, LINES))

    def count(columns, at):
        letters, lengths = data[at][1:]
        wrong = compare(numpy.asarray(columns), letters, lengths)  # cause: loader
        lines[at] = wrong / lengths
        mean[0] += 0.05 * (wrong.sum() / lengths.sum() - mean[0])

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        columns = read(weights, data[at][0])  # cause: delayed
        if variant != "fix2":
            count(columns, at)  # cause: loader
            return
        pending.append((columns, at))
        if len(pending) > 1:
            count(*pending.pop(0))

    def wait():
        while pending:
            count(*pending.pop(0))

    return fixable.Work(step, wait, lambda: mean + lines.mean(axis=1).tolist())


run.main(make)
