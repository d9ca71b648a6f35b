# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a weather service may keep 48 rain gauges in a land, and wants them where they tell most: one after another goes to
the place, of a million, where rain is least known yet and floods are feared, and what it tells about all other places is taken
off (Gaussian process, Cholesky with pivots). Each season has rains of another width, and so its own gauges.

Wrong: behind each gauge, how badly the worst place was known and which place it was are read, for the list and to end early; the
GPU has nothing to do until the next one is launched.
fix: both stay on the device, and are read once behind the last gauge; it never ended early (sync-bound).
fix2: each gauge is a CUDA graph, behind which both are read (launch-bound).
useless: differences between places go to an array that is made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
torch = fixable.load_torch()

SIDE, GAUGES, SURE = 1024, 48, 1e-3
PLACES = SIDE * SIDE
WIDTHS = ((90.0, 90.0, 600.0), (60.0, 60.0, 450.0), (40.0, 35.0, 300.0), (75.0, 110.0, 500.0))  # km, km, and metres of height


def land():
    """Where places are, in km and metres of height, and how much floods are feared in each."""
    along = torch.arange(SIDE, device="cuda", dtype=torch.float32)
    north, east = torch.meshgrid(along, along, indexing="ij")
    height = 500.0 + 350.0 * torch.sin(0.013 * north + 0.4) * torch.cos(0.009 * east) + 120.0 * torch.sin(0.031 * east)
    feared = 1.0 + 0.4 * torch.sin(0.021 * north - 0.6) * torch.sin(0.017 * east + 0.2)
    feared = feared + 0.1 * torch.rand(SIDE, SIDE, device="cuda")
    return torch.stack((north, east, height)).view(3, PLACES), feared.view(PLACES)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    places, feared = land()
    scales = (1.0 / torch.tensor(WIDTHS, device="cuda")).unsqueeze(2)
    scaled, left = torch.empty_like(places), torch.empty(PLACES, device="cuda")
    rows = torch.zeros(GAUGES, PLACES, device="cuda")
    apart = torch.empty_like(places) if variant == "useless" else None
    turn, lists, found = [0], [None] * len(WIDTHS), [[] for _ in WIDTHS]

    def gauge(k):
        """Sets gauge k: its place, and how badly that was known."""
        worst, place = (left * feared).max(dim=0, keepdim=True)
        here = scaled.index_select(1, place)
        if variant == "useless":
            away = torch.sub(scaled, here, out=apart)
        else:
            away = scaled - here
        told = torch.exp(away.square().sum(dim=0) * -0.5)
        if k:
            told = torch.addmv(told, rows[:k].t(), rows[:k].index_select(1, place).view(k), alpha=-1.0)
        torch.div(told, left.index_select(0, place).sqrt(), out=rows[k])
        left.addcmul_(rows[k], rows[k], value=-1.0)
        return worst, place

    def begin(season):
        torch.mul(places, scales[season], out=scaled)
        left.fill_(1.0)

    begin(0)
    graphs = [fixable.capture(torch, lambda k=k: gauge(k)) for k in range(GAUGES)] if variant == "fix2" else []

    def set_one(k):
        if graphs:
            graph, both = graphs[k]
            graph.replay()
            return both
        return gauge(k)

    def read_each():
        worsts, kept = [], []
        for k in range(GAUGES):
            worst, place = set_one(k)
            known = worst.item()  # cause: wait,copy
            if known < SURE:
                break
            worsts.append(known)
            kept.append(place.item())  # cause: wait,copy
        return worsts, kept

    def read_once():
        both = [set_one(k) for k in range(GAUGES)]
        return torch.cat([worst for worst, _ in both]).tolist(), torch.cat([place for _, place in both]).tolist()

    place_all = read_once if variant == "fix" else read_each

    def spacing(kept):
        """How far each gauge is from its nearest neighbour, in km, by the mean of the first twelve."""
        at = [divmod(place, SIDE) for place in kept[:12]]
        return sum(min(math.dist(one, other) for other in at if other is not one) for one in at) / len(at)

    @torch.no_grad()
    def step():
        season = turn[0] % len(WIDTHS)
        turn[0] += 1
        begin(season)
        worsts, kept = place_all()  # cause: wait,copy
        lists[season] = kept
        found[season] = worsts + [spacing(kept)]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [number for season in found for number in season])


run.main(make)
