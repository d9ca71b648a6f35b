# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: a GIN sorts collisions of particles; GraphNorm and the pool are not told how many of them a batch has.

Wrong: each of them looks for the largest number of a graph and waits for it; the next batch is put together only after that.
fix: they are told how many graphs there are (sync-bound).
fix2: batches are put together before the loop, and only sent in it; the reads stay (host-bound).
useless: inference_mode instead of no_grad.
"""
import fixable

SETS = 16

run = fixable.Program(__doc__, steps=400, warm_up=SETS)
torch, numpy, gnn = fixable.load_torch("numpy", "torch_geometric.nn")
nn = torch.nn
F = nn.functional

EVENTS, STORED, NEAR, SEEN, WIDTH, LAYERS, KINDS, LOOK_EVERY = 192, 1024, 12, 8, 192, 5, 10, 25


def collisions():
    """(hits, which hit is near which other one) of 96 to 160 hits each."""
    random = numpy.random.default_rng(20)
    made = []
    for count in random.integers(96, 161, STORED):
        hits = random.standard_normal((count, SEEN), dtype=numpy.float32)
        edges = numpy.stack([random.integers(0, count, count * NEAR), numpy.repeat(numpy.arange(count), NEAR)])
        made.append((hits, edges))
    return made


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(SEEN, WIDTH)
        self.layers = nn.ModuleList(gnn.GINConv(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))
                                    for _ in range(LAYERS))
        self.norms = nn.ModuleList(gnn.GraphNorm(WIDTH) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, KINDS)

    def forward(self, x, edges, graph_of, graphs):
        x = self.first(x)
        for layer, norm in zip(self.layers, self.norms):
            x = x + F.relu(norm(layer(x, edges), graph_of, graphs))  # cause: wait
        return self.head(gnn.global_add_pool(x, graph_of, graphs) / 128.0)  # cause: wait


def make(variant):
    fixable.seed(torch)
    stored = collisions()
    random = numpy.random.default_rng(21)
    drawn = random.integers(0, STORED, (SETS, EVENTS))
    model = Network().cuda().eval()
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    graphs = EVENTS if variant == "fix" else None
    shares = torch.zeros(KINDS, device="cuda")
    turn, seen = [0], []

    def sent(array):
        return torch.from_numpy(array).pin_memory().to("cuda", non_blocking=True)

    def batch_of(chosen):
        """Some collisions as one graph, each turned around the beam by an angle of its own."""
        counts = numpy.array([len(stored[at][0]) for at in chosen])
        first = numpy.cumsum(counts) - counts
        graph_of = numpy.repeat(numpy.arange(EVENTS), counts)
        x = numpy.concatenate([stored[at][0] for at in chosen])
        edges = numpy.concatenate([stored[at][1] + shift for at, shift in zip(chosen, first)], axis=1)
        angle = random.uniform(0.0, 2.0 * numpy.pi, EVENTS).astype(numpy.float32)[graph_of]
        sine, cosine = numpy.sin(angle), numpy.cos(angle)
        x[:, 0], x[:, 1] = cosine * x[:, 0] - sine * x[:, 1], sine * x[:, 0] + cosine * x[:, 1]
        return x, edges, graph_of

    made = [[torch.from_numpy(part).pin_memory() for part in batch_of(chosen)] for chosen in drawn] if variant == "fix2" else None

    def step():
        number = turn[0] % SETS
        if made:
            x, edges, graph_of = (part.to("cuda", non_blocking=True) for part in made[number])
        else:
            x, edges, graph_of = (sent(part) for part in batch_of(drawn[number]))
        turn[0] += 1
        with context():
            shares.mul_(0.9).add_(model(x, edges, graph_of, graphs).softmax(dim=1).mean(dim=0), alpha=0.1)
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = shares.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(seen))


run.main(make)
