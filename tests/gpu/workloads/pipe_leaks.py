# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: a town's waterworks learn to find leaks: 36 junctions of its pipes have a gauge for the pressure, and from
what these show a network tells at which of 400 junctions water is lost.

Wrong: five small convolutions, there and back, and for each of 44 weights a few kernels that cut its gradient to a share of its
own size and note how large it was, are some six hundred launches a step; each takes the host longer than the GPU.
fix: all of a step, with what is written down, is one CUDA graph; the numbers are read behind each one as before (launch-bound).
fix2: the gradients of all weights are cut by a few foreach calls, and Adam is one kernel (fused=True) (launch-bound).
useless: the numbers are read every 20 steps.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, numpy, geometric = fixable.load_torch("numpy", "torch_geometric.nn")
nn, F = torch.nn, torch.nn.functional

JUNCTIONS, NEAR, GAUGES, BATCH, BATCHES, WIDTH, LAYERS, RATE, SHARE, SMALL = 400, 3, 36, 8, 40, 64, 5, 1e-3, 0.1, 1e-2


def town(random):
    """(pipes both ways, their length and width, by how much each junction's pressure sinks if one takes water out)."""
    places = random.random((JUNCTIONS, 2))
    far = numpy.sqrt(numpy.square(places[:, None] - places).sum(axis=2))
    near = numpy.argsort(far, axis=1)[:, 1:1 + NEAR].reshape(-1)
    ends = numpy.unique(numpy.sort(numpy.stack((numpy.repeat(numpy.arange(JUNCTIONS), NEAR), near)), axis=0), axis=1)
    length, width = far[ends[0], ends[1]], random.uniform(0.1, 0.3, ends.shape[1])
    net = numpy.zeros((JUNCTIONS, JUNCTIONS))
    net[ends[0], ends[1]] = net[ends[1], ends[0]] = -width ** 2 / (length + 0.01)
    net -= numpy.diag(net.sum(axis=1) - 0.01)
    shapes = numpy.tile(numpy.stack((10.0 * length, 5.0 * width), axis=1), (2, 1))
    return numpy.concatenate((ends, ends[::-1]), axis=1), shapes.astype(numpy.float32), numpy.linalg.inv(net)


def days(random, sinks):
    """Batches of (how the pressure has changed at each junction if it has a gauge, and whether it has; where the leak is)."""
    gauged = numpy.zeros(JUNCTIONS)
    gauged[random.permutation(JUNCTIONS)[:GAUGES]] = 1.0
    for _ in range(BATCHES):
        leaks = random.integers(0, JUNCTIONS, BATCH)
        taken = 0.02 * random.standard_normal((BATCH, JUNCTIONS))
        taken[numpy.arange(BATCH), leaks] += random.uniform(0.5, 1.0, BATCH)
        shown = numpy.stack((gauged * (taken @ sinks), numpy.broadcast_to(gauged, taken.shape)), axis=2)
        yield shown.reshape(-1, 2).astype(numpy.float32), leaks


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, WIDTH), nn.Linear(WIDTH, 1)
        parts = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)) for _ in range(LAYERS)]
        self.layers = nn.ModuleList([geometric.GINEConv(part, edge_dim=2) for part in parts])
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(LAYERS)])

    def forward(self, x, pipes, shapes):
        x = self.first(x)  # cause: launch
        for layer, norm in zip(self.layers, self.norms):
            x = x + F.relu(norm(layer(x, pipes, shapes)))  # cause: launch
        return self.last(x).view(BATCH, JUNCTIONS)  # cause: launch


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    pipes, shapes, sinks = town(random)
    copies = numpy.concatenate([pipes + number * JUNCTIONS for number in range(BATCH)], axis=1)
    pipes, shapes = torch.from_numpy(copies).cuda(), torch.from_numpy(shapes).cuda().repeat(BATCH, 1)
    batches = [[torch.from_numpy(part).cuda() for part in batch] for batch in days(random, sinks)]
    model = Finder().cuda().train()
    weights = list(model.parameters())
    adam = torch.optim.Adam(weights, lr=RATE, fused=True if variant == "fix2" else None, capturable=variant == "fix")
    turn, pending, usual = [0], [], [6.0, 0.0, 1.0]

    def cut():
        """No gradient shall be larger than a share of its weight (AGC); how large they were."""
        sizes = []
        for weight in weights:
            sizes.append(weight.grad.norm() / weight.norm().clamp(min=SMALL))  # cause: launch
            weight.grad.mul_((SHARE / sizes[-1].clamp(min=1e-6)).clamp(max=1.0))  # cause: launch
        return torch.stack(sizes)

    def cut_at_once():
        gradients = [weight.grad for weight in weights]
        sizes = torch.stack(torch._foreach_norm(gradients)) / torch.stack(torch._foreach_norm(weights)).clamp(min=SMALL)
        torch._foreach_mul_(gradients, (SHARE / sizes.clamp(min=1e-6)).clamp(max=1.0).unbind())
        return sizes

    def learn(shown, leaks):
        scores = model(shown, pipes, shapes)  # cause: launch
        loss = F.cross_entropy(scores, leaks)  # cause: launch
        loss.backward()  # cause: launch
        with torch.no_grad():
            sizes = (cut_at_once if variant == "fix2" else cut)()  # cause: launch
            adam.step()  # cause: launch
            found = (scores.argmax(dim=1) == leaks).float().mean()  # cause: launch
            return torch.cat((torch.stack((loss, found)), sizes))  # cause: launch

    if variant == "fix":
        before = {name: value.clone() for name, value in model.state_dict().items()}
        places = [part.clone() for part in batches[0]]
        graph, given = fixable.capture(torch, lambda: learn(*places), before=adam.zero_grad)
        model.load_state_dict(before)  # what was learnt on the way there is forgotten
        torch._foreach_zero_([value for state in adam.state.values() for value in state.values()])

    def note(loss, found, *sizes):
        for at, new in enumerate((loss, found, sum(sizes) / len(sizes))):
            usual[at] += 0.02 * (new - usual[at])

    def step():
        batch = batches[turn[0] % BATCHES]
        turn[0] += 1
        if variant == "fix":
            for place, part in zip(places, batch):
                place.copy_(part)
            graph.replay()
            told = given
        else:
            adam.zero_grad()
            told = learn(*batch)  # cause: launch
        pending.append(told)
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(pending).tolist():
                note(*one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
