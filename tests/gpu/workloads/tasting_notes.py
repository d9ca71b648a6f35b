# SPDX-License-Identifier: Apache-2.0
"""PyTorch, transformers: a wine magazine has its tasting notes read by a network that tells the points that a taster has given,
and of which of 24 grapes the wine is. The notes are made up from the words of tasters, and a word is one number. A DistilBERT of
43 million weights in its layers learns from 192 notes of 128 words at a time, in bfloat16 by autocast.

Wrong: nothing; a step is some 700 kernels, most of them large, and the host is ahead of the GPU (gpu-bound).
useless: the notes, which are 197 KB a step, come from pinned memory.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=130, warm_up=10)
torch, transformers = fixable.load_torch("transformers")

BATCHES, BATCH, WORDS, GRAPES, READ = 10, 192, 128, 24, 20
FRUIT = "cherry plum cassis blackberry raspberry apple pear peach apricot lemon grapefruit lychee melon fig quince currant".split()
SPICE = "pepper clove liquorice cinnamon vanilla cedar tobacco leather smoke slate chalk honey butter toast almond grass".split()
MOUTH = "firm soft dry ripe lean round bitter fresh velvety thin dense long short hollow bright warm".split()
PARTS = "nose palate finish tannins acidity colour body oak".split()
SMALL = "the and a of with some more hints notes on in is are very".split()


def note(luck, grape, points):
    """The words of a note: fruit and spice by the grape, and how it feels by the points."""
    words = ["[CLS]"]
    while len(words) < WORDS:
        fruit = FRUIT[(5 * grape + luck.randrange(4)) % len(FRUIT)]
        spice = SPICE[(3 * grape + luck.randrange(5)) % len(SPICE)]
        mouth = MOUTH[(points - 80 + luck.randrange(6)) % len(MOUTH)]
        words += ["the", luck.choice(PARTS), "is", luck.choice(SMALL), mouth, "with", "hints", "of", fruit, "and", spice]
    return words[:WORDS]


def tasted(pinned):
    """Batches of (words, grapes, points) on the host."""
    luck = random.Random(20)
    number_of = {word: number for number, word in enumerate(["[CLS]", *FRUIT, *SPICE, *MOUTH, *PARTS, *SMALL])}
    for _ in range(BATCHES):
        grapes = [luck.randrange(GRAPES) for _ in range(BATCH)]
        points = [luck.randrange(80, 100) for _ in range(BATCH)]
        notes = [[number_of[word] for word in note(luck, *both)] for both in zip(grapes, points)]
        batch = torch.tensor(notes), torch.tensor(grapes), (torch.tensor(points, dtype=torch.float32) - 90.0) / 5.0
        yield [part.pin_memory() for part in batch] if pinned else batch


class Taster(torch.nn.Module):
    """Reads notes: how likely each grape is, and the points."""

    def __init__(self):
        super().__init__()
        form = transformers.DistilBertConfig(vocab_size=128, max_position_embeddings=WORDS)
        self.reads = transformers.DistilBertModel(form)
        self.tells = torch.nn.Linear(form.dim, GRAPES + 1)

    def forward(self, notes):
        told = self.tells(self.reads(input_ids=notes).last_hidden_state[:, 0]).float()
        return told[:, :GRAPES], told[:, GRAPES]


def make(variant):
    fixable.seed(torch)
    batches = list(tasted(variant == "useless"))
    taster = Taster().to("cuda").train()
    rule = torch.optim.AdamW(taster.parameters(), lr=5e-5, weight_decay=0.01, fused=True)
    usual, turn, curve = torch.full((2,), 2.0, device="cuda"), [0], []

    def step():
        notes, grapes, points = (part.to("cuda", non_blocking=True) for part in batches[turn[0] % BATCHES])
        rule.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            likely, told = taster(notes)
        of_grape = torch.nn.functional.cross_entropy(likely, grapes)
        of_points = torch.nn.functional.smooth_l1_loss(told, points)
        (of_grape + of_points).backward()
        rule.step()
        usual.lerp_(torch.stack((of_grape.detach(), of_points.detach())), 0.05)
        turn[0] += 1
        if turn[0] % READ == 0:
            curve.append(usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
