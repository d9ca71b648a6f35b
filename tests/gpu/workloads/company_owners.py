# SPDX-License-Identifier: Apache-2.0
"""PyTorch and PyTorch Geometric: who owns a company in the end, through companies that own companies? A bank asks a register of
150 thousand companies for 16 people at a time: what each of them holds directly is passed on along all shares, again and again,
until nothing changes any more; then the companies are counted of which one of them has more than a tenth.

Wrong: behind each round the largest change is read by .item(), to see whether it is small enough; the GPU has nothing to do until
the host has seen it and has come through Python to the next round's first kernel.
fix: the changes stay on the device, and are read together behind the last round (sync-bound).
fix2: a round is one CUDA graph, behind which its change is read as before (launch-bound).
useless: the differences go to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch, numpy, message_passing = fixable.load_torch("numpy", "torch_geometric.nn.conv.message_passing")

COMPANIES, HOLDERS, PEOPLE, SETS, ROUNDS = 150000, 5, 16, 6, 24
SETTLED, MUCH, PASSED_ON = 1e-8, 0.10, 0.8


def register(random):
    """Edges from owner to owned, (2, edges), and each edge's share, (edges, 1); a few holdings own much."""
    owned = numpy.repeat(numpy.arange(COMPANIES), HOLDERS)
    owner = (COMPANIES * random.random(owned.size) ** 2).astype(numpy.int64)
    parts = random.random((COMPANIES, HOLDERS)) + 0.01
    parts *= PASSED_ON / parts.sum(axis=1, keepdims=True)
    edges = torch.from_numpy(numpy.stack((owner, owned)))
    return edges.cuda(), torch.from_numpy(parts.reshape(-1, 1).astype(numpy.float32)).cuda()


def direct_stakes(random):
    """What each of 16 people holds of each company directly, for some sets of people."""
    for _ in range(SETS):
        has = random.random((COMPANIES, PEOPLE), dtype=numpy.float32) < 0.03
        part = random.random((COMPANIES, PEOPLE), dtype=numpy.float32) * 0.2
        yield torch.from_numpy((has * part).astype(numpy.float32)).cuda()


class PassedOn(message_passing.MessagePassing):
    """What owners have of a company, by what people have of the owners."""

    def __init__(self):
        super().__init__(aggr="add")

    def forward(self, held: torch.Tensor, edges: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
        return self.propagate(edges, x=held, share=share)

    def message(self, x_j: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
        return x_j * share


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    edges, share = register(random)
    asked = list(direct_stakes(random))
    pass_on = PassedOn().cuda()
    direct, first, second, gap = (torch.zeros(COMPANIES, PEOPLE, device="cuda") for _ in range(4))
    turn, usual = [0], [0.0, 0.0]

    def one_round(held, new):
        """What people have after one more round, and the largest change."""
        torch.add(direct, pass_on(held, edges, share), out=new)
        if variant == "useless":
            return torch.sub(new, held, out=gap).abs_().amax()
        return torch.sub(new, held).abs_().amax()

    if variant == "fix2":
        forth, change_forth = fixable.capture(torch, lambda: one_round(first, second))
        back, change_back = fixable.capture(torch, lambda: one_round(second, first))

    def replayed(held, new):
        graph, change = (forth, change_forth) if held is first else (back, change_back)
        graph.replay()
        return change

    go_round = replayed if variant == "fix2" else one_round

    def read_each(held, new):
        """Looks at each round's change."""
        for _ in range(ROUNDS):
            change = go_round(held, new).item()  # cause: wait,copy
            held, new = new, held
            if change < SETTLED:
                break
        return change, (held > MUCH).sum().item()  # cause: wait,copy

    def read_once(held, new):
        changes = []
        for _ in range(ROUNDS):
            changes.append(go_round(held, new))
            held, new = new, held
        told = torch.stack(changes + [(held > MUCH).sum().float()]).tolist()
        return told[-2], told[-1]

    settle = read_once if variant == "fix" else read_each

    @torch.no_grad()
    def step():
        direct.copy_(asked[turn[0] % SETS])
        first.copy_(direct)
        turn[0] += 1
        change, many = settle(first, second)  # cause: wait,copy
        usual[0] += 0.05 * (1e4 * change - usual[0])
        usual[1] += 0.05 * (1e-3 * many - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
