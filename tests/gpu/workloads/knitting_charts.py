# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a shop for wool wants to know how much yarn a knitting pattern takes. Patterns are written as knitters write them, row
by row ("Row 3: k2, *yo, k2tog, p1; rep from * 6 times, k4"); the rows are read and become a chart, a picture with a stitch at
each place. A small network of convolutions learns the yarn from 48 charts at a time.

Wrong: Python reads the rows anew in each epoch, in the thread that calls the GPU, and the GPU waits for each batch of charts.
fix: the charts, which are the same in each epoch, are made once before the loop (host-bound).
fix2: what is learnt from a batch is one CUDA graph; the charts are made as before (launch-bound).
useless: the charts come by way of pinned memory.
"""
import re

import fixable

run = fixable.Program(__doc__, steps=320, warm_up=16)
torch, numpy = fixable.load_torch("numpy")

BATCHES, BATCH, ROWS, WIDE, CHANNELS, BLOCKS, SHOWN = 12, 48, 24, 40, 32, 4, 25
STITCHES = {"k": 1, "p": 2, "yo": 3, "k2tog": 4, "ssk": 5, "sl": 6, "kfb": 7, "c4f": 8}
YARN = numpy.array([0.0, 1.0, 1.05, 1.4, 1.1, 1.1, 0.5, 1.8, 1.6])  # centimetres a stitch, by its number
REPEAT = re.compile(r"\*\s*(.*?);\s*rep from \*\s*(\d+) times")


def written(luck):
    """A pattern, as its rows in words."""
    names, rows = list(STITCHES), []
    for number in range(ROWS):
        inner = ", ".join(names[kind] if kind > 1 else "%s%d" % (names[kind], luck.integers(1, 3))
                          for kind in luck.integers(0, len(names), 4))
        edge = int(luck.integers(1, 5))
        rows.append("Row %d: k%d, *%s; rep from * %d times, p%d" % (number + 1, edge, inner, luck.integers(4, 8), edge))
    return rows


def stitches(words):
    """The numbers of the stitches between commas."""
    given = []
    for word in words.split(","):  # cause: loader
        word = word.strip().lower()  # cause: loader
        if not word:
            continue
        if word in STITCHES:
            given.append(STITCHES[word])  # cause: loader
        else:
            given.extend([STITCHES[word[0]]] * int(word[1:]))  # cause: loader
    return given


def row_of(text):
    """A row in words as the numbers of its stitches."""
    told = text.partition(": ")[2]
    found = REPEAT.search(told)  # cause: loader
    if not found:
        return stitches(told)
    again = stitches(found.group(1)) * int(found.group(2))  # cause: loader
    return stitches(told[:found.start()]) + again + stitches(told[found.end():])  # cause: loader


def charts_of(patterns):
    """Pictures of some patterns, (patterns, ROWS, WIDE)."""
    charts = numpy.zeros((len(patterns), ROWS, WIDE), dtype=numpy.int32)
    for number, rows in enumerate(patterns):
        for row, text in enumerate(rows):
            given = row_of(text)[:WIDE]  # cause: loader
            charts[number, row, :len(given)] = given  # cause: loader
    return torch.from_numpy(charts)


class Block(torch.nn.Module):
    """A convolution whose result is added to what came in."""

    def __init__(self):
        super().__init__()
        self.near, self.even = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), torch.nn.GroupNorm(4, CHANNELS)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.even(self.near(x)))


def make(variant):
    fixable.seed(torch)
    luck = numpy.random.default_rng(20)
    patterns = [[written(luck) for _ in range(BATCH)] for _ in range(BATCHES)]
    spent = [torch.tensor(YARN[charts_of(part).numpy()].sum(axis=(1, 2)) / 800.0 - 1.0, dtype=torch.float32, device="cuda")
             for part in patterns]
    blocks = [Block() for _ in range(BLOCKS)]
    first, last = torch.nn.Conv2d(len(YARN), CHANNELS, 3, padding=1), torch.nn.Linear(CHANNELS, 1)
    body = torch.nn.Sequential(first, *blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), last).cuda()
    rule = torch.optim.AdamW(body.parameters(), lr=3e-4, fused=True, capturable=True)
    kinds = torch.arange(len(YARN), dtype=torch.int32, device="cuda").view(1, -1, 1, 1)
    charts = torch.zeros(BATCH, ROWS, WIDE, dtype=torch.int32, device="cuda")
    yarn, usual = torch.zeros(BATCH, device="cuda"), torch.zeros((), device="cuda")
    stage = torch.zeros(BATCH, ROWS, WIDE, dtype=torch.int32).pin_memory() if variant == "useless" else None
    passed, turn, curve = torch.cuda.Event(), [0], []

    def learn():
        """A step of training."""
        seen = (charts[:, None] == kinds).float()
        loss = torch.nn.functional.mse_loss(body(seen)[:, 0], yarn)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        rule.step()
        usual.lerp_(loss.detach(), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    if variant == "fix2":
        before = [weight.detach().clone() for weight in body.parameters()]
        graph, _ = fixable.capture(torch, learn, clear)
        with torch.no_grad():
            for weight, old in zip(body.parameters(), before):
                weight.copy_(old)
                for part in rule.state[weight].values():
                    part.zero_()
        usual.zero_()

    ready = [charts_of(part) for part in patterns] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else charts_of(patterns[number])  # cause: loader
        if stage is not None:
            passed.synchronize()
            given = stage.copy_(given)
        charts.copy_(given, non_blocking=True)  # cause: delayed
        passed.record()
        yarn.copy_(spent[number])
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item(), *fixable.sample_of(torch, first.weight, most=16)])


run.main(make)
