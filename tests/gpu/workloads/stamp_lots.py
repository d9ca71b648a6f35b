# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an auction house guesses what a lot of stamps will bring. What the clerk has written of a lot is taken apart into its
words, the year, how the stamp is perforated, how many stamps there are, and the prices of catalogues; words become numbers by a
hash of how they are spelt. A small network learns the price from 256 lots at a time.

Wrong: Python takes the lots of a batch apart anew in each epoch, in the thread that calls the GPU, and the GPU waits for it.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: the step, with its backward and the optimizer, is one CUDA graph; batches are made as before (launch-bound).
useless: a batch goes from pinned memory.
"""
import math
import random
import re
import zlib

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=12)
torch, nn = fixable.load_torch("torch.nn")

BATCHES, BATCH, LONGEST, WORDS, WIDE, NUMBERS, SHOWN = 12, 256, 32, 4096, 256, 6, 25
PART = re.compile(r"[a-z]+|\d+(?:,\d{3})*(?:\.\d+)?(?:½|¼|¾)?|£")
BROKEN = {"½": 0.5, "¼": 0.25, "¾": 0.75}
LANDS = ("Great Britain", "Cape of Good Hope", "New South Wales", "Bavaria", "Saxony", "Mauritius", "Ceylon", "Tuscany")
STATES = ("fine used", "unused without gum", "mint never hinged", "on piece", "on cover to Leeds", "with a crease", "repaired")
MARKS = ("four margins", "crisp cancel", "watermark inverted", "plate flaw", "imperforate at left", "a fresh colour", "Hind sale")
COLOURS = ("black", "penny red", "deep blue", "rose-carmine", "yellow-green", "lilac", "bistre", "vermilion")


def written():
    """What the clerk has written of each lot, and the logarithm of what it brought."""
    luck = random.Random(20)
    lots, prices = [], []
    for number in range(BATCHES * BATCH):
        land, year, count = luck.choice(LANDS), luck.randint(1840, 1910), luck.choice((1, 1, 2, 4, 12))
        price = 10.0 * math.exp(luck.gauss(2.0, 1.0)) * count ** 0.7
        marks = ", ".join(luck.sample(MARKS, 3))
        lots.append("Lot %d: %s %d, %dd %s, perf %d%s x %d, block of %d, %s; %s. SG %d, Scott No. %d. Cat. £%s, est. £%s"
                    % (number, land, year, luck.randint(1, 12), luck.choice(COLOURS), luck.randint(11, 15), luck.choice("½¼¾"),
                       luck.randint(11, 15), count, luck.choice(STATES), marks, luck.randint(1, 400), luck.randint(1, 300),
                       "{:,}".format(int(3.0 * price)), "{:,}".format(int(price))))
        prices.append(math.log(price * luck.uniform(0.7, 1.4)))
    return lots, prices


def amount(part):
    """What a number says as it is written: 1,200 or 13½."""
    more = BROKEN.get(part[-1], 0.0)  # cause: loader
    return float((part[:-1] if more else part).replace(",", "")) + more  # cause: loader


def taken_apart(lot):
    """Numbers of the words of a lot, and its year, perforations, count and prices."""
    parts = PART.findall(lot.lower())  # cause: loader
    words, numbers, before = [0] * LONGEST, [0.0] * NUMBERS, ""
    place = prices = 0
    for part in parts:  # cause: loader
        if part[0].isdigit():  # cause: loader
            told = amount(part)  # cause: loader
            if before == "£":
                numbers[4 + min(prices, 1)] = 0.1 * math.log1p(told)  # cause: loader
                prices += 1
            elif before in ("perf", "x"):  # cause: loader
                numbers[0 if before == "perf" else 1] = 0.1 * (told - 13.0)  # cause: loader
            elif before == "of":  # cause: loader
                numbers[2] = math.log1p(told)  # cause: loader
            elif 1839.0 < told < 1911.0:  # cause: loader
                numbers[3] = 0.02 * (told - 1875.0)  # cause: loader
        elif part != "£" and place < LONGEST:  # cause: loader
            words[place] = 1 + zlib.crc32(part.encode()) % (WORDS - 1)  # cause: loader
            place += 1
        before = part
    return words, numbers


def make(variant):
    fixable.seed(torch)
    lots, prices = written()
    model = nn.Sequential(nn.Linear(WORDS + NUMBERS, WIDE), nn.GELU(), nn.LayerNorm(WIDE), nn.Linear(WIDE, WIDE), nn.GELU(),
                          nn.LayerNorm(WIDE), nn.Linear(WIDE, WIDE), nn.GELU(), nn.Linear(WIDE, 1)).cuda()
    drawn = [weight.detach().clone() for weight in model.parameters()]
    rule = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True, fused=True)
    words = torch.zeros(BATCH, LONGEST, dtype=torch.int64, device="cuda")
    numbers = torch.zeros(BATCH, NUMBERS, device="cuda")
    brought = torch.zeros(BATCH, device="cuda")
    one = torch.ones(BATCH, LONGEST, device="cuda")
    usual, turn, curve = torch.zeros((), device="cuda"), [0], []

    def batch(number):
        """The lots of a batch as tensors on the host."""
        part = slice(number * BATCH, (number + 1) * BATCH)
        apart = [taken_apart(lot) for lot in lots[part]]  # cause: loader
        given = (torch.tensor([lot[0] for lot in apart]), torch.tensor([lot[1] for lot in apart]),  # cause: loader
                 torch.tensor(prices[part]))  # cause: loader
        return [tensor.pin_memory() for tensor in given] if variant == "useless" else given

    def learn():
        """A step of training."""
        counts = torch.zeros(BATCH, WORDS, device="cuda").scatter_add_(1, words, one)
        guessed = model(torch.cat((counts, numbers), dim=1))[:, 0]
        loss = nn.functional.smooth_l1_loss(guessed, brought)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step()
        usual.lerp_(loss.detach(), 0.02)

    def clear():
        rule.zero_grad(set_to_none=True)

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None
    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, clear)
        with torch.no_grad():
            for weight, first in zip(model.parameters(), drawn):
                weight.copy_(first)
                for part in rule.state[weight].values():
                    part.zero_()
            usual.zero_()

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        words.copy_(given[0], non_blocking=True)  # cause: delayed
        numbers.copy_(given[1], non_blocking=True)
        brought.copy_(given[2], non_blocking=True)
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
