# SPDX-License-Identifier: Apache-2.0
"""transformers: vectors of texts by a BERT; the words are cut into pieces by a tokenizer written in Python.

Wrong: the longest piece is looked for anew for each word, and the GPU waits for the texts.
fix: the pieces of a word that was met before are kept (host-bound).
useless: the tokens are pinned, and copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=100, warm_up=4)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

BATCH, WORDS, LONGEST, PIECES, KNOWN = 64, 70, 192, 6000, 3000
LETTERS = "etaoinshrdlucmfwypvbgk"
NOTHING, UNKNOWN, BEGIN, END = 0, 1, 2, 3


class Tokenizer:
    def __init__(self, vocabulary, keep):
        self.vocabulary, self.kept = vocabulary, {} if keep else None

    def pieces(self, word):
        """The longest piece that fits, again and again."""
        found, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start:
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                if piece in self.vocabulary:
                    break
                end -= 1
            if end == start:
                return [UNKNOWN]
            found.append(self.vocabulary[piece])
            start = end
        return found

    def encode(self, text):
        tokens = [BEGIN]
        for word in text.lower().split():
            pieces = self.kept.get(word) if self.kept is not None else None
            if pieces is None:
                pieces = self.pieces(word)
                if self.kept is not None:
                    self.kept[word] = pieces
            tokens += pieces
        return tokens[:LONGEST - 1] + [END]

    def __call__(self, texts):
        ids, mask = numpy.zeros((len(texts), LONGEST), numpy.int64), numpy.zeros((len(texts), LONGEST), numpy.int64)
        for row, text in enumerate(texts):
            tokens = self.encode(text)
            ids[row, :len(tokens)], mask[row, :len(tokens)] = tokens, 1
        return torch.from_numpy(ids), torch.from_numpy(mask)


def language():
    """(pieces with their numbers, texts)."""
    random = numpy.random.default_rng(20)

    def syllable(longest):
        return "".join(LETTERS[at] for at in random.integers(0, len(LETTERS), random.integers(2, longest + 1)))

    pieces = list(LETTERS) + ["##" + letter for letter in LETTERS]
    pieces += ["##" * (number % 2) + syllable(4) for number in range(PIECES)]
    words = ["".join(syllable(4) for _ in range(random.integers(1, 6))) for _ in range(KNOWN)]
    often = random.zipf(1.3, (8 * BATCH, WORDS)) % KNOWN
    return {piece: 4 + number for number, piece in enumerate(dict.fromkeys(pieces))}, [
        " ".join(words[at] for at in row).capitalize() for row in often]


def make(variant):
    fixable.seed(torch)
    vocabulary, texts = language()
    tokenizer = Tokenizer(vocabulary, keep=variant == "fix")
    config = transformers.BertConfig(vocab_size=len(vocabulary) + 4, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                     intermediate_size=3072, max_position_embeddings=LONGEST)
    model = transformers.BertModel(config, add_pooling_layer=False).to("cuda", torch.float16).eval()
    pinned = variant == "useless"
    turn, seen = [0], []

    def step():
        at = turn[0] % 8
        turn[0] += 1
        ids, mask = tokenizer(texts[at * BATCH:(at + 1) * BATCH])  # cause: loader
        if pinned:
            ids, mask = ids.pin_memory(), mask.pin_memory()
        ids, mask = ids.to("cuda", non_blocking=pinned), mask.to("cuda", non_blocking=pinned)  # cause: delayed
        with torch.inference_mode():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
            share = mask.unsqueeze(-1).to(hidden.dtype)
            vectors = (hidden * share).sum(dim=1) / share.sum(dim=1)
            seen[:] = [torch.nn.functional.normalize(vectors.float(), dim=1).cpu()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, seen[0].abs()))


run.main(make)
