# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: a neutrino hits a tank of water, and a charged particle flies on that sends a cone of light to the 256
photosensors at the tank's wall. Each sensor tells how much light it saw, and when. A graph ties each sensor to its eight nearest
ones, and a network with attention (GATv2) learns to tell the direction of flight from eight events at a time.

Wrong: a step of training is some hundreds of kernels of a few microseconds each, which are launched one by one.
fix: they are launched as one CUDA graph (launch-bound).
useless: the usual loss, which is read once in 50 steps, is not read before the end.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, nn, gnn = fixable.load_torch("torch.nn", "torch_geometric.nn")

SENSORS, EVENTS, BATCHES, NEAR, WIDE, HEADS, LAYERS, SHOWN = 256, 8, 32, 8, 64, 4, 4, 50
TURNS, ANGLE, SLOW = 16, 0.7314, 0.22  # of light: cosine of the cone, and metres per nanosecond


def tank():
    """Places of the sensors in tens of metres, on the wall of a tank; ties to the nearest ones, and the ways along them."""
    number = torch.arange(SENSORS)
    around = 2.0 * math.pi * (number % TURNS) / TURNS
    high = 3.6 * (number // TURNS) / (SENSORS // TURNS - 1) - 1.8
    places = torch.stack((1.7 * torch.cos(around), 1.7 * torch.sin(around), high), dim=1)
    apart = torch.cdist(places, places).fill_diagonal_(1e9)
    nearest = apart.topk(NEAR, largest=False).indices
    ties = torch.stack((nearest.reshape(-1), number.repeat_interleave(NEAR)))
    return places, ties, places[ties[0]] - places[ties[1]]


def events(places):
    """What sensors saw, (BATCHES, EVENTS * SENSORS, 5), with where they are; directions, (BATCHES, EVENTS, 3)."""
    ways = nn.functional.normalize(torch.randn(BATCHES, EVENTS, 1, 3), dim=3)
    starts = 0.5 * torch.randn(BATCHES, EVENTS, 1, 3)
    rays = places - starts
    far = rays.norm(dim=3).clamp(min=0.1)
    cosine = (rays * ways).sum(dim=3) / far
    light = torch.exp(-((cosine - ANGLE) / 0.12).square()) * 4.0 / far + 0.1
    seen = torch.log1p(torch.poisson(20.0 * light)) / 3.0
    when = 0.1 * (far / SLOW + 0.3 * torch.randn(BATCHES, EVENTS, SENSORS))
    where = places.expand(BATCHES, EVENTS, SENSORS, 3)
    all_of_it = torch.cat((seen.unsqueeze(3), when.unsqueeze(3), where), dim=3)
    return all_of_it.reshape(BATCHES, EVENTS * SENSORS, 5).contiguous(), ways.squeeze(2).contiguous()


class Compass(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin = nn.Linear(5, WIDE)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDE) for _ in range(LAYERS))
        self.looks = nn.ModuleList(
            gnn.GATv2Conv(WIDE, WIDE // HEADS, heads=HEADS, edge_dim=3, add_self_loops=False) for _ in range(LAYERS))
        self.end = nn.Sequential(nn.Linear(WIDE, WIDE), nn.ReLU(), nn.Linear(WIDE, 3))

    def forward(self, seen, ties, along, event):
        x = self.begin(seen)
        for norm, look in zip(self.norms, self.looks):
            x = x + torch.relu(look(norm(x), ties, along))
        return self.end(gnn.global_add_pool(x, event, size=EVENTS) / SENSORS)


def make(variant):
    fixable.seed(torch)
    places, own_ties, own_along = tank()
    all_seen, all_ways = (part.cuda() for part in events(places))
    ties = torch.cat([own_ties + SENSORS * number for number in range(EVENTS)], dim=1).cuda()
    along = own_along.repeat(EVENTS, 1).cuda()
    event = torch.arange(EVENTS).repeat_interleave(SENSORS).cuda()
    model = Compass().cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.Adam(weights, lr=3e-4, capturable=True)
    seen, ways = all_seen[0].clone(), all_ways[0].clone()
    usual, turn, curve = torch.ones((), device="cuda"), [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the events in `seen`, and notes the loss."""
        loss = 1.0 - nn.functional.cosine_similarity(model(seen, ties, along, event), ways, dim=1).mean()  # cause: launch
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(weights, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        number = turn[0] % BATCHES
        turn[0] += 1
        seen.copy_(all_seen[number])
        ways.copy_(all_ways[number])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the end have become."""
        return [usual.item(), float(model.end[2].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
