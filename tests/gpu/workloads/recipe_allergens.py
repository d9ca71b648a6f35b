# SPDX-License-Identifier: Apache-2.0
"""PyTorch and transformers: which of 14 allergens are in a dish is learned from recipes as people write them. A tokenizer is
trained on them first; a DataLoader's collate function tidies 64 recipes and cuts them into pieces of words, and a small
transformer is trained on those in bfloat16, with one answer for each allergen. An epoch has 24 batches.

Wrong: the same recipes are tidied and cut anew in each epoch, by the thread that also launches the kernels.
fix: the batches are made once, before the first epoch (host-bound).
fix2: the step of training is one CUDA graph (launch-bound).
useless: the loss is not read every 25 steps, but kept on the device.
"""
import itertools
import os
import random
import re

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # else it warns of a fork

run = fixable.Program(__doc__, steps=200, warm_up=12)
torch, tokenizers, models, pre_tokenizers, trainers, transformers = fixable.load_torch(
    "tokenizers", "tokenizers.models", "tokenizers.pre_tokenizers", "tokenizers.trainers", "transformers")

ALLERGENS, NAMES, VOCABULARY, RECIPES, BATCH, LENGTH = 14, 6, 4000, 1536, 64, 224
WIDTH, HEADS, LAYERS, PIECES, EVERY = 256, 4, 3, 3000, 25
AMOUNT = re.compile(r"(\d+) ?(grams?|g|millilitres?|ml)\b")
JUNK = re.compile(r"[^a-z0-9,.%+ ]+")


def recipes(luck):
    """Texts, each with what is in it: 14 numbers that are zero or one."""
    words = {}
    while len(words) < VOCABULARY + ALLERGENS * NAMES:
        words["".join(luck.choice("bcdfglmnprstvz") + luck.choice("aeiou") for _ in range(luck.randint(2, 4)))] = True
    named, usual = list(words)[:ALLERGENS * NAMES], list(words)[ALLERGENS * NAMES:]
    weights = [1.0 / (n + 10.0) for n in range(len(usual))]
    for _ in range(RECIPES):
        text = luck.choices(usual, weights, k=luck.randint(120, 170))
        has = [0.0] * ALLERGENS
        for kind in luck.sample(range(ALLERGENS), luck.randint(1, 4)):
            has[kind] = 1.0
            text.insert(luck.randrange(len(text)), named[kind * NAMES + luck.randrange(NAMES)])
            text.insert(0, "%d%s" % (luck.randint(1, 90) * 10, luck.choice((" grams", "g", " ml"))))
        yield " ".join(text).capitalize() + "!", has


def tidied(text):
    """Small letters, amounts all written in one way, no odd signs."""
    text = JUNK.sub(" ", AMOUNT.sub(r"\1 \2", text.lower()))  # cause: loader
    return " ".join("g" if word in ("gram", "grams") else word for word in text.split())  # cause: loader


def trained_tokenizer(texts):
    model = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    model.pre_tokenizer = pre_tokenizers.Whitespace()
    model.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=PIECES, special_tokens=["[PAD]", "[UNK]"],
                                                         show_progress=False))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]", unk_token="[UNK]")


class Cook(torch.nn.Module):
    """The vectors of pieces are not trained, all else is."""

    def __init__(self):
        super().__init__()
        self.pieces = torch.nn.Embedding(PIECES + 8, WIDTH)
        self.pieces.weight.requires_grad_(False)
        self.places = torch.nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                             norm_first=True) for _ in range(LAYERS))
        self.answer = torch.nn.Linear(WIDTH, ALLERGENS)

    def forward(self, pieces, padded):
        x = self.pieces(pieces) + self.places
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padded)
        seen = (~padded).unsqueeze(2)
        return self.answer((x * seen).sum(dim=1) / seen.sum(dim=1))


def make(variant):
    fixable.seed(torch)
    texts = list(recipes(random.Random(20)))
    tokenizer = trained_tokenizer([tidied(text) for text, _ in texts[:500]])
    model = Cook().cuda().train()
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=3e-4, fused=True, capturable=True)
    pieces = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")
    padded = torch.zeros(BATCH, LENGTH, dtype=torch.bool, device="cuda")
    has = torch.zeros(BATCH, ALLERGENS, device="cuda")
    usual, seen, noted = torch.zeros((), device="cuda"), [0], []

    def collate(some):
        cut = tokenizer([tidied(text) for text, _ in some], padding="max_length", truncation=True,  # cause: loader
                        max_length=LENGTH, return_tensors="pt")
        return cut["input_ids"], cut["attention_mask"] == 0, torch.tensor([told for _, told in some])  # cause: loader

    loader = torch.utils.data.DataLoader(texts, batch_size=BATCH, collate_fn=collate, pin_memory=True)

    def epochs():
        while True:
            yield from loader  # cause: loader

    def train():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            answers = model(pieces, padded)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(answers.float(), has)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    learn = train
    if variant == "fix2":  # then weights and what the optimizer knows are as they were before
        before = [w.detach().clone() for w in weights]
        learn = fixable.capture(torch, train)[0].replay
        with torch.no_grad():
            for weight, old in zip(weights, before):
                weight.copy_(old)
            for number in [usual] + [n for known in optimizer.state.values() for n in known.values()]:
                number.zero_()
    batches = itertools.cycle(list(loader)) if variant == "fix" else epochs()

    def loop(steps):
        for batch in itertools.islice(batches, steps):  # cause: loader
            for place, given in zip((pieces, padded, has), batch):
                place.copy_(given, non_blocking=True)  # cause: delayed
            learn()
            seen[0] += 1
            if seen[0] % EVERY == 0:
                noted.append(usual.clone() if variant == "useless" else usual.item())

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize,
                        values=lambda: [usual.item(), model.answer.weight.abs().mean().item()])


run.main(make)
