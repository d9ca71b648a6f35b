# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: an airline's dispatcher asks what becomes of the day if a flight is late; flights that share a plane, a crew
or passengers are joined, and a network with attention tells how late those will be that may be touched, question by question.

Wrong: each question gets a pool of memory of its own (torch.cuda.MemPool), "so that questions do not disturb each other". It
begins with nothing, and gives all back to the driver at its end: each question allocates some two hundred megabytes anew.
fix: questions use the memory that PyTorch keeps (alloc-bound).
fix2: each question is a CUDA graph, which has its memory; in it there is no pool of a question's own (alloc-bound and
launch-bound).
useless: the answer comes to pinned memory.
"""
import contextlib

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=24)
torch, geometric = fixable.load_torch("torch_geometric.nn")
nn = torch.nn

FEWEST, MOST, JOINED, KNOWN, BETWEEN, WIDTH, HEADS, LAYERS, QUESTIONS, SHOWN = 6000, 9000, 5, 12, 4, 128, 4, 3, 12, 10


class Spread(nn.Module):
    """How many minutes each flight will be late."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(KNOWN, WIDTH), nn.Linear(WIDTH, 1)
        self.layers = nn.ModuleList(
            geometric.GATv2Conv(WIDTH, WIDTH // HEADS, heads=HEADS, edge_dim=BETWEEN, add_self_loops=False)
            for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))

    def forward(self, flights, joints, between):
        x = self.first(flights)  # cause: alloc
        for layer, norm in zip(self.layers, self.norms):
            x = x + nn.functional.relu(norm(layer(x, joints, between)))  # cause: alloc
        return 60.0 * nn.functional.softplus(self.last(x).squeeze(1))  # cause: alloc


def question():
    """What is known of flights in the order of their times, which ones hand something on to which, and what."""
    count = int(torch.randint(FEWEST, MOST, (1,)))
    flights = torch.randn(count, KNOWN)
    flights[:, 0] = torch.linspace(0.0, 1.0, count)  # when
    flights[:, 1] = 0.0
    flights[0, 1] = 3.0  # the one that is late
    before = torch.arange(count).repeat_interleave(JOINED)
    after = (before + torch.randint(1, 400, before.shape)).clamp(max=count - 1)
    between = torch.rand(len(before), BETWEEN)
    return flights.cuda(), torch.stack((before, after)).cuda(), between.cuda()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Spread().cuda().eval()
    questions = [question() for _ in range(QUESTIONS)]
    landing = torch.zeros(2 * SHOWN + 1, pin_memory=True) if variant == "useless" else None
    model(*questions[0])  # cuBLAS gets what it keeps
    turn, usual = [0], [0.0, 0.0]
    shared = torch.cuda.graph_pool_handle() if variant == "fix2" else None

    def answer(asked):
        """The flights that will be the latest, how late, and how late all are in the mean."""
        late = model(*asked)  # cause: alloc
        most, which = late.topk(SHOWN)  # cause: alloc
        return torch.cat((most, which.float(), late.mean().view(1)))  # cause: alloc

    def captured(asked):
        answer(asked)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=shared):
            told = answer(asked)
        return graph, told

    graphs = [captured(asked) for asked in questions] if variant == "fix2" else None

    def read(told):
        if variant != "useless":
            return told.tolist()
        landing.copy_(told, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return landing.tolist()

    def reply(asked):
        room = None if variant == "fix" else torch.cuda.MemPool()
        with contextlib.nullcontext() if room is None else torch.cuda.use_mem_pool(room):
            told = answer(asked)  # cause: alloc
            numbers = read(told)
            del told
        del room  # cause: alloc
        return numbers

    @torch.no_grad()
    def step():
        number = turn[0] % QUESTIONS
        turn[0] += 1
        if graphs:
            graph, told = graphs[number]
            graph.replay()
            numbers = read(told)
        else:
            numbers = reply(questions[number])  # cause: alloc
        usual[0] += 0.05 * (sum(numbers[:SHOWN]) / SHOWN - usual[0])
        usual[1] += 0.05 * (numbers[-1] - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
