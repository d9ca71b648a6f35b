# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a court's office wants to find parties, dates, sums and statutes in contracts. Words that lawyers have
marked are cut into pieces by a tokenizer that was trained on contracts, and the marks are laid on the first piece of each word,
as in the course on token classification; a network of dilated convolutions learns from 48 paragraphs at a time.

Wrong: words are cut and marks are laid anew in each epoch, in the DataLoader's collate function, by the thread that launches,
and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and the DataLoader does what it did (launch-bound).
useless: the batches go over pinned memory.
"""
import itertools
import os
import random

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"
run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, transformers, tokenizers, models, normalizers, splitters, trainers = fixable.load_torch(
    "transformers", "tokenizers", "tokenizers.models", "tokenizers.normalizers", "tokenizers.pre_tokenizers",
    "tokenizers.trainers")
nn = torch.nn

PARAGRAPHS, BATCH, LENGTH, PIECES, WIDE, TAGS, SHOWN, NONE = 960, 48, 160, 3000, 128, 9, 25, -100
SYLLABLES = "ac ad ber con cus de di ex fi gen in ius lex li mor ne ob par per qua re sti sub ten tor ul ver".split()
MONTHS = "January March April June July October November".split()


def marked():
    """Paragraphs as lists of words, and the tag of each word: none, or the first or a further word of what is sought."""
    luck = random.Random(20)
    words = ["".join(luck.choices(SYLLABLES, k=luck.randint(1, 4))) for _ in range(2000)]
    often = list(itertools.accumulate(1.0 / (rank + 5) for rank in range(len(words))))
    sought = (
        lambda: [luck.choice(words).capitalize(), luck.choice(words).capitalize(), luck.choice(("Ltd.", "GmbH", "Inc."))],
        lambda: [str(luck.randint(1, 28)), luck.choice(MONTHS), str(luck.randint(1990, 2025))],
        lambda: ["EUR", "%d,%03d" % (luck.randint(1, 900), luck.randint(0, 999))],
        lambda: ["section", str(luck.randint(1, 400)), "of", "the", luck.choice(words).capitalize(), "Act"])
    found = []
    for _ in range(PARAGRAPHS):
        text, tags = [], []
        while len(text) < 80:
            plain = luck.choices(words, cum_weights=often, k=luck.randint(4, 14))
            kind = luck.randrange(len(sought))
            phrase = sought[kind]()
            text += plain + phrase
            tags += [0] * len(plain) + [1 + 2 * kind] + [2 + 2 * kind] * (len(phrase) - 1)
        found.append((text, tags))
    return found


def trained(paragraphs):
    """A tokenizer of word pieces."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = splitters.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(text) for text, _ in paragraphs], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class Tagger(nn.Module):
    """The vectors of pieces are given, and are not trained."""

    def __init__(self):
        super().__init__()
        self.pieces = nn.Embedding.from_pretrained(torch.randn(PIECES, WIDE))
        self.looks = nn.ModuleList(nn.Conv1d(WIDE, WIDE, 3, padding=far, dilation=far) for far in (1, 2, 4, 8, 1))
        self.told = nn.Conv1d(WIDE, TAGS, 1)

    def forward(self, ids):
        x = self.pieces(ids).transpose(1, 2).contiguous()
        for look in self.looks:
            x = x + torch.relu(look(x))
        return self.told(x)


def make(variant):
    fixable.seed(torch)
    paragraphs = marked()
    tokenizer = trained(paragraphs)
    model = Tagger().cuda().train()
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=2e-4, weight_decay=0.01, capturable=True)
    usual, turn, curve = torch.full((), 2.0, device="cuda"), [0], []

    def collate(some):
        """The pieces of some paragraphs and their tags; further pieces of a word have none."""
        made = tokenizer([text for text, _ in some], is_split_into_words=True, padding="max_length",  # cause: loader
                         truncation=True, max_length=LENGTH, return_tensors="pt")
        laid = []
        for number, (_, tags) in enumerate(some):
            before, row = None, []
            for word in made.word_ids(batch_index=number):  # cause: loader
                row.append(NONE if word is None or word == before else tags[word])
                before = word
            laid.append(row)
        return made["input_ids"], torch.tensor(laid)  # cause: loader

    loader = torch.utils.data.DataLoader(paragraphs, batch_size=BATCH, collate_fn=collate)

    def epochs():
        while True:
            yield from loader  # cause: loader

    batches = itertools.cycle(list(loader)) if variant == "fix" else epochs()
    ids, tags = (part.cuda() for part in collate(paragraphs[:BATCH]))

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the pieces in `ids`, and notes the loss."""
        loss = nn.functional.cross_entropy(model(ids), tags, ignore_index=NONE)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        batch = next(batches)  # cause: loader
        for place, part in zip((ids, tags), batch):
            place.copy_(part.pin_memory() if variant == "useless" else part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the tags have become."""
        return [usual.item(), float(model.told.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
