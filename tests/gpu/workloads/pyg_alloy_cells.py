# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: which alloys could be hard and light is looked for among many that nobody has made: a network (CGCNN) that
knows which atoms are near to which tells the energy of each. A crystal is a cell with 24 to 48 atoms that repeats in all
directions; the 12 nearest neighbours of each atom are looked for in the cell and the 26 around it.

Wrong: neighbours are looked for by NumPy, each time that a batch of 16 cells is put together, and the GPU waits for that.
fix: batches are put together once, before the first step, and are kept on the host (host-bound).
useless: they are pinned, and copied with non_blocking=True.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=6)
torch, numpy, gnn = fixable.load_torch("numpy", "torch_geometric.nn")
nn = torch.nn

CELLS, BATCHES, NEAR, KINDS, WIDTH, BELLS, LAYERS, FAR, ROOM = 16, 6, 12, 30, 256, 40, 3, 6.0, 14.0
IMAGES = numpy.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))


def crystals(random):
    """For each cell its three edges (3, 3), in angstroms, where its atoms are along those (n, 3), and which they are (n,)."""
    for _ in range(CELLS * BATCHES):
        count = int(random.integers(24, 49))
        edges = (count * ROOM) ** (1.0 / 3.0) * (numpy.eye(3) + 0.05 * random.standard_normal((3, 3)))
        grid = numpy.array(list(itertools.product(range(4), repeat=3)))[random.permutation(64)[:count]]
        places = (grid + 0.5 + random.uniform(-0.2, 0.2, (count, 3))) / 4.0
        yield edges, places, random.integers(0, KINDS, count)


def neighbours(edges, places):
    """Which atoms are the nearest ones of each, and how far they are: (n, NEAR) each."""
    here = places @ edges
    there = (places[:, None] + IMAGES).reshape(-1, 3) @ edges  # cause: loader
    far = numpy.sqrt(numpy.square(here[:, None] - there).sum(axis=2))  # cause: loader
    order = numpy.argsort(far, axis=1)[:, 1:NEAR + 1]  # cause: loader
    return order // len(IMAGES), numpy.take_along_axis(far, order, axis=1)  # cause: loader


def put_together(cells):
    """The graph of some cells: kinds of atoms, pairs of neighbours, how far these are apart, and of which cell an atom is."""
    kinds, pairs, fars, cell_of, first = [], [], [], [], 0
    for number, (edges, places, kind) in enumerate(cells):
        near, far = neighbours(edges, places)  # cause: loader
        atoms = numpy.repeat(numpy.arange(len(kind)), NEAR)
        pairs.append(numpy.stack((near.ravel(), atoms)) + first)
        kinds.append(kind)
        fars.append(far.ravel().astype(numpy.float32))
        cell_of.append(numpy.full(len(kind), number))
        first += len(kind)
    return [torch.from_numpy(numpy.concatenate(part, axis=-1)) for part in (kinds, pairs, fars, cell_of)]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(KINDS, WIDTH)
        self.layers = nn.ModuleList(gnn.CGConv(WIDTH, dim=BELLS, aggr="mean") for _ in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Softplus(), nn.Linear(WIDTH, 1))
        self.register_buffer("middles", torch.linspace(1.0, FAR, BELLS))

    def forward(self, kinds, pairs, fars, cell_of):
        bells = torch.exp(-((fars.unsqueeze(1) - self.middles) / 0.2).square())
        x = self.kinds(kinds)
        for layer in self.layers:
            x = layer(x, pairs, bells)
        return self.head(gnn.global_mean_pool(x, cell_of, size=CELLS)).squeeze(1)


def make(variant):
    fixable.seed(torch)
    cells = list(crystals(numpy.random.default_rng(20)))
    batches = [cells[at:at + CELLS] for at in range(0, len(cells), CELLS)]
    made = [put_together(batch) for batch in batches] if variant == "fix" else None
    model, pinned = Network().cuda().eval(), variant == "useless"
    turn, usual = [0], torch.zeros(2, device="cuda")

    def batch_of(number):
        return made[number] if made else put_together(batches[number])  # cause: loader

    @torch.no_grad()
    def step():
        parts = batch_of(turn[0] % BATCHES)  # cause: loader
        turn[0] += 1
        if pinned:
            parts = [part.pin_memory() for part in parts]
        parts = [part.to("cuda", non_blocking=pinned) for part in parts]  # cause: delayed
        energies = model(*parts)
        usual.lerp_(torch.stack((energies.square().mean().sqrt(), energies.std())), 0.05)

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, usual))


run.main(make)
