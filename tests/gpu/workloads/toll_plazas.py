# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a motorway of 512 cells with four toll plazas is followed through 256 made-up days at once, by the cell transmission
model: a cell gives what it can send and takes what it has room for, and a plaza lets through what its open booths serve. More
booths are opened as queues grow. A step is 32 ticks of five seconds; it is noted how much time is lost in queues.

Wrong: a tick is some twenty small kernels, each launched by itself, and the GPU is done with one before the next one comes.
fix: the ticks of a step are one CUDA graph (launch-bound).
useless: the notes, which are read once in 50 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
torch = fixable.load_torch()

DAYS, CELLS, TICKS, FIRST, APART, PLAZAS, HOURS, SHOWN = 256, 512, 32, 63, 128, 4, 24, 50
FREE, BACK, JAM, MOST = 0.8, 0.3, 9.0, 1.6  # cells a tick; of waves; cars in a cell that is full; cars a tick
SERVED, OPENS, FEWEST, BOOTHS = 0.18, 1.5, 2.0, 9.0  # cars a tick by a booth; booths for a car that queues; booths of a plaza


def traffic():
    """Cars a tick that come to the first cell, for each tick, day and hour: two peaks, higher on some days."""
    hour = torch.arange(HOURS, device="cuda").view(HOURS, 1, 1)
    peaks = torch.exp(-((hour - 8.0) / 2.0).square()) + torch.exp(-((hour - 17.0) / 2.5).square())
    busy = 0.6 + 0.6 * torch.rand(DAYS, device="cuda")
    ripple = 0.8 + 0.4 * torch.rand(HOURS, TICKS, DAYS, device="cuda")
    return ((0.4 + 1.3 * peaks) * busy * ripple).contiguous()


def make(variant):
    fixable.seed(torch)
    demands = traffic()
    demand = torch.zeros(TICKS, DAYS, device="cuda")
    density = torch.zeros(DAYS, CELLS, device="cuda")
    booths = torch.zeros(DAYS, PLAZAS, device="cuda")
    lost, usual = torch.zeros(DAYS, device="cuda"), torch.zeros(4, device="cuda")
    landing = torch.empty(4, pin_memory=True) if variant == "useless" else None
    before_plaza = slice(FIRST, None, APART)
    turn, told = [0], []

    def tick(comes):
        """Cars go from cell to cell, and booths are opened or closed."""
        sends = density.mul(FREE).clamp_(max=MOST)  # cause: launch
        takes = density.sub(JAM).mul_(-BACK).clamp_(max=MOST)  # cause: launch
        flow = torch.minimum(sends[:, :-1], takes[:, 1:])  # cause: launch
        gates = flow[:, before_plaza]
        gates.copy_(torch.minimum(gates, booths * SERVED))  # cause: launch
        enters = torch.minimum(comes, takes[:, 0])  # cause: launch
        density[:, 1:].add_(flow)  # cause: launch
        density[:, :-1].sub_(flow)  # cause: launch
        density[:, 0].add_(enters)  # cause: launch
        density[:, -1].sub_(sends[:, -1])  # cause: launch
        booths.lerp_(density[:, before_plaza].mul(OPENS).clamp_(FEWEST, BOOTHS), 0.1)  # cause: launch
        lost.add_(density.sum(dim=1))  # cause: launch

    def ticks():
        """All ticks of a step, and the mean of what was seen."""
        lost.zero_()
        for number in range(TICKS):
            tick(demand[number])  # cause: launch
        seen = torch.stack((lost.mean(), lost.max(), booths.mean(), density[:, -1].mean()))
        usual.lerp_(seen, 0.02)

    if variant == "fix":
        graph, _ = fixable.capture(torch, ticks)
    for kept in (density, usual):
        kept.zero_()
    booths.fill_(FEWEST)

    def step():
        demand.copy_(demands[turn[0] % HOURS])
        if variant == "fix":
            graph.replay()
        else:
            ticks()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append((usual if landing is None else landing.copy_(usual)).tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist() + booths.mean(dim=0).tolist())


run.main(make)
