# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: a network learns of which species trees are, from the points that a plane's laser has met of each of them;
edges between near points carry what is learnt on (EdgeConv), and each tree is turned and made larger or smaller at random.

Wrong: a tree of SciPy (cKDTree) is built for each of the sixteen clouds of a batch, and asked for the neighbours of each point,
while the GPU has nothing.
fix: the neighbours are looked for once, before the training; a cloud that is turned has the same ones (host-bound).
fix2: the losses are read every 20 batches, so that the GPU learns while the host looks for the next neighbours (sync-bound).
fix3: the GPU looks for the neighbours, by the distances of all points of a cloud (host-bound).
useless: points and edges are copied from pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, nets, numpy, spatial = fixable.load_torch("torch_geometric.nn", "numpy", "scipy.spatial")
nn = torch.nn

TREES, POINTS, NEAR, TOGETHER, SPECIES, WIDTH = 240, 512, 12, 16, 5, 64


def forest(random):
    """Points of trees: a trunk, and a crown that is as wide at each height as its species has it."""
    for number in range(TREES):
        kind = number % SPECIES
        high = random.random(POINTS)
        crown = [1.0 - high, numpy.sin(numpy.pi * high), numpy.sqrt(1.0 - high ** 2), high, 0.5 + 0.0 * high][kind]
        angle, out = random.uniform(0.0, 2.0 * numpy.pi, POINTS), numpy.sqrt(random.random(POINTS))
        wide = 0.45 * (0.3 + crown) * out + 0.05 * random.standard_normal(POINTS)
        tree = numpy.stack((wide * numpy.cos(angle), wide * numpy.sin(angle), 2.0 * high - 1.0), axis=1)
        yield tree.astype(numpy.float32), kind


def neighbours(tree):
    """For each point the NEAR nearest other ones."""
    return spatial.cKDTree(tree).query(tree, k=NEAR + 1)[1][:, 1:]


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nets.EdgeConv(nn.Sequential(nn.Linear(2 * inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)), aggr="max")
            for inputs in (3, WIDTH, WIDTH))
        self.last = nn.Sequential(nn.Linear(3 * WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, SPECIES))

    def forward(self, x, edges):
        found = []
        for layer in self.layers:
            x = layer(x, edges)
            found.append(x)
        return self.last(torch.cat(found, dim=1).view(TOGETHER, POINTS, -1).amax(dim=1))


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    trees, kinds = zip(*forest(random))
    kinds = torch.tensor(kinds, device="cuda")
    model = Sorter().cuda()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    known = [neighbours(tree) for tree in trees] if variant == "fix" else None
    firsts = numpy.arange(TOGETHER)[:, None, None] * POINTS
    to = torch.arange(TOGETHER * POINTS, device="cuda").repeat_interleave(NEAR)
    starts = (torch.arange(TOGETHER, device="cuda") * POINTS).view(-1, 1, 1)
    turn, pending, usual = [0], [], [1.6]

    def turned(tree):
        """The tree from another side, and as large as another one."""
        angle, size = random.uniform(0.0, 2.0 * numpy.pi), random.uniform(0.8, 1.2)
        cos, sin = size * numpy.cos(angle), size * numpy.sin(angle)
        return tree @ numpy.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, size]], dtype=numpy.float32)

    def sent(array):
        array = torch.from_numpy(array)
        return array.pin_memory().to("cuda", non_blocking=True) if variant == "useless" else array.cuda()  # cause: delayed

    def batch():
        """Points, edges to them and the species of some trees."""
        chosen = random.integers(0, TREES, TOGETHER)
        clouds = numpy.stack([turned(trees[k]) for k in chosen])
        if variant == "fix3":
            points = sent(clouds)
            near = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
            near = near.topk(NEAR + 1, dim=2, largest=False).indices[:, :, 1:] + starts
        else:
            near = [known[k] if known else neighbours(cloud) for k, cloud in zip(chosen, clouds)]  # cause: loader
            near, points = sent(numpy.stack(near) + firsts), sent(clouds)  # cause: delayed
        return points.view(-1, 3), torch.stack((near.reshape(-1), to)), kinds[sent(chosen)]

    def note(loss):
        usual[0] += 0.05 * (loss - usual[0])

    def step():
        points, edges, right = batch()  # cause: delayed
        adam.zero_grad()
        loss = nn.functional.cross_entropy(model(points, edges), right)
        loss.backward()
        adam.step()
        turn[0] += 1
        if variant != "fix2":
            note(loss.item())
            return
        pending.append(loss.detach())
        if turn[0] % LOOK_EVERY == 0:
            for number in torch.stack(pending).tolist():
                note(number)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
