# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a firm with 8000 taxis tries on a model of its city how long people will wait: every twenty seconds the 96 people
who have called get taxis. How long each taxi would take to each of them is computed from a map of the traffic; each one asks
for the nearest, and who is nearest to a taxi gets it, in eight rounds. Taxis that come free drive to a stand.

Wrong: each taxi is an object of its own, which Python moves, and asks where it is; the GPU waits for that.
fix: the fleet is a few tensors on the host (host-bound).
fix2: the fleet is the same tensors on the GPU, and how long people wait is read every 20 rounds (host-bound).
useless: where the taxis are is copied from pinned memory.
"""
import heapq
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=250, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

TAXIS, CALLS, SETS, STANDS, ROUND, CITY, CELLS, POINTS, BIDS = 8000, 96, 60, 32, 20.0, 20000.0, 128, 16, 8
IDLE_SPEED, TRIP_SPEED, KEEP, NEVER = 6.0, 8.0, 0.02, 1e9  # metres a second


class Taxi:
    def __init__(self, number, x, y, stand):
        self.number, self.x, self.y, self.stand, self.busy = number, x, y, stand, False

    def drive(self, far):
        """On to the stand."""
        across, up = self.stand[0] - self.x, self.stand[1] - self.y  # cause: loader
        share = min(1.0, far / max(math.hypot(across, up), 1.0))  # cause: loader
        self.x += share * across
        self.y += share * up


class Objects:
    """The fleet as objects, and a heap of when which trips are over."""

    def __init__(self, places, stands, pinned):
        self.stands = stands.tolist()
        self.taxis = [Taxi(number, x, y, self.nearest(x, y)) for number, (x, y) in enumerate(places.tolist())]
        self.trips, self.pinned = [], pinned

    def nearest(self, x, y):
        return min(self.stands, key=lambda stand: (stand[0] - x) ** 2 + (stand[1] - y) ** 2)  # cause: loader

    def go_on(self, now):
        while self.trips and self.trips[0][0] <= now:
            self.taxis[heapq.heappop(self.trips)[1]].busy = False  # cause: loader
        for taxi in self.taxis:
            if not taxi.busy:
                taxi.drive(IDLE_SPEED * ROUND)  # cause: loader

    def seen(self):
        """Where the taxis are, and which of them are busy."""
        places = torch.tensor([(taxi.x, taxi.y) for taxi in self.taxis])  # cause: loader
        busy = torch.tensor([taxi.busy for taxi in self.taxis])  # cause: loader
        if self.pinned:
            return places.pin_memory().to("cuda", non_blocking=True), busy.pin_memory().to("cuda", non_blocking=True)
        return places.cuda(), busy.cuda()  # cause: delayed

    def send(self, now, which, waits, ends, lasts):
        """Taxis get their trips; a taxi that has none comes as -1. How long people wait."""
        waits = waits.tolist()
        for number, wait, (x, y), last in zip(which.tolist(), waits, ends[1], lasts[1]):
            if number >= 0:
                taxi = self.taxis[number]  # cause: loader
                taxi.busy, taxi.x, taxi.y, taxi.stand = True, x, y, self.nearest(x, y)  # cause: loader
                heapq.heappush(self.trips, (now + wait + last, number))  # cause: loader
        return sum(waits) / CALLS


class Tensors:
    """The fleet as tensors on a device."""

    def __init__(self, places, stands, device):
        self.places, self.stands, self.device = places.to(device), stands.to(device), device
        self.goals = self.stands[self.nearest(self.places)]
        self.until = torch.zeros(TAXIS, dtype=torch.float64, device=device)

    def nearest(self, places):
        return (places[:, None] - self.stands).square().sum(dim=2).argmin(dim=1)

    def go_on(self, now):
        self.busy = self.until > now
        way = self.goals - self.places
        share = (IDLE_SPEED * ROUND / torch.hypot(way[:, 0], way[:, 1]).clamp(min=1.0)).clamp(max=1.0)
        self.places += way * (share * ~self.busy)[:, None]

    def seen(self):
        return self.places.float().cuda(), self.busy.cuda()

    def send(self, now, which, waits, ends, lasts):
        which, waits = which.to(self.device), waits.to(self.device)
        sent = which >= 0
        rows = torch.where(sent, which, TAXIS)  # those that have none go to a row behind the last one
        goals, until = self.stands[self.nearest(ends[0])], now + waits + lasts[0]
        for name, news in (("places", ends[0]), ("goals", goals), ("until", until)):
            old = getattr(self, name)
            setattr(self, name, torch.cat((old, old[:1])).index_copy_(0, rows, news)[:TAXIS])
        return waits.mean()


def matched(places, busy, starts, slow):
    """Which taxi comes to each call, or -1, and how long that takes."""
    way = places[None] - starts[:, None]
    share = (torch.arange(POINTS, device="cuda") + 0.5) / POINTS
    cells = ((starts[:, None, None] + way[:, :, None] * share[:, None]) * (CELLS / CITY)).long().clamp_(0, CELLS - 1)
    hindered = slow.view(-1)[cells[..., 1] * CELLS + cells[..., 0]].mean(dim=2)
    times = torch.hypot(way[..., 0], way[..., 1]) * hindered + 30.0
    times.masked_fill_(busy, NEVER)
    which, waits = torch.full((CALLS,), -1, device="cuda"), torch.full((CALLS,), 600.0, device="cuda")
    for _ in range(BIDS):
        shortest, taxi = times.min(dim=1)
        shortest = shortest.where(which < 0, NEVER)
        lowest = torch.full((TAXIS,), NEVER, device="cuda").scatter_reduce_(0, taxi, shortest, "amin")
        won = (shortest < NEVER) & (lowest[taxi] == shortest)
        which, waits = taxi.where(won, which), shortest.where(won, waits)
        times.masked_fill_(lowest < NEVER, NEVER)
    return which, waits


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    towards = torch.randn(SETS, 2, CALLS, 2, dtype=torch.float64)
    towards *= torch.tensor([0.12, 0.2], dtype=torch.float64)[:, None, None]  # they come from the middle rather than go there
    calls = CITY * (0.5 + towards).clamp(0.01, 0.99)  # where people are, and where they want to go
    places, stands = CITY * torch.rand(TAXIS, 2, dtype=torch.float64), CITY * torch.rand(STANDS, 2, dtype=torch.float64)
    lasts = 120.0 + (calls[:, 1] - calls[:, 0]).norm(dim=2) / TRIP_SPEED
    grid = torch.linspace(-1.0, 1.0, CELLS, device="cuda")
    slow = (0.08 + 0.12 * torch.exp(-4.0 * (grid.square() + grid[:, None].square())))  # seconds a metre
    device, as_tensors = "cuda" if variant == "fix2" else "cpu", variant in ("fix", "fix2")
    fleet = Tensors(places, stands, device) if as_tensors else Objects(places, stands, variant == "useless")
    starts, ends, ends_listed = calls[:, 0].float().cuda(), calls[:, 1].to(device), calls[:, 1].tolist()
    times, times_listed = lasts.to(device), lasts.tolist()
    turn, pending, usual = [0], [], [300.0]

    @torch.no_grad()
    def step():
        now, k = turn[0] * ROUND, turn[0] % SETS
        turn[0] += 1
        fleet.go_on(now)  # cause: loader
        places, busy = fleet.seen()  # cause: loader
        which, waits = matched(places, busy, starts[k], slow * (1.0 + 0.3 * math.sin(0.01 * turn[0])))  # cause: delayed
        wait = fleet.send(now, which, waits, (ends[k], ends_listed[k]), (times[k], times_listed[k]))  # cause: loader
        pending.append(wait)
        if turn[0] % LOOK_EVERY == 0:
            for wait in torch.stack(pending).tolist() if variant == "fix2" else pending:
                usual[0] += KEEP * (float(wait) - usual[0])
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
