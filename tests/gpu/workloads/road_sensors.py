# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: how fast cars will go half an hour from now is forecast for the sensors along a city's roads, by a recurrent
network whose gates look at the sensors up and down the road (graph convolutions in a GRU).

Wrong: six small convolutions for each of eight points of time, and all of it backwards, are over a thousand short kernels.
fix: what is learnt from a batch is one CUDA graph (launch-bound).
fix2: what the gates see is put together, and one convolution serves two gates: a third of the convolutions (launch-bound).
useless: the loss is read every 20 steps instead of behind each one, when all of the step has long been done.
"""
import fixable

run = fixable.Program(__doc__, steps=200, warm_up=20, multiple=20)
torch, numpy, geometric = fixable.load_torch("numpy", "torch_geometric.nn")
nn = torch.nn
F = torch.nn.functional

SENSORS, ROADS, BATCH, PAST, AHEAD, SEEN, WIDTH, TIMES, LOOK_EVERY = 400, 1600, 8, 8, 6, 2, 32, 4000, 20


def city(random):
    """(roads between sensors, their weights, speeds at all times with the time of day): sensors that are near are joined."""
    places = random.random((SENSORS, 2))
    near = numpy.argsort(numpy.square(places[:, None] - places).sum(axis=2), axis=1)[:, 1:1 + ROADS // SENSORS]
    roads = numpy.stack((near.reshape(-1), numpy.repeat(numpy.arange(SENSORS), ROADS // SENSORS)))
    far = numpy.sqrt(numpy.square(places[roads[0]] - places[roads[1]]).sum(axis=1))
    day = 2.0 * numpy.pi * numpy.arange(TIMES)[:, None] / 288.0
    rush = numpy.maximum(numpy.sin(day + 2.0 * places[:, 0]), 0.0) * (0.3 + places[:, 1])
    speeds = 1.0 - rush + 0.1 * random.standard_normal((TIMES, SENSORS))
    series = numpy.stack((speeds, numpy.broadcast_to(numpy.sin(day), speeds.shape)), axis=2)
    return [torch.from_numpy(part).cuda() for part in (roads, numpy.exp(-8.0 * far).astype(numpy.float32) / 4.0,
                                                       series.astype(numpy.float32))]


class Cell(nn.Module):
    """A GRU's cell, each gate of which has a convolution of what is new and one of what is remembered."""

    def __init__(self):
        super().__init__()
        self.new = nn.ModuleList([geometric.GraphConv(SEEN, WIDTH) for _ in range(3)])
        self.old = nn.ModuleList([geometric.GraphConv(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, x, kept, roads, weights):
        keep = torch.sigmoid(self.new[0](x, roads, weights) + self.old[0](kept, roads, weights))  # cause: launch
        show = torch.sigmoid(self.new[1](x, roads, weights) + self.old[1](kept, roads, weights))  # cause: launch
        fresh = torch.tanh(self.new[2](x, roads, weights) + self.old[2](show * kept, roads, weights))  # cause: launch
        return keep * kept + (1.0 - keep) * fresh  # cause: launch


class Joined(nn.Module):
    """The same cell: one convolution for two gates, one for the third."""

    def __init__(self):
        super().__init__()
        self.gates = geometric.GraphConv(SEEN + WIDTH, 2 * WIDTH)
        self.fresh = geometric.GraphConv(SEEN + WIDTH, WIDTH)

    def forward(self, x, kept, roads, weights):
        keep, show = torch.sigmoid(self.gates(torch.cat((x, kept), dim=2), roads, weights)).chunk(2, dim=2)
        fresh = torch.tanh(self.fresh(torch.cat((x, show * kept), dim=2), roads, weights))
        return keep * kept + (1.0 - keep) * fresh


class Forecast(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.last = cell, nn.Linear(WIDTH, AHEAD)

    def forward(self, past, roads, weights):
        kept = past.new_zeros(BATCH, SENSORS, WIDTH)
        for at in range(PAST):
            kept = self.cell(past[:, at], kept, roads, weights)  # cause: launch
        return self.last(kept)


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    roads, weights, series = city(random)
    starts = random.integers(0, TIMES - PAST - AHEAD, (200, BATCH))
    model = Forecast(Joined() if variant == "fix2" else Cell()).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=variant == "fix")
    turn, mean, pending = [0], [0.5], []

    def learn(past, future):
        optimizer.zero_grad()
        loss = F.l1_loss(model(past, roads, weights), future)  # cause: launch
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)  # cause: launch
        optimizer.step()
        return loss.detach()

    batches = []
    for some in starts.tolist():
        past = torch.stack([series[at:at + PAST] for at in some])
        batches.append((past, torch.stack([series[at + PAST:at + PAST + AHEAD, :, 0].t() for at in some])))
    if variant == "fix":
        places = [part.clone() for part in batches[0]]
        graph, learnt = fixable.capture(torch, lambda: learn(*places), before=optimizer.zero_grad)

    def log(loss):
        mean[0] += 0.05 * (loss - mean[0])

    def step():
        past, future = batches[turn[0] % len(batches)]
        turn[0] += 1
        if variant == "fix":
            places[0].copy_(past)
            places[1].copy_(future)
            graph.replay()
            loss = learnt
        else:
            loss = learn(past, future)  # cause: launch
        if variant != "useless":
            log(loss.item())
            return
        pending.append(loss)
        if len(pending) == LOOK_EVERY:
            for number in torch.stack(pending).tolist():
                log(number)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
