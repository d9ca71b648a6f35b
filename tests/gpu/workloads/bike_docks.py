# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how many bicycles there will be at each of 600 docks of a city within the next three hours is learnt from half a year
of counts, one per quarter of an hour: a network of convolutions sees the last day, and the same day of the week before.

Wrong: a loop in Python cuts the windows of a batch out of the history, one dock after the other, fills gaps and brings each one
to its dock's scale; the GPU waits for the batch.
fix: the history and the calendar lie on the GPU, which cuts all windows of a batch at once (host-bound).
fix2: NumPy cuts all windows of a batch at once, on the host (host-bound).
useless: the batch is pinned, and copied with non_blocking=True.
"""
import datetime
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=260, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

DOCKS, DAY, DAYS, AHEAD, BATCH, WIDTH, BLOCKS = 600, 96, 180, 12, 384, 128, 4
WEEK, MOMENTS, CALENDAR = 7 * DAY, DAY * DAYS, 6
BEGIN, QUARTER = datetime.datetime(2023, 3, 1), datetime.timedelta(minutes=15)


def counted():
    """Bicycles at each dock at each moment, with gaps where a dock sent nothing: (DOCKS, MOMENTS)."""
    random = numpy.random.default_rng(20)
    moments = numpy.arange(MOMENTS, dtype=numpy.float32)
    places, phase = random.uniform(12.0, 40.0, (DOCKS, 1)), random.uniform(0.0, 2.0 * numpy.pi, (DOCKS, 1))
    daily = numpy.sin(2.0 * numpy.pi * moments / DAY + phase)
    weekly = numpy.cos(2.0 * numpy.pi * moments / WEEK + 0.5 * phase)
    counts = places * (0.5 + 0.3 * daily + 0.1 * weekly) + 1.5 * random.standard_normal((DOCKS, MOMENTS))
    counts = numpy.clip(numpy.rint(counts), 0.0, places).astype(numpy.float32)
    counts[random.random((DOCKS, MOMENTS)) < 0.01] = numpy.nan
    return counts


def calendar(moment):
    """What the date and the hour tell of a moment."""
    date = BEGIN + int(moment) * QUARTER
    hour, day = 2.0 * math.pi * (date.hour + date.minute / 60.0) / 24.0, 2.0 * math.pi * date.timetuple().tm_yday / 365.0
    weekend = 1.0 if date.weekday() >= 5 else 0.0
    return [math.sin(hour), math.cos(hour), math.sin(day), math.cos(day), weekend, date.weekday() / 6.0]


class Block(nn.Module):
    def __init__(self, reach):
        super().__init__()
        self.first = nn.Conv1d(WIDTH, WIDTH, 5, padding=2 * reach, dilation=reach)
        self.second = nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x):
        return x + self.second(nn.functional.gelu(self.first(x)))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.hour = nn.Conv1d(2, WIDTH, 5, padding=2), nn.Linear(CALENDAR, WIDTH)
        self.blocks = nn.Sequential(*[Block(2 ** number) for number in range(BLOCKS)])
        self.last = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, AHEAD))

    def forward(self, windows, dates):
        seen = self.blocks(self.first(windows))
        return self.last(torch.cat((seen[:, :, -1], seen.mean(dim=2) + self.hour(dates)), dim=1))


def make(variant):
    fixable.seed(torch)
    model = Forecast().cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    counts, random = counted(), numpy.random.default_rng(21)
    mean, deviation = numpy.nanmean(counts, axis=1), numpy.nanstd(counts, axis=1) + numpy.float32(0.1)
    losses, turn, usual = [], [0], [1.0]
    day, week, ahead = numpy.arange(-DAY, 0), numpy.arange(-WEEK - DAY, -WEEK), numpy.arange(AHEAD)
    if variant in ("fix", "fix2"):
        dates = numpy.array([calendar(moment) for moment in range(MOMENTS)], dtype=numpy.float32)
        even = numpy.nan_to_num((counts - mean[:, None]) / deviation[:, None])
        cut = numpy.stack([day, week])
    if variant == "fix":
        even, dates, cut, ahead = [torch.from_numpy(array).cuda() for array in (even, dates, cut, ahead)]

    def window(dock, start, end):
        """A dock's counts between two moments, with the usual number in the gaps."""
        return numpy.nan_to_num((counts[dock, start:end] - mean[dock]) / deviation[dock])  # cause: loader

    def in_turn(docks, moments):
        windows, told, later = [], [], []
        for dock, moment in zip(docks.tolist(), moments.tolist()):  # cause: loader
            last = window(dock, moment - DAY, moment)  # cause: loader
            before = window(dock, moment - WEEK - DAY, moment - WEEK)  # cause: loader
            windows.append(numpy.stack([last, before]))  # cause: loader
            told.append(numpy.array(calendar(moment), dtype=numpy.float32))  # cause: loader
            later.append(window(dock, moment, moment + AHEAD))  # cause: loader
        return [torch.from_numpy(numpy.stack(each)) for each in (windows, told, later)]  # cause: loader

    def at_once(docks, moments):
        windows = even[docks[:, None, None], moments[:, None, None] + cut]
        return windows, dates[moments], even[docks[:, None], moments[:, None] + ahead]

    def batch():
        """Windows of docks that are drawn by lot, the date of each, and what came then."""
        docks, moments = random.integers(0, DOCKS, BATCH), random.integers(WEEK + DAY, MOMENTS - AHEAD, BATCH)
        if variant == "fix":
            return at_once(torch.from_numpy(docks).cuda(), torch.from_numpy(moments).cuda())
        if variant == "fix2":
            return [torch.from_numpy(array).cuda() for array in at_once(docks, moments)]
        tensors = in_turn(docks, moments)  # cause: loader
        if variant == "useless":
            return [tensor.pin_memory().to("cuda", non_blocking=True) for tensor in tensors]
        return [tensor.to("cuda") for tensor in tensors]  # cause: delayed

    def step():
        windows, told, later = batch()  # cause: loader
        adam.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(windows, told), later)
        loss.backward()
        adam.step()
        losses.append(loss.detach())
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (torch.stack(losses).mean().item() - usual[0])
            losses.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
