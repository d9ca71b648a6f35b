# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: trams take their power from a wire above the street, and where many of them start at once, the voltage falls.
A network learns how far it falls at each of 2048 pieces of wire of a city, from what the trams take there, the substations and
the resistance between the pieces, for 80 moments of a day at a time: 163840 nodes and 983040 edges, two layers with attention.

Wrong: nothing; the kernels over the edges take nearly all of the time (gpu-bound).
useless: the usual error, which is read in each step, is not read before the end.
"""
import fixable

run = fixable.Program(__doc__, steps=110, warm_up=6)
torch, geometric = fixable.load_torch("torch_geometric.nn")

MOMENTS, PIECES, NEAR, SETS, WIDE, HEADS, TOLD, ROUNDS = 80, 2048, 6, 4, 128, 4, 6, 12
STATIONS, PEAK = 64, 800.0  # pieces of wire between two substations; amperes


def wires():
    """The pieces that hang together, (2, edges) for all moments, and what is known of an edge."""
    here = torch.arange(PIECES, device="cuda")
    crossing = torch.randint(0, PIECES, (PIECES,), device="cuda")
    others = torch.stack([(here + 1) % PIECES, (here - 1) % PIECES, (here + 2) % PIECES, (here - 2) % PIECES,
                          (here + 32) % PIECES, crossing])
    edges = torch.stack((others.reshape(-1), here.repeat(NEAR)))
    resist = 0.05 + 0.2 * torch.rand(edges.shape[1], 1, device="cuda")
    known = torch.cat((resist, 1.0 / resist / 20.0, (resist < 0.1).float()), dim=1)
    first = PIECES * torch.arange(MOMENTS, device="cuda").view(1, MOMENTS, 1)
    return (edges[:, None, :] + first).reshape(2, -1), known.repeat(MOMENTS, 1)


def moment(edges, known):
    """What is known of the pieces, (nodes, TOLD), and how far the voltage falls there: what is taken, spread along the wires."""
    many = MOMENTS * PIECES
    station = (torch.arange(many, device="cuda") % STATIONS == 0).float()
    trams = (torch.rand(many, device="cuda") < 0.08).float()
    taken = trams * PEAK * torch.rand(many, device="cuda")
    falls = torch.zeros(many, device="cuda")
    for _ in range(ROUNDS):
        near = torch.zeros(many, device="cuda").index_add_(0, edges[1], falls[edges[0]] * known[:, 0])
        falls = (1.0 - 0.9 * station) * (0.01 * taken + 0.8 * near)
    hour = torch.rand(MOMENTS, device="cuda").repeat_interleave(PIECES)
    return torch.stack((taken / PEAK, trams, station, hour, hour.square(), 1.0 - station), dim=1), falls / falls.std()


class Voltages(torch.nn.Module):
    """How far the voltage falls at each piece of wire."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = torch.nn.Linear(TOLD, WIDE), torch.nn.Linear(WIDE, 1)
        self.layers = torch.nn.ModuleList(geometric.TransformerConv(WIDE, WIDE // HEADS, heads=HEADS, edge_dim=3) for _ in range(2))
        self.evens = torch.nn.ModuleList(torch.nn.LayerNorm(WIDE) for _ in range(2))

    def forward(self, x, edges, known):
        x = self.enter(x)
        for layer, even in zip(self.layers, self.evens):
            x = x + torch.nn.functional.gelu(layer(even(x), edges, known))
        return self.leave(x)[:, 0]


def make(variant):
    fixable.seed(torch)
    edges, known = wires()
    moments = [moment(edges, known) for _ in range(SETS)]
    model = Voltages().cuda()
    rule = torch.optim.Adam(model.parameters(), lr=2e-4, fused=True)
    usual, turn, curve = torch.ones((), device="cuda"), [0], [0.0]

    def step():
        told, falls = moments[turn[0] % SETS]
        rule.zero_grad(set_to_none=True)
        loss = torch.nn.functional.smooth_l1_loss(model(told, edges, known), falls)
        loss.backward()
        rule.step()
        usual.lerp_(loss.detach(), 0.05)
        turn[0] += 1
        if variant != "useless":
            curve[0] = usual.item()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
