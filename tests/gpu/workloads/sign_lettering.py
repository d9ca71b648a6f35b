# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a sign painter wants to know how long a sign will take. A sign is a line of words, a size and a slant; a letter is two
to four strokes of the brush, curves by three points; letters are set behind each other with the gap that two of them need.
Strokes become numbers: where they begin, where they go, how long and how bent they are. A small network learns the hours from 128
signs at a time, which have been painted before.

Wrong: Python sets the letters of all signs anew in each epoch, in the thread that calls the GPU, and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: the training step is one CUDA graph; the letters are set in each epoch as before (launch-bound).
useless: batches go to the GPU from pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=180, warm_up=10)
torch, numpy = fixable.load_torch("numpy")

BATCHES, BATCH, LONGEST, PARTS, WIDE, LAYERS, SHOWN = 12, 128, 48, 7, 128, 4, 25
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = "FRESH FISH BAKERY OPEN DAILY BOATS TO LET HARBOUR CAFE BOOKS BOUGHT KEYS CUT SHOE REPAIRS FINE TEAS".split()


def alphabet(luck):
    """The curves of each letter, how wide it is, and what a pair of letters needs less or more than usual."""
    curves = {letter: [tuple(map(float, luck.uniform(0.0, 1.0, 6))) for _ in range(luck.integers(2, 5))] for letter in LETTERS}
    broad = {letter: float(luck.uniform(0.5, 1.1)) for letter in LETTERS}
    gaps = {one + other: float(luck.normal(0.0, 0.05)) for one in LETTERS for other in LETTERS}
    return curves, broad, gaps


def orders(luck):
    """Signs of all batches, (words, size, slant)."""
    for _ in range(BATCHES * BATCH):
        words = " ".join(str(word) for word in luck.choice(WORDS, 3))
        yield words, float(luck.uniform(0.1, 0.6)), float(luck.uniform(-0.1, 0.3))


def strokes_of(sign, curves, broad, gaps):
    """The strokes of a sign, PARTS numbers each, at most LONGEST."""
    words, size, slant = sign
    rows, pen, before = [], 0.0, ""
    for letter in words:  # cause: loader
        if letter == " ":
            pen, before = pen + 0.4, ""
            continue
        pen += 0.1 + gaps.get(before + letter, 0.0)  # cause: loader
        for ax, ay, bx, by, cx, cy in curves[letter]:  # cause: loader
            ax, bx, cx = ax + slant * ay, bx + slant * by, cx + slant * cy  # cause: loader
            long, lastx, lasty = 0.0, ax, ay  # cause: loader
            for part in (0.25, 0.5, 0.75, 1.0):  # cause: loader
                rest = 1.0 - part  # cause: loader
                x = rest * rest * ax + 2.0 * rest * part * bx + part * part * cx  # cause: loader
                y = rest * rest * ay + 2.0 * rest * part * by + part * part * cy  # cause: loader
                long += math.hypot(x - lastx, y - lasty)  # cause: loader
                lastx, lasty = x, y  # cause: loader
            bent = math.atan2(cy - by, cx - bx) - math.atan2(by - ay, bx - ax)  # cause: loader
            over, up = size * (cx - ax), size * (cy - ay)  # cause: loader
            rows.append((0.1 * (pen + ax), ay, over, up, size * long, math.cos(bent), 1.0))  # cause: loader
        pen += broad[letter]
        before = letter
    rows = rows[:LONGEST]
    return rows + [(0.0,) * PARTS] * (LONGEST - len(rows))  # cause: loader


class Painter(torch.nn.Module):
    """The hours of a sign from its strokes."""

    def __init__(self):
        super().__init__()
        self.begin = torch.nn.Linear(PARTS, WIDE)
        self.along = torch.nn.ModuleList(torch.nn.Conv1d(WIDE, WIDE, 3, padding=1) for _ in range(LAYERS))
        self.end = torch.nn.Linear(WIDE, 1)

    def forward(self, rows):
        x = self.begin(rows).transpose(1, 2)
        for layer in self.along:
            x = x + torch.relu(layer(x))
        there = rows[:, :, PARTS - 1]
        return self.end((x * there[:, None, :]).sum(dim=2) / LONGEST)[:, 0]


def make(variant):
    fixable.seed(torch)
    luck = numpy.random.default_rng(20)
    font = alphabet(luck)
    signs = list(orders(luck))
    model = Painter().to("cuda")
    rule = torch.optim.AdamW(model.parameters(), lr=5e-4, capturable=True, fused=True)
    now = [torch.zeros(BATCH, LONGEST, PARTS, device="cuda"), torch.zeros(BATCH, device="cuda")]
    usual, turn, curve = torch.zeros((), device="cuda"), [0], []

    def batch(number):
        """The strokes of a batch of signs, and the hours that each has taken."""
        rows = torch.tensor([strokes_of(sign, *font) for sign in signs[number * BATCH:(number + 1) * BATCH]])  # cause: loader
        return rows, 0.5 + 0.2 * rows[:, :, 4].sum(dim=1) + 0.05 * rows[:, :, 5].abs().sum(dim=1)

    def learn():
        """A step of training."""
        loss = torch.nn.functional.smooth_l1_loss(model(now[0]), now[1])
        loss.backward()
        rule.step()
        usual.lerp_(loss.detach(), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None
    if variant == "fix2":
        begin = [one.detach().clone() for one in model.parameters()]
        graph, _ = fixable.capture(torch, learn, clear)
        for one, old in zip(model.parameters(), begin):
            one.detach().copy_(old)
            for part in rule.state[one].values():
                part.zero_()
        usual.zero_()

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        for place, part in zip(now, given):
            place.copy_(part.pin_memory() if variant == "useless" else part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
