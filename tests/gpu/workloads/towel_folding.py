# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a robot with two arms learns to fold towels from people who have led its arms: from a small picture and the fourteen
joints at a moment, a transformer tells the next sixteen moves. Each demonstration is stored as one compressed piece, as the
robot's recorder writes it.

Wrong: a moment is one of 48 in its piece, and the DataLoader's four workers unpack all of the piece for each moment that they are
asked for; they cannot keep up with the training.
fix: all pieces are unpacked once, when the data set is opened (host-bound).
fix2: twelve workers (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import zlib

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=160, warm_up=LOOK_EVERY, multiple=LOOK_EVERY,
                      settle={"fix": 3 * LOOK_EVERY, "fix2": 3 * LOOK_EVERY})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

DEMOS, MOMENTS, SIDE, JOINTS, AHEAD, BATCH, WIDTH, LAYERS, FEW, MANY = 160, 48, 40, 14, 16, 48, 256, 3, 4, 12
STARTS = MOMENTS - AHEAD  # moments of a demonstration with enough moves behind them
PICTURES = MOMENTS * 3 * SIDE * SIDE  # bytes


def recorded():
    """Demonstrations as they are stored: pictures of a towel whose corners go with the hands, and the joints, compressed."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32) / SIDE
    time = numpy.linspace(0.0, 1.0, MOMENTS, dtype=numpy.float32)[:, None]
    for _ in range(DEMOS):
        start, end, bend = random.uniform(-1.0, 1.0, (3, JOINTS)).astype(numpy.float32)
        joints = start + (end - start) * time + 0.3 * bend * numpy.sin(3.1 * time)
        left, right = 0.3 + 0.15 * joints[:, 0, None, None], 0.7 + 0.15 * joints[:, 7, None, None]
        top, bottom = 0.3 + 0.15 * joints[:, 1, None, None], 0.7 + 0.15 * joints[:, 8, None, None]
        towel = (x > left) & (x < right) & (y > top) & (y < bottom)
        colours = random.uniform(60.0, 220.0, (2, 3, 1, 1)).astype(numpy.float32)
        pictures = numpy.where(towel[:, None], colours[0], colours[1]) + 20.0 * numpy.sin(9.0 * x + 5.0 * y)
        pictures += random.integers(0, 3, pictures.shape)
        yield zlib.compress(pictures.astype(numpy.uint8).tobytes() + joints.astype(numpy.float32).tobytes(), 1)


def unpacked(piece):
    """The pictures and joints of a demonstration: (MOMENTS, 3, SIDE, SIDE) and (MOMENTS, JOINTS)."""
    content = zlib.decompress(piece)  # cause: loader
    pictures = numpy.frombuffer(content, dtype=numpy.uint8, count=PICTURES).reshape(MOMENTS, 3, SIDE, SIDE)
    return pictures, numpy.frombuffer(content, dtype=numpy.float32, offset=PICTURES).reshape(MOMENTS, JOINTS)


class Moments(torch.utils.data.Dataset):
    """Moments of the demonstrations: a picture, the joints, and the moves behind them."""

    def __init__(self):
        self.pieces = list(recorded())

    def demo(self, number):
        return unpacked(self.pieces[number])  # cause: loader

    def __getitem__(self, index):
        number, moment = divmod(index, STARTS)
        pictures, joints = self.demo(number)  # cause: loader
        now = joints[moment]
        moves = joints[moment + 1:moment + 1 + AHEAD] - now
        return torch.from_numpy(pictures[moment].copy()), torch.from_numpy(now.copy()), torch.from_numpy(moves)

    def __len__(self):
        return DEMOS * STARTS


class Open(Moments):
    """The same, all of it unpacked."""

    def __init__(self):
        super().__init__()
        self.demos = [unpacked(piece) for piece in self.pieces]

    def demo(self, number):
        return self.demos[number]


class Order:
    """All moments in turn, in another order each time, without an end."""

    def __iter__(self):
        random = numpy.random.default_rng(21)
        while True:
            yield from random.permutation(DEMOS * STARTS).tolist()


class Folder(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.GELU(), nn.Conv2d(64, 128, 3, 2, 1), nn.GELU(),
                                  nn.Conv2d(128, WIDTH, 3, 2, 1))
        self.arms = nn.Linear(JOINTS, WIDTH)
        self.asked = nn.Parameter(0.02 * torch.randn(1, AHEAD, WIDTH))
        self.places = nn.Parameter(0.02 * torch.randn(1, (SIDE // 8) ** 2, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.moves = nn.Linear(WIDTH, JOINTS)

    def forward(self, pictures, joints):
        seen = self.eyes(pictures.float() / 128.0 - 1.0).flatten(2).transpose(1, 2) + self.places
        words = torch.cat((seen, self.arms(joints).unsqueeze(1), self.asked.expand(len(joints), -1, -1)), dim=1)
        return self.moves(self.body(words)[:, -AHEAD:])


def make(variant):
    fixable.seed(torch)
    model = Folder().cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    moments, pinned = Open() if variant == "fix" else Moments(), variant == "useless"
    batches = iter(torch.utils.data.DataLoader(
        moments, batch_size=BATCH, sampler=Order(), pin_memory=pinned, num_workers=MANY if variant == "fix2" else FEW,
        multiprocessing_context="fork"))
    losses, turn, usual = [], [0], [0.3]

    def step():
        batch = next(batches)  # cause: loader
        pictures, joints, moves = [part.to("cuda", non_blocking=pinned) for part in batch]  # cause: delayed
        loss = nn.functional.l1_loss(model(pictures, joints), moves)
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
