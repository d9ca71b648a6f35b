# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: a laboratory crosses strains of baker's yeast that lack a gene each, and wants to know beforehand which crosses
will grow badly. A cross is a graph of 1024 genes about the two that it lacks, and their known interactions; six layers of
GraphConv with GraphNorm pass on what is missing, and from each layer the genes that matter most (an attention by softmax) add to
the growth that is told for four media. 64 crosses are told at a time, by weights that are made up here.

Wrong: GraphNorm, softmax and global_add_pool are not told how many crosses there are, and each of them reads the largest number
of a cross from the GPU to find out, 24 times a step; the GPU has nothing to do until the host launches more.
fix: they are told that there are 64 crosses, and nothing is read (sync-bound).
fix2: what lies between these reads is a CUDA graph each; the numbers are read as before (launch-bound).
useless: the growth, which is read once in 25 steps, comes to pinned memory.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=380, warm_up=12)
torch, pyg, utils = fixable.load_torch("torch_geometric.nn", "torch_geometric.utils")

CROSSES, GENES, TIES, MEDIA, GIVEN, WIDE, LAYERS, SCREENS, SHOWN = 64, 1024, 6, 4, 16, 64, 6, 6, 25


class Layer(torch.nn.Module):
    """What one layer has: genes learn from those that they interact with, and the crosses from their genes."""

    def __init__(self):
        super().__init__()
        self.mix = pyg.GraphConv(WIDE, WIDE)
        self.first, self.second = pyg.GraphNorm(WIDE), pyg.GraphNorm(WIDE)
        self.between = torch.nn.Linear(WIDE, WIDE)
        self.gate = torch.nn.Linear(WIDE, 1)
        self.growth = torch.nn.Linear(WIDE, MEDIA)


def network():
    """The interactions of the genes of all crosses, how strong they are, and of which cross each gene is."""
    begin = CROSSES * GENES
    first = torch.randint(0, GENES, (CROSSES, GENES * TIES), device="cuda")
    near = torch.randint(1, 60, (CROSSES, GENES * TIES), device="cuda")
    offset = torch.arange(0, begin, GENES, device="cuda")[:, None]
    ties = torch.stack(((first + offset).reshape(-1), ((first + near) % GENES + offset).reshape(-1)))
    return ties, torch.rand(ties.shape[1], device="cuda") / TIES, torch.arange(CROSSES, device="cuda").repeat_interleave(GENES)


def make(variant):
    fixable.seed(torch)
    ties, strong, cross = network()
    genes = torch.randn(SCREENS, CROSSES * GENES, GIVEN, device="cuda")
    genes[:, :, 0] = (torch.rand(SCREENS, CROSSES * GENES, device="cuda") < 2.0 / GENES).float() * 8.0  # the genes that it lacks
    here = torch.zeros(CROSSES * GENES, GIVEN, device="cuda")
    into = torch.nn.Linear(GIVEN, WIDE).cuda()
    layers = [Layer().cuda() for _ in range(LAYERS)]
    usual = torch.zeros(CROSSES, MEDIA, device="cuda")
    landing = torch.empty(CROSSES, MEDIA, pin_memory=True) if variant == "useless" else None
    turn, told = [0], []

    def begun(*_):
        """What is known of each gene, and the growth before any layer tells of it."""
        return into(here), None, torch.zeros(CROSSES, MEDIA, device="cuda")

    def parts(layer):
        """A layer in five parts, each from (genes, what the part before made, growth) to the same; the last four need the number
        of crosses."""
        def mix(x, _, growth, many):
            return x, layer.mix(x, ties, strong), growth

        def even(x, made, growth, many):
            return x, layer.between(layer.first(made, cross, many).relu()), growth  # cause: wait,copy

        def add(x, made, growth, many):
            return x + layer.second(made, cross, many).relu(), None, growth  # cause: wait,copy

        def weigh(x, _, growth, many):
            return x, utils.softmax(layer.gate(x), cross, num_nodes=many), growth  # cause: wait,copy

        def pool(x, share, growth, many):
            return x, None, growth + layer.growth(pyg.global_add_pool(share * x, cross, many))  # cause: wait,copy

        return [(mix, False), (even, True), (add, True), (weigh, True), (pool, True)]

    chain = [(begun, False)] + [part for layer in layers for part in parts(layer)]

    def tell(many):
        """The growth of the crosses, by all parts in turn."""
        state = None, None, None
        for part, _ in chain:
            state = part(*state, many)  # cause: wait,copy
        return state[2]

    def captured():
        """A graph for each part, whether a number is read before it, and what the part gives."""
        graphs = [(None, False, (None, None, None))]
        for part, reads in chain:
            graph, state = fixable.capture(torch, functools.partial(part, *graphs[-1][2], CROSSES), warm_up=1)
            graphs.append((graph, reads, state))
        return graphs[1:]

    with torch.no_grad():
        graphs = captured() if variant == "fix2" else None

    def replayed():
        for graph, reads, _ in graphs:
            if reads:
                int(cross.max())
            graph.replay()
        return graphs[-1][2][2]

    @torch.no_grad()
    def step():
        here.copy_(genes[turn[0] % SCREENS])
        if variant == "fix2":
            growth = replayed()
        else:
            growth = tell(CROSSES if variant == "fix" else None)  # cause: wait,copy
        usual.lerp_(growth, 0.05)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append((usual if landing is None else landing.copy_(usual)).mean().item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.reshape(-1).tolist())


run.main(make)
