# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a web service tells haulage firms on which roads their trucks have been, as tolls are paid by that. A request has the
traces of 4608 trips, each of up to 48 places that are a bit off (GPS), and the likeliest way along the roads is found by the
algorithm of Viterbi, moment by moment, for all trips that are still on their way. A thread does that; clients have two requests
with it.

Wrong: which trips go on is a mask on the device, of which the host wants to know whether any does, and by nonzero() how many; it
waits for the GPU twice a moment, and nothing is launched meanwhile.
fix: the trips are put in the order of their lengths on the device; how many go on is counted from the request (sync-bound).
fix2: so are their places, and those that go on are always the first ones, of which views are enough (sync-bound).
useless: the answer comes to pinned memory.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
torch, numpy = fixable.load_torch("numpy")

TRIPS, MOMENTS, SHORTEST, SETS, AT_ONCE = 4608, 48, 16, 4, 2
ROADS, NEAR, GRID, SURE = 4096, 32, 64, 30.0  # roads by their middles, those near to a cell, cells each way; the land is 1 by 1


def country():
    """Middles of roads, those that are near to each cell, and how much it costs to come from one to another one."""
    roads = torch.rand(ROADS, 2, device="cuda")
    middles = (torch.arange(GRID, device="cuda").float() + 0.5) / GRID
    cells = torch.cartesian_prod(middles, middles)
    near = torch.cdist(cells, roads).topk(NEAR, dim=1, largest=False).indices
    apart = 8.0 * torch.cdist(roads, roads) + 0.2 * torch.rand(ROADS, ROADS, device="cuda")
    return roads, near, apart.half()


def requests():
    """Places of each trip, (MOMENTS, TRIPS, 2), and how many it has."""
    random = numpy.random.default_rng(20)
    for _ in range(SETS):
        turns = numpy.cumsum(random.normal(0.0, 0.4, (MOMENTS, TRIPS)), axis=0) + random.uniform(0.0, 6.28, TRIPS)
        ways = 0.008 * numpy.stack((numpy.cos(turns), numpy.sin(turns)), axis=2)
        places = random.uniform(0.2, 0.8, (TRIPS, 2)) + numpy.cumsum(ways, axis=0)
        places = places + random.normal(0.0, 0.003, places.shape)
        yield places.clip(0.0, 0.999).astype(numpy.float32), random.integers(SHORTEST, MOMENTS + 1, TRIPS)


class Service:
    """A thread that answers requests in the order in which they come."""

    def __init__(self, answer):
        self.asked, self.answers, self.waiting = queue.Queue(), queue.Queue(), 0
        threading.Thread(target=self.serve, args=(answer,), name="service", daemon=True).start()

    @torch.no_grad()
    def serve(self, answer):
        while True:
            request = self.asked.get()
            try:
                self.answers.put(answer(*request))
            except Exception as e:
                self.answers.put(e)

    def ask(self, request):
        self.asked.put(request)
        self.waiting += 1

    def take(self):
        answer = self.answers.get()
        self.waiting -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer


def taken(array, rows):
    return array[:rows] if isinstance(rows, int) else array.index_select(0, rows)


def put(array, rows, values):
    if isinstance(rows, int):
        array[:rows] = values
    else:
        array.index_copy_(0, rows, values)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    roads, nearby, apart = country()
    asked, turn, usual = list(requests()), [0], [0.0, 0.0]
    same = torch.arange(NEAR, device="cuda").expand(MOMENTS, TRIPS, NEAR)
    landing = torch.empty(MOMENTS, TRIPS, dtype=torch.uint8, pin_memory=True) if variant == "useless" else None

    def on_their_way(lengths, order, counts):
        """For each moment behind the first one, which trips go on."""
        for moment in range(1, MOMENTS):
            if variant == "fix2":
                yield moment, counts[moment]
            elif variant == "fix":
                yield moment, order[:counts[moment]]
            else:
                going = lengths > moment
                if not going.any():  # cause: wait
                    return
                yield moment, going.nonzero()[:, 0]  # cause: wait

    def forward(near, misses, trips):
        """The costs of being at each road at last, and from which one each was best reached, for each moment."""
        costs, came = misses[0].clone(), same.clone()
        for moment, rows in trips:  # cause: wait
            before, now = taken(near[moment - 1], rows), taken(near[moment], rows)
            ways = apart[before.unsqueeze(2), now.unsqueeze(1)]
            best, come = (taken(costs, rows).unsqueeze(2) + ways).min(dim=1)
            put(costs, rows, best.add_(taken(misses[moment], rows)))
            put(came[moment], rows, come)
        return costs, came

    def answer(places, lengths):
        """Which of the near roads each trip took at each moment, (MOMENTS, TRIPS), and what the ways cost by the mean."""
        counts = (TRIPS - numpy.bincount(lengths, minlength=MOMENTS + 1).cumsum())[:MOMENTS].tolist()
        places, lengths = torch.from_numpy(places).cuda(), torch.from_numpy(lengths).cuda()
        order = lengths.argsort(descending=True) if variant in ("fix", "fix2") else None
        if variant == "fix2":
            places = places[:, order]
        cells = (places * GRID).long()
        near = nearby[cells[:, :, 0] * GRID + cells[:, :, 1]]
        misses = (roads[near] - places.unsqueeze(2)).square().sum(dim=3).sqrt_().mul_(SURE)
        costs, came = forward(near, misses, on_their_way(lengths, order, counts))  # cause: wait
        cost, at = costs.min(dim=1, keepdim=True)
        path = [at]
        for moment in range(MOMENTS - 1, 0, -1):
            path.append(came[moment].gather(1, path[-1]))
        path = torch.cat(path[::-1], dim=1).t().to(torch.uint8).contiguous()
        if variant == "fix2":
            path = torch.empty_like(path).index_copy_(1, order, path)
        if variant == "useless":
            landing.copy_(path, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.clone(), cost.mean().item()
        return path.cpu(), cost.mean().item()

    service = Service(answer)

    def bill():
        """Notes how much the ways cost, and how often trucks were on one of the four nearest roads."""
        path, cost = service.take()
        usual[0] += 0.05 * (cost - usual[0])
        usual[1] += 0.05 * (int(numpy.count_nonzero(path.numpy() < 4)) / path.numel() - usual[1])

    def step():
        service.ask(asked[turn[0] % SETS])
        turn[0] += 1
        if service.waiting == AT_ONCE:
            bill()

    def wait():
        while service.waiting:
            bill()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
