# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the way of a drill over the 128 holes of a metal plate shall be short. 512 ants each go from hole to hole by chance,
rather to near holes and along ways that were good before; the best ant of each iteration leaves a trace (max-min ant system).

Wrong: the ants' choice of a next hole is eleven short kernels, 127 times an iteration, which Python launches slower than they
run.
fix: the ways of an iteration are one CUDA graph (launch-bound).
fix2: what is the same for all holes is computed before the way, what only the end needs behind it, and the rest writes to
places that are there already: five kernels a hole (launch-bound).
useless: the length of the best way is read every 20 iterations.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

HOLES, ANTS, NEARER, FADES, LEAST, MOST, LEAVES, KEEP = 128, 512, 3.0, 0.03, 0.02, 1.0, 0.3, 0.02


def plate():
    """How far it is from each hole to each other one: rows of holes, some of which are missing, and single ones."""
    rows = torch.cartesian_prod(torch.linspace(0.1, 0.9, 12), torch.linspace(0.1, 0.9, 10))[torch.randperm(120)[:80]]
    holes = torch.cat((rows, torch.rand(HOLES - 80, 2))).to("cuda", torch.float64)
    return (holes[:, None] - holes[None, :]).square().sum(dim=2).sqrt().float()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    far = plate()
    near = 0.05 / far.clamp(min=1e-3)
    near.fill_diagonal_(0.0)
    near_power = near.pow(NEARER)
    trace = torch.full((HOLES, HOLES), MOST, device="cuda")
    starts = torch.arange(ANTS, device="cuda") % HOLES
    ones = torch.ones(ANTS, HOLES, device="cuda")
    noise = torch.empty(HOLES, ANTS, HOLES, device="cuda")
    way = torch.zeros(HOLES, ANTS, dtype=torch.int64, device="cuda")
    best = torch.zeros((), device="cuda")
    usual, turn, pending = [0.0], [0], []

    def walked():
        """The ants go their ways; how long these are. The greatest of weights over exponential noise is a draw by weight."""
        at, length = starts, torch.zeros(ANTS, device="cuda")
        left = ones.clone()
        left.scatter_(1, at[:, None], 0.0)
        way[0] = at
        for k in range(1, HOLES):
            weights = trace[at] * near[at].pow(NEARER)  # cause: launch
            then = (weights * left / noise[k]).argmax(dim=1)  # cause: launch
            left.scatter_(1, then[:, None], 0.0)  # cause: launch
            length = length + far[at, then]  # cause: launch
            way[k] = then  # cause: launch
            at = then
        return length + far[at, starts]

    def walked_straight():
        """The same."""
        weights, left = trace * near_power, ones.clone()
        left.scatter_(1, starts[:, None], 0.0)
        way[0] = starts
        chances = torch.empty(ANTS, HOLES, device="cuda")
        for k in range(1, HOLES):
            torch.index_select(weights, 0, way[k - 1], out=chances)
            chances.mul_(left).div_(noise[k])
            torch.argmax(chances, dim=1, out=way[k])
            left.scatter_(1, way[k][:, None], 0.0)
        return far[way, way.roll(-1, 0)].sum(dim=0)

    def iterate():
        """Ways, and the trace of the best one, to and fro; all other traces fade."""
        length = walked_straight() if variant == "fix2" else walked()  # cause: launch
        shortest, which = length.min(dim=0)
        best.copy_(shortest)
        here = way.index_select(1, which[None]).flatten()
        there = here.roll(-1)
        trace.mul_(1.0 - FADES)
        more = trace[here, there] + LEAVES / shortest
        trace[here, there] = more
        trace[there, here] = more
        trace.clamp_(LEAST, MOST)

    graph = None
    if variant == "fix":
        noise.exponential_()
        graph, _ = fixable.capture(torch, iterate)
        trace.fill_(MOST)
        fixable.seed(torch)  # the noise begins anew

    def note(length):
        usual[0] = length if not usual[0] else usual[0] + KEEP * (length - usual[0])

    @torch.no_grad()
    def step():
        noise.exponential_()
        if graph:
            graph.replay()
        else:
            iterate()  # cause: launch
        turn[0] += 1
        if variant != "useless":
            note(best.item())
            return
        pending.append(best.clone())
        if turn[0] % LOOK_EVERY == 0:
            for length in torch.stack(pending).tolist():
                note(length)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
