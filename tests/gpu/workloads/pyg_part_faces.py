# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: a shop that mills parts wants to know, from a drawing, which faces belong to holes, slots, pockets or steps. A
part is a graph: its faces are the nodes, with area, kind and direction, and two faces that share an edge are tied, by the edge's
length and whether it is convex. Four layers of GINEConv with a mean over each part learn from 64 parts at a time.

Wrong: a step of training is hundreds of kernels of a few microseconds, which are launched one by one from Python.
fix: a step of training is one CUDA graph (launch-bound).
useless: the loss is not read until the end.
"""
import fixable

run = fixable.Program(__doc__, steps=550, warm_up=10)
torch, pyg = fixable.load_torch("torch_geometric.nn")
nn = torch.nn

PARTS, FACES, EDGES, BATCHES, OF_FACE, OF_EDGE, WIDE, KINDS, LAYERS, SHOWN = 64, 40, 96, 16, 10, 4, 64, 12, 4, 50
NODES = PARTS * FACES


class Faces(nn.Module):
    """Tells the kind of each face."""

    def __init__(self):
        super().__init__()
        self.begin = nn.Linear(OF_FACE, WIDE)
        self.looks = nn.ModuleList(pyg.GINEConv(self.mixer(), edge_dim=OF_EDGE) for _ in range(LAYERS))
        self.wholes = nn.ModuleList(nn.Linear(WIDE, WIDE) for _ in range(LAYERS))
        self.evens = nn.ModuleList(nn.LayerNorm(WIDE) for _ in range(LAYERS))
        self.told = nn.Linear(WIDE, KINDS)

    @staticmethod
    def mixer():
        return nn.Sequential(nn.Linear(WIDE, 2 * WIDE), nn.ReLU(), nn.Linear(2 * WIDE, WIDE))

    def forward(self, faces, ties, edges, part):
        x = self.begin(faces)
        for look, whole, even in zip(self.looks, self.wholes, self.evens):
            of_part = whole(pyg.global_mean_pool(x, part, size=PARTS))
            x = even(x + torch.relu(look(x, ties, edges) + of_part.index_select(0, part)))
        return self.told(x)


def drawn():
    """A batch of parts: faces, ties in both ways, edges, and the kind of each face, which its neighbours tell as well."""
    faces = torch.randn(NODES, OF_FACE, device="cuda")
    part = torch.arange(PARTS, device="cuda").repeat_interleave(EDGES) * FACES
    one = torch.randint(FACES, (PARTS * EDGES,), device="cuda")
    two = (one + torch.randint(1, 8, (PARTS * EDGES,), device="cuda")) % FACES
    ties = torch.stack((torch.cat((one + part, two + part)), torch.cat((two + part, one + part))))
    edges = torch.randn(PARTS * EDGES, OF_EDGE, device="cuda").repeat(2, 1)
    convex = torch.sigmoid(3.0 * edges[:, :1])
    around = torch.zeros(NODES, OF_FACE, device="cuda").index_add_(0, ties[1], convex * faces[ties[0]])
    score = torch.cat((faces + 0.5 * around, around[:, :KINDS - OF_FACE]), dim=1)
    return faces, ties, edges, (score + 0.5 * torch.randn_like(score)).argmax(dim=1)


def make(variant):
    fixable.seed(torch)
    batches = [drawn() for _ in range(BATCHES)]
    model = Faces().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, capturable=True)
    part = torch.arange(PARTS, device="cuda").repeat_interleave(FACES)
    faces, ties, edges, kinds = now = [own.clone() for own in batches[0]]
    usual, turn, curve = torch.full((), 2.5, device="cuda"), [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the parts in `now`, and notes the loss."""
        loss = nn.functional.cross_entropy(model(faces, ties, edges, part), kinds)  # cause: launch
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        for place, own in zip(now, batches[turn[0] % BATCHES]):
            place.copy_(own)
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the last layer have become."""
        return [usual.item(), float(model.told.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
