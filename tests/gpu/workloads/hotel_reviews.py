# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a chain of hotels sorts what guests write by what they complain of: 128 reviews a batch come from a
DataLoader, whose collate function takes marks of web pages out of them, and makes word pieces with a tokenizer that was trained
on the chain's own reviews; a convolutional network gives each review the chances of eight complaints.

Wrong: reviews are cleaned and made to pieces as they are needed, by the thread that launches, and the GPU waits for each batch.
fix: the same batches are made once before the loop, and lie in the host's memory (host-bound).
fix2: the network is launched as one CUDA graph (launch-bound).
useless: a batch goes over pinned memory.
"""
import html
import itertools
import os
import random
import re
import unicodedata

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"
run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, transformers, tokenizers, models, normalizers, splitters, trainers = fixable.load_torch(
    "transformers", "tokenizers", "tokenizers.models", "tokenizers.normalizers", "tokenizers.pre_tokenizers",
    "tokenizers.trainers")

REVIEWS, BATCH, LENGTH, PIECES, CHANNELS, COMPLAINTS = 1280, 128, 96, 3000, 192, 8
SYLLABLES = "ba be bo da de du fa fi ga go ha hi ka ko la le li ma me mo na ne no pa po ra re ri sa se so ta te ti to".split()
TAG, LINK, SPACE, AGAIN = re.compile(r"<[^>]+>"), re.compile(r"https?://\S+"), re.compile(r"\s+"), re.compile(r"([!?.])\1+")


def written():
    """Reviews as the web page has them."""
    luck = random.Random(20)
    words = ["".join(luck.choices(SYLLABLES, k=luck.randint(1, 4))) for _ in range(2500)]
    often = list(itertools.accumulate(1.0 / (rank + 5) for rank in range(len(words))))
    reviews = []
    for _ in range(REVIEWS):
        text = luck.choices(words, cum_weights=often, k=luck.randint(45, 75))
        for mark in ("<br />", "&amp;", "caf\u00e9", "https://rooms.example/%d" % luck.randint(1, 999), "!!!", "<b>Room</b>"):
            text.insert(luck.randrange(len(text)), mark)
        reviews.append(" ".join(text).capitalize() + "..")
    return reviews


def cleaned(review):
    text = html.unescape(TAG.sub(" ", LINK.sub(" ", review)))
    text = unicodedata.normalize("NFKC", text).replace("\u00a0", " ")
    return SPACE.sub(" ", AGAIN.sub(r"\1", text)).strip()


def trained(reviews):
    """A tokenizer of word pieces."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = splitters.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    tokenizer.train_from_iterator([cleaned(review) for review in reviews], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class Sorter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pieces = torch.nn.Embedding(PIECES, 128)
        self.looks = torch.nn.ModuleList([torch.nn.Conv1d(128, CHANNELS, width) for width in (3, 4, 5)])
        self.told = torch.nn.Linear(3 * CHANNELS, COMPLAINTS)

    def forward(self, ids):
        text = self.pieces(ids).transpose(1, 2).contiguous()
        return self.told(torch.cat([torch.relu(look(text)).amax(dim=2) for look in self.looks], dim=1)).softmax(dim=1)


def endless(loader):
    while True:
        yield from loader  # cause: loader


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    reviews = written()
    tokenizer = trained(reviews)
    network = Sorter().cuda().eval()
    ids = torch.zeros(BATCH, LENGTH, dtype=torch.int32, device="cuda")
    usual = torch.zeros(COMPLAINTS, device="cuda")

    def collate(some):
        texts = [cleaned(review) for review in some]  # cause: loader
        made = tokenizer(texts, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")  # cause: loader
        return made["input_ids"].to(torch.int32)

    loader = torch.utils.data.DataLoader(reviews, batch_size=BATCH, collate_fn=collate)
    batches = itertools.cycle(list(loader)) if variant == "fix" else endless(loader)

    def judge():
        usual.lerp_(network(ids).mean(dim=0), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, judge)
        usual.zero_()
        launch = graph.replay
    else:
        launch = judge

    @torch.no_grad()
    def step():
        batch = next(batches)  # cause: loader
        ids.copy_(batch.pin_memory() if variant == "useless" else batch, non_blocking=True)  # cause: delayed
        launch()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
