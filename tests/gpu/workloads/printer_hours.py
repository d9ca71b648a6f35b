# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a shop with many 3D printers wants to know before it begins how long a thing will be printed; a network learns that
from the printers' programs (G-code), a layer at a time: it sees the moves of a layer, and is told how many seconds they took.

Wrong: the lines of a program are taken apart in Python whenever a layer is asked for, again in each epoch, in the process that
launches the kernels; the network waits for each batch.
fix: ten workers of the DataLoader take the lines apart (host-bound).
fix2: all programs are taken apart once, when the data set is opened, and a layer is an array since then (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=140, warm_up=LOOK_EVERY, multiple=LOOK_EVERY, settle={"fix": 2 * LOOK_EVERY})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

LAYERS, MOVES, SAME, TOLD, BATCH, WIDTH, BLOCKS, WORKERS = 4096, 128, 16, 6, 32, 256, 4, 10
PUSH = 1500.0  # how fast the head gets faster, in mm / s^2


def printed():
    """The text of each layer's program, and how many seconds it took."""
    random = numpy.random.default_rng(20)
    turns = random.normal(0.0, 0.3, (LAYERS, MOVES)) + random.choice([0.0, 0.0, 0.0, 1.5, -1.5], (LAYERS, MOVES))
    way, angle = random.gamma(1.5, 3.0, (LAYERS, MOVES)), numpy.cumsum(turns, axis=1)
    x, y = 110.0 + numpy.cumsum(way * numpy.cos(angle), axis=1), 110.0 + numpy.cumsum(way * numpy.sin(angle), axis=1)
    feeds = random.choice([1200.0, 1800.0, 2400.0, 3600.0], (LAYERS, MOVES // SAME)).repeat(SAME, axis=1)  # mm a minute
    plastic, speed = numpy.cumsum(0.04 * way, axis=1), feeds / 60.0
    lost = speed - speed * numpy.maximum(numpy.cos(turns), 0.0)  # in the corner before a move
    seconds = (way / speed + lost ** 2 / (PUSH * speed)).sum(axis=1)
    texts = []
    for number, layer in enumerate(zip(x.tolist(), y.tolist(), plastic.tolist(), feeds.tolist())):
        lines = [";LAYER:%d" % number, "M106 S255 ; the fan", "G0 F9000 X110 Y110 Z%.2f E0" % (0.2 * (number % 300))]
        for at, (to_x, to_y, to_e, feed) in enumerate(zip(*layer)):
            change = " F%d" % feed if at % SAME == 0 else ""
            lines.append("G1%s X%.3f Y%.3f E%.5f" % (change, to_x, to_y, to_e))
        texts.append("\n".join(lines))
    return texts, torch.from_numpy(seconds.astype(numpy.float32))


def taken_apart(text):
    """A row of numbers for each printing move of a layer: (MOVES, TOLD)."""
    moves, count, at, before = numpy.zeros((MOVES, TOLD), dtype=numpy.float32), 0, {}, 0.0
    for line in text.splitlines():  # cause: loader
        words = line.partition(";")[0].split()  # cause: loader
        if not words or words[0] not in ("G0", "G1"):  # cause: loader
            continue
        now = dict(at)  # cause: loader
        for word in words[1:]:  # cause: loader
            now[word[0]] = float(word[1:])  # cause: loader
        if words[0] == "G1":  # cause: loader
            across, along = now["X"] - at["X"], now["Y"] - at["Y"]  # cause: loader
            angle = math.atan2(along, across)  # cause: loader
            moves[count] = (0.1 * across, 0.1 * along, 0.1 * math.hypot(across, along), now["E"] - at["E"],  # cause: loader
                            now["F"] / 6000.0, math.cos(angle - before))  # cause: loader
            before, count = angle, count + 1  # cause: loader
        at = now
    return moves


class Layers(torch.utils.data.Dataset):
    """Layers as they stand in the programs."""

    def __init__(self):
        self.texts, self.seconds = printed()

    def __getitem__(self, index):
        return torch.from_numpy(taken_apart(self.texts[index])), self.seconds[index]  # cause: loader


class Ready(Layers):
    """The same, of which each was taken apart before."""

    def __init__(self):
        super().__init__()
        self.moves = [torch.from_numpy(taken_apart(text)) for text in self.texts]

    def __getitem__(self, index):
        return self.moves[index], self.seconds[index]


class Order:
    """All layers in turn, in another order each time, without an end."""

    def __iter__(self):
        random = numpy.random.default_rng(21)
        while True:
            yield from random.permutation(LAYERS).tolist()


def network():
    """Seconds of each move."""
    parts = [nn.Conv1d(TOLD, WIDTH, 5, padding=2), nn.GELU()]
    for number in range(BLOCKS):
        parts += [nn.Conv1d(WIDTH, WIDTH, 5, padding=2 * 2 ** number, dilation=2 ** number), nn.GELU()]
    return nn.Sequential(*parts, nn.Conv1d(WIDTH, 1, 1), nn.Softplus())


def make(variant):
    fixable.seed(torch)
    model = network().cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    layers, pinned = Ready() if variant == "fix2" else Layers(), variant == "useless"
    workers = {"num_workers": WORKERS, "multiprocessing_context": "fork"} if variant == "fix" else {}
    batches = iter(torch.utils.data.DataLoader(layers, batch_size=BATCH, sampler=Order(), pin_memory=pinned, **workers))
    losses, turn, usual = [], [0], [1.0]

    def step():
        moves, seconds = next(batches)  # cause: loader
        moves, seconds = moves.to("cuda", non_blocking=pinned), seconds.to("cuda", non_blocking=pinned)  # cause: delayed
        guess = model(moves.transpose(1, 2)).sum(dim=(1, 2))
        loss = nn.functional.smooth_l1_loss(torch.log(guess), torch.log(seconds))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.detach())
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (torch.stack(losses).mean().item() - usual[0])
            losses.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
