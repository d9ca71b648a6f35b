# SPDX-License-Identifier: Apache-2.0
"""JAX, Optax: a wholesaler of medicines wants to know which pharmacies run out of something before the week ends. A day of one is
the 16 to 24 lines it has sold, as its till has written them: a name, a strength, a form, how often a day and for how many days.
Lines are cut into words, names and forms become numbers by a hash, grams and doses become logarithms, and lines that were sold
before on that day are counted. A network of dense layers over the lines and their mean learns from 256 pharmacies at a time.

Wrong: Python makes numbers of the lines anew in each epoch, in the thread that calls the GPU, and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
useless: the usual loss, which is read once in 25 steps, is not read before the end.
"""
import math
import zlib

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=14)
jax, jnp, numpy, optax = fixable.load_jax("jax.numpy", "numpy", "optax")

BATCHES, BATCH, LONGEST, NAMES, FORMS, WIDE, SHOWN = 12, 256, 24, 4096, 64, 128, 25
GRAMS = {"g": 1.0, "mg": 1e-3, "mcg": 1e-6}
STEMS = ("amoxi", "ibupro", "metfor", "levothy", "ramip", "panto", "simva", "torase")
ENDS = ("cillin", "fen", "min", "roxin", "ril", "prazole", "statin", "mide")
KINDS = ("Tabs", "Caps", "Drops", "Cream", "Syrup", "Spray")


def sold():
    """The lines of each pharmacy's day, and whether it has run out, which those that sell for longer do more often."""
    luck = numpy.random.default_rng(20)
    days, out = [], luck.random(BATCHES * BATCH) < 0.4
    for short in out:
        lines = []
        for _ in range(int(luck.integers(16, LONGEST + 1))):
            stem, end, kind, amount, often, unit = (int(number) for number in luck.integers(0, (8, 8, 6, 40, 4, 3)))
            lasts = int(luck.integers(5, 60 if short else 30))
            lines.append("%s%s %d %s %s, %dx daily, %d days" % (STEMS[stem].capitalize(), ENDS[end], 5 * (amount + 1),
                                                                ("mg", "mcg", "g")[unit], KINDS[kind], often + 1, lasts))
        days.append(lines)
    return days, out.astype(numpy.float32)


def numbers_of(days):
    """(days, LONGEST) names and forms, and (days, LONGEST, 4) of strength, doses, sold before, and whether there is a line."""
    names = numpy.zeros((len(days), LONGEST), dtype=numpy.int32)
    forms = numpy.zeros((len(days), LONGEST), dtype=numpy.int32)
    amounts = numpy.zeros((len(days), LONGEST, 4), dtype=numpy.float32)
    for row, lines in enumerate(days):
        before = {}
        for place, line in enumerate(lines):  # cause: loader
            name, strength, unit, form, often, _, lasts, _ = line.lower().replace(",", "").split()  # cause: loader
            number = zlib.crc32(name.encode()) % NAMES  # cause: loader
            names[row, place], forms[row, place] = number, zlib.crc32(form.encode()) % FORMS  # cause: loader
            doses = int(often[:-1]) * int(lasts)  # cause: loader
            grams = 0.1 * math.log(float(strength) * GRAMS[unit])  # cause: loader
            amounts[row, place] = grams, 0.2 * math.log(doses), before.get(number, 0), 1.0  # cause: loader
            before[number] = before.get(number, 0) + 1  # cause: loader
    return names, forms, amounts


def weights():
    """The network's weights: two tables, three dense layers over the lines, and two over the mean."""
    keys = iter(jax.random.split(jax.random.PRNGKey(20), 8))

    def dense(rows, columns):
        return jax.random.normal(next(keys), (rows, columns), jnp.float32) / math.sqrt(rows), jnp.zeros(columns, jnp.float32)
    return {"names": 0.1 * jax.random.normal(next(keys), (NAMES, WIDE), jnp.float32),
            "forms": 0.1 * jax.random.normal(next(keys), (FORMS, WIDE), jnp.float32),
            "lines": [dense(4, WIDE), dense(WIDE, 2 * WIDE), dense(2 * WIDE, WIDE)],
            "mean": [dense(WIDE, WIDE), dense(WIDE, 1)]}


def doubt(given, names, forms, amounts):
    """How likely it is that a pharmacy runs out."""
    (first, shift), *others = given["lines"]
    lines = given["names"][names] + given["forms"][forms] + amounts @ first + shift
    for matrix, shift in others:
        lines = jax.nn.gelu(lines) @ matrix + shift
    there = amounts[:, :, 3:]
    mean = (lines * there).sum(axis=1) / there.sum(axis=1)
    (last, shift), (end, bias) = given["mean"]
    return (jax.nn.gelu(mean @ last + shift) @ end + bias)[:, 0]


def make(variant):
    days, out = sold()
    rule = optax.adamw(3e-4, weight_decay=0.01)
    given = weights()
    now, turn, curve = [given, jax.jit(rule.init)(given), jax.device_put(numpy.float32(0.7))], [0], []

    @jax.jit
    def learned(given, moments, usual, names, forms, amounts, truth):
        """A step of training, and the usual loss."""
        def wrong(given):
            return optax.sigmoid_binary_cross_entropy(doubt(given, names, forms, amounts), truth).mean()
        loss, slopes = jax.value_and_grad(wrong)(given)
        moves, moments = rule.update(slopes, moments, given)
        return optax.apply_updates(given, moves), moments, usual + 0.02 * (loss - usual)

    def batch(number):
        """The days of a batch as numbers, and who has run out."""
        part = slice(number * BATCH, (number + 1) * BATCH)
        return *numbers_of(days[part]), out[part]  # cause: loader

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        numbers = ready[number] if ready else batch(number)  # cause: loader
        now[:] = learned(*now, *numbers)  # cause: delayed
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(float(now[2]))

    return fixable.Work(step, lambda: jax.block_until_ready(now[2]), lambda: [float(now[2])])


run.main(make)
