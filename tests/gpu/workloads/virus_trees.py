# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: how fast an epidemic grows is seen by the tree of its viruses' kinship: if it grows fast, branches near the
root are short. A network learns that from simulated trees of 64 viruses each, which a program has written as lines of text
(Newick), as all programs for such trees do; 192 trees are a batch.

Wrong: the lines are read sign by sign in Python each time that it is their turn, with the depth and the heirs of each node, and
the GPU waits for that.
fix: all lines were read before the training (host-bound).
fix2: forward, backward and Adam are one CUDA graph; the lines are read as before (launch-bound).
useless: batches come from pinned memory.
"""
import math
import random
import re

import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, numpy, nn = fixable.load_torch("numpy", "torch_geometric.nn")
functional = torch.nn.functional

TREES, TIPS, BATCHES, FEATURES, WIDTH, LAYERS = 192, 64, 16, 4, 128, 4
NODES = 2 * TIPS - 1
SIGNS = re.compile(r"[(),;]|:[0-9.e+-]+|[^(),:;]+")


def simulated(luck, growth):
    """A tree whose branches meet by chance, back in time, in a crowd that has grown like exp(growth * time)."""
    nodes, time = [("v%d" % number, 0.0) for number in range(TIPS)], 0.0
    while len(nodes) > 1:
        pairs = 0.5 * len(nodes) * (len(nodes) - 1)
        time = math.log(math.exp(growth * time) + growth * luck.expovariate(pairs)) / growth
        (one, one_time), (other, other_time) = (nodes.pop(luck.randrange(len(nodes))) for _ in range(2))
        nodes.append(("(%s:%.6f,%s:%.6f)" % (one, time - one_time, other, time - other_time), time))
    return nodes[0][0] + ";"


def files(luck):
    """Batches of lines, and how fast each epidemic had grown."""
    for _ in range(BATCHES):
        growths = [math.exp(luck.uniform(-1.0, 3.0)) for _ in range(TREES)]
        yield [simulated(luck, growth) for growth in growths], numpy.log(numpy.array(growths, dtype=numpy.float32))


def read_tree(line):
    """For each node its parent, the length of its branch, its depth and how many viruses are its heirs; parents come first."""
    parents, lengths, heirs, above, node = [], [], [], [], -1
    for sign in SIGNS.findall(line):  # cause: loader
        if sign[0] == ":":  # cause: loader
            lengths[node] = float(sign[1:])  # cause: loader
        elif sign == ")":  # cause: loader
            node = above.pop()  # cause: loader
        elif sign != "," and sign != ";":  # cause: loader
            node = len(parents)  # cause: loader
            parents.append(above[-1] if above else 0)  # cause: loader
            lengths.append(0.0)  # cause: loader
            heirs.append(0 if sign == "(" else 1)  # cause: loader
            if sign == "(":  # cause: loader
                above.append(node)  # cause: loader
    depths = [0.0] * len(parents)
    for node in range(1, len(parents)):  # cause: loader
        depths[node] = depths[parents[node]] + lengths[node]  # cause: loader
    for node in range(len(parents) - 1, 0, -1):  # cause: loader
        heirs[parents[node]] += heirs[node]  # cause: loader
    return parents, lengths, depths, heirs


def read_batch(lines):
    """What is known of all nodes, (TREES * NODES, FEATURES), and who is next to whom, (2, edges), both ways."""
    known, children, parents = [], [], []
    for number, line in enumerate(lines):  # cause: loader
        above, lengths, depths, heirs = read_tree(line)  # cause: loader
        known += zip(lengths, depths, heirs, [float(heir == 1) for heir in heirs])  # cause: loader
        children += range(number * NODES + 1, (number + 1) * NODES)  # cause: loader
        parents += [number * NODES + parent for parent in above[1:]]  # cause: loader
    known = numpy.array(known, dtype=numpy.float32)  # cause: loader
    known[:, :3] = numpy.log(known[:, :3] + 1e-3)  # cause: loader
    return known, numpy.array((children + parents, parents + children), dtype=numpy.int64)  # cause: loader


class Guesser(torch.nn.Module):
    """The logarithm of an epidemic's growth."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(FEATURES, WIDTH)
        self.layers = torch.nn.ModuleList([nn.SAGEConv(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(WIDTH) for _ in range(LAYERS)])
        self.last = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1))

    def forward(self, known, edges):
        x = self.first(known)
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x), edges).relu()
        return self.last(x.view(TREES, NODES, WIDTH).mean(dim=1)).squeeze(1)


def make(variant):
    fixable.seed(torch)
    batches = list(files(random.Random(20)))
    guesser = Guesser().cuda()
    weights = list(guesser.parameters())
    adam = torch.optim.Adam(weights, lr=3e-4, capturable=variant == "fix2")
    ready = [read_batch(lines) for lines, _ in batches] if variant == "fix" else None
    turn, losses, places = [0], torch.zeros(BATCHES, device="cuda"), []

    def learn(known, edges, growths):
        loss = functional.mse_loss(guesser(known, edges), growths)
        loss.backward()
        adam.step()
        return loss.detach()

    if variant == "fix2":
        places = [torch.from_numpy(array).cuda() for array in (*read_batch(batches[0][0]), batches[0][1])]
        begin = [weight.detach().clone() for weight in weights]
        graph, given = fixable.capture(torch, lambda: learn(*places), adam.zero_grad)
        with torch.no_grad():  # as if nothing had been learnt yet
            for weight, first in zip(weights, begin):
                weight.copy_(first)
                for part in adam.state[weight].values():
                    part.zero_()

    def on_gpu(array):
        tensor = torch.from_numpy(array)
        return (tensor.pin_memory() if variant == "useless" else tensor).cuda()  # cause: delayed

    def learnt(batch):
        if variant == "fix2":
            for place, tensor in zip(places, batch):
                place.copy_(tensor)
            graph.replay()
            return given
        adam.zero_grad()
        return learn(*batch)

    def step():
        number = turn[0] % BATCHES
        turn[0] += 1
        lines, growths = batches[number]
        known, edges = ready[number] if ready else read_batch(lines)  # cause: loader
        losses[number] = learnt([on_gpu(array) for array in (known, edges, growths)])  # cause: delayed

    return fixable.Work(step, torch.cuda.synchronize, lambda: [losses.mean().item()])


run.main(make)
