# SPDX-License-Identifier: Apache-2.0
"""transformers: novels and their translations are put side by side for people who learn a language: a BERT gives each sentence of
a chapter a vector, and the best way through both is looked for, on which a sentence may have one across from it, two, or none.

Wrong: the way is looked for by Python, place by place in a table of all pairs of sentences, while the GPU has nothing to do.
fix: NumPy goes through the table by its slanting lines, all places of which are found at once (host-bound).
useless: the words of the next chapter go to the GPU from pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

CHAPTERS, ORIGINAL, TRANSLATED, LONGEST, SHORTEST, WORDS, WIDTH, LAYERS = 5, 128, 136, 28, 8, 12000, 384, 6
ENOUGH, SKIPPED, MERGED = 0.3, 0.1, 0.45  # how alike two must be at least; what a lone sentence costs; of two that are one
ONE, LONE, EXTRA, JOINED, PARTED = range(5)  # ways to come to a place
BACK = ((1, 1), (1, 0), (0, 1), (2, 1), (1, 2))


def chapters():
    """Words of both texts' sentences, and which of them are words: (ORIGINAL + TRANSLATED, LONGEST) each. Most words of a
    translation are another word for the same, which the model has learnt; here it is the word itself."""
    random = numpy.random.default_rng(20)
    for _ in range(CHAPTERS):
        words = random.integers(1, WORDS, (ORIGINAL, LONGEST))
        lengths = random.integers(SHORTEST, LONGEST + 1, ORIGINAL)
        source = numpy.sort(random.integers(0, ORIGINAL, TRANSLATED - ORIGINAL + 10))
        order = numpy.sort(numpy.concatenate((numpy.arange(ORIGINAL), source)))[:TRANSLATED]
        other = words[order]
        free = random.random(other.shape) < 0.25
        other[free] = random.integers(1, WORDS, int(free.sum()))
        both = numpy.concatenate((words, other))
        there = numpy.arange(LONGEST) < numpy.concatenate((lengths, lengths[order]))[:, None]
        yield torch.from_numpy(both * there), torch.from_numpy(there.astype(numpy.int64))


def gains_of(alike):
    """What it brings to put one across from one, two from one, and one from two."""
    one = alike.astype(numpy.float64) - ENOUGH
    return one, MERGED * (one[:-1] + one[1:]), MERGED * (one[:, :-1] + one[:, 1:])


def place_by_place(gains):
    """How good the best way is to each place, and how it comes there."""
    one, joined, parted = [gain.tolist() for gain in gains]
    rows, columns = len(one), len(one[0])
    best = [[-math.inf] * (columns + 1) for _ in range(rows + 1)]
    came = [[ONE] * (columns + 1) for _ in range(rows + 1)]
    best[0][0] = 0.0
    for i in range(rows + 1):
        for j in range(columns + 1):
            top, how = best[i][j], ONE
            if i > 0 and j > 0:
                value = best[i - 1][j - 1] + one[i - 1][j - 1]  # cause: loader
                if value > top:
                    top, how = value, ONE
            if i > 0:
                value = best[i - 1][j] - SKIPPED  # cause: loader
                if value > top:
                    top, how = value, LONE
            if j > 0:
                value = best[i][j - 1] - SKIPPED  # cause: loader
                if value > top:
                    top, how = value, EXTRA
            if i > 1 and j > 0:
                value = best[i - 2][j - 1] + joined[i - 2][j - 1]  # cause: loader
                if value > top:
                    top, how = value, JOINED
            if i > 0 and j > 1:
                value = best[i - 1][j - 2] + parted[i - 1][j - 2]  # cause: loader
                if value > top:
                    top, how = value, PARTED
            best[i][j], came[i][j] = top, how  # cause: loader
    return best[rows][columns], lambda i, j: came[i][j]


def line_by_line(gains):
    """The same; line d has the places with i + j = d, and lies in row d + 3 of `best`, from its third number on."""
    rows, columns = gains[0].shape
    slanted = numpy.full((3, rows + columns + 1, rows + 1), -numpy.inf)
    for number, (gain, (down, right)) in enumerate(zip(gains, (BACK[ONE], BACK[JOINED], BACK[PARTED]))):
        i, j = numpy.indices(gain.shape)
        slanted[number, i + j + down + right, i + down] = gain
    best = numpy.full((rows + columns + 4, rows + 3), -numpy.inf)
    came = numpy.zeros((rows + columns + 1, rows + 1), dtype=numpy.int8)
    best[3, 2] = 0.0
    options = numpy.empty((5, rows + 1))
    for d in range(1, rows + columns + 1):
        low, high = max(0, d - columns), min(rows, d) + 1
        now = options[:, :high - low]
        one, joined, parted = slanted[:, d, low:high]
        numpy.add(best[d + 1, low + 1:high + 1], one, out=now[ONE])
        numpy.subtract(best[d + 2, low + 1:high + 1], SKIPPED, out=now[LONE])
        numpy.subtract(best[d + 2, low + 2:high + 2], SKIPPED, out=now[EXTRA])
        numpy.add(best[d, low:high], joined, out=now[JOINED])
        numpy.add(best[d, low + 1:high + 1], parted, out=now[PARTED])
        came[d, low:high] = now.argmax(axis=0)
        now.max(axis=0, out=best[d + 3, low + 2:high + 2])
    return float(best[rows + columns + 3, rows + 2]), lambda i, j: int(came[i + j, i])


def way_back(came):
    """The pairs of sentences or groups of them, from the end to the beginning."""
    i, j, pairs = ORIGINAL, TRANSLATED, []
    while i > 0 or j > 0:
        how = came(i, j)
        down, right = BACK[how]
        i, j = i - down, j - right
        pairs.append((i, down, j, right))
    return pairs


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    config = transformers.BertConfig(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=6,
                                     intermediate_size=4 * WIDTH, max_position_embeddings=64)
    model = transformers.BertModel(config, add_pooling_layer=False).to("cuda").eval()
    book, turn, usual = list(chapters()), [0], [0.0, 0.0]
    search = line_by_line if variant == "fix" else place_by_place

    def send(tensor):
        return tensor.pin_memory().to("cuda", non_blocking=True) if variant == "useless" else tensor.cuda()

    def likeness(words, there):
        """How like each other the sentences are: (ORIGINAL, TRANSLATED)."""
        hidden = model(input_ids=words, attention_mask=there).last_hidden_state  # cause: delayed
        weights = there.unsqueeze(2).to(hidden.dtype)
        vectors = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        vectors = torch.nn.functional.normalize(vectors - vectors.mean(dim=0), dim=1)
        return vectors[:ORIGINAL] @ vectors[ORIGINAL:].T

    @torch.no_grad()
    def step():
        words, there = book[turn[0] % CHAPTERS]
        turn[0] += 1
        alike = likeness(send(words), send(there)).cpu().numpy()  # cause: delayed
        good, came = search(gains_of(alike))  # cause: loader
        pairs = way_back(came)
        alone = sum(down == 0 or right == 0 for _, down, _, right in pairs)
        usual[0] += 0.1 * (good / ORIGINAL - usual[0])
        usual[1] += 0.1 * ((len(pairs) - alone) / ORIGINAL - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
