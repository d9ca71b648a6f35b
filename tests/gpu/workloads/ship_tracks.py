# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a transformer learns to tell cargo ships, tankers, ferries, fishing boats, tugs and yachts apart by how they move.
Ships send by radio where they are (AIS), at uneven times; of eight hours of that, an example has 128 points at even times.

Wrong: the loop that trains cuts and interpolates one example after the other, with some twenty calls of NumPy; the GPU waits.
fix: eight workers of the DataLoader make the batches (host-bound).
fix2: messages of all ships lie in one table, in which NumPy looks for the points of a whole batch at once (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=140, warm_up=LOOK_EVERY, multiple=LOOK_EVERY, settle={"fix": 2 * LOOK_EVERY})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

SHIPS, FEWEST, MOST, POINTS, SPAN, BATCH, WORKERS = 1200, 1000, 1600, 128, 8 * 3600.0, 192, 8
KINDS, CHANNELS, WIDTH, HEADS, LAYERS = 6, 5, 96, 4, 3
SPEEDS, TURNS = (14.0, 12.0, 18.0, 5.0, 7.0, 6.0), (0.02, 0.015, 0.08, 0.3, 0.2, 0.12)  # knots, and radians, by kind
DEGREE, KNOT, APART = 111.2, 1.852 / 3600.0, 1e6  # kilometres, kilometres in a second, and seconds from ship to ship


class Track:
    """What a ship has sent: times, courses (radians), and columns: where it was (degrees), and how fast it went (knots)."""

    def __init__(self, random, kind):
        count = int(random.integers(FEWEST, MOST))
        waits = 20.0 + random.exponential(70.0, count)
        turned = numpy.cumsum(random.normal(0.0, TURNS[kind], count) * (random.random(count) < 0.3))
        self.times, self.courses = numpy.cumsum(waits), (random.uniform(0.0, 6.2) + turned) % (2.0 * numpy.pi)
        speeds = SPEEDS[kind] * random.uniform(0.7, 1.3) + random.normal(0.0, 0.5, count)
        way = speeds * KNOT * waits / DEGREE
        north = random.uniform(53.0, 57.0) + numpy.cumsum(way * numpy.cos(self.courses))
        east = random.uniform(3.0, 8.0) + numpy.cumsum(way * numpy.sin(self.courses)) / numpy.cos(numpy.radians(55.0))
        self.columns = north, east, speeds


def drawn():
    """The ships of a batch, and where in their tracks (0 ... 1) the examples end; without an end."""
    random = numpy.random.default_rng(21)
    while True:
        yield random.integers(0, SHIPS, BATCH), random.random(BATCH)


class Batches(torch.utils.data.Dataset):
    def __init__(self):
        random = numpy.random.default_rng(20)
        self.kinds = random.integers(0, KINDS, SHIPS)
        self.tracks = [Track(random, kind) for kind in self.kinds.tolist()]
        self.firsts, self.lasts = numpy.array([(track.times[0], track.times[-1]) for track in self.tracks]).T
        self.even = numpy.linspace(-SPAN, 0.0, POINTS)

    def example(self, track, end):
        """One example: (CHANNELS, POINTS)."""
        since, until = numpy.searchsorted(track.times, (end - SPAN, end)) + (-1, 1)  # cause: loader
        moments, times = end + self.even, track.times[since:until]  # cause: loader
        north, east, speed = [numpy.interp(moments, times, each[since:until]) for each in track.columns]  # cause: loader
        course = numpy.interp(moments, times, numpy.unwrap(track.courses[since:until]))  # cause: loader
        east = (east - east[-1]) * numpy.cos(numpy.radians(north[-1]))  # cause: loader
        rows = (north - north[-1], east, speed / 20.0, numpy.sin(course), numpy.cos(course))  # cause: loader
        return numpy.stack(rows).astype(numpy.float32)  # cause: loader

    def made(self, ships, ends):
        return numpy.stack([self.example(self.tracks[ship], end) for ship, end in zip(ships, ends)])  # cause: loader

    def __getitem__(self, batch):
        ships, share = batch
        begin, end = self.firsts[ships] + SPAN + 1.0, self.lasts[ships] - 1.0
        examples = self.made(ships, begin + share * (end - begin))  # cause: loader
        return torch.from_numpy(examples), torch.from_numpy(self.kinds[ships])


class Table(Batches):
    """The same from one table of all messages; times go on from ship to ship."""

    def __init__(self):
        super().__init__()
        self.times = numpy.concatenate([track.times + APART * number for number, track in enumerate(self.tracks)])
        each = [(*track.columns, numpy.unwrap(track.courses)) for track in self.tracks]
        self.table = numpy.concatenate(each, axis=1).T.copy()

    def made(self, ships, ends):
        moments = (ends + APART * ships)[:, None] + self.even
        after = numpy.searchsorted(self.times, moments)
        share = (moments - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        points = self.table[after - 1] + share[:, :, None] * (self.table[after] - self.table[after - 1])
        north, east, speed, course = points.transpose(2, 0, 1)
        east = (east - east[:, -1:]) * numpy.cos(numpy.radians(north[:, -1:]))
        rows = (north - north[:, -1:], east, speed / 20.0, numpy.sin(course), numpy.cos(course))
        return numpy.stack(rows, axis=1).astype(numpy.float32)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.places = nn.Linear(CHANNELS, WIDTH), nn.Parameter(0.02 * torch.randn(POINTS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True)
        self.layers, self.last = nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, KINDS)

    def forward(self, tracks):
        return self.last(self.layers(self.first(tracks.transpose(1, 2)) + self.places).mean(dim=1))


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    model = Judge().cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    dataset, pinned = Table() if variant == "fix2" else Batches(), variant == "useless"
    workers = {"num_workers": WORKERS, "multiprocessing_context": "fork"} if variant == "fix" else {}
    batches = iter(torch.utils.data.DataLoader(dataset, batch_size=None, sampler=drawn(), pin_memory=pinned, **workers))
    pending, usual = [], [1.8]

    def step():
        tracks, kinds = next(batches)  # cause: loader
        tracks, kinds = tracks.to("cuda", non_blocking=pinned), kinds.to("cuda", non_blocking=pinned)  # cause: delayed
        adam.zero_grad()
        loss = nn.functional.cross_entropy(model(tracks), kinds)
        loss.backward()
        adam.step()
        pending.append(loss.detach())
        if len(pending) == LOOK_EVERY:
            usual[0] += 0.1 * (torch.stack(pending).mean().item() - usual[0])
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
