# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the blocks of a chip are placed (memories, processors and what is between them): wires shall be short, and no block
shall lie upon another one; Adam goes down a smooth measure of both, with ever more weight of the blocks (analytic placement).

Wrong: for 600 blocks, a step is some hundreds of tiny kernels, which Python launches in many times what they run.
fix: the measure, its gradient and Adam are one CUDA graph (launch-bound).
fix2: what is done to x and then to y is done to both at once (launch-bound).
useless: what is looked at every 50 steps comes to pinned memory.
"""
import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=1600, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

BLOCKS, PADS, NETS, PINS, BINS, SOFT, SHARP, RATE = 600, 64, 1200, 6, 32, 0.03, 0.02, 4e-3
ROUND, STARTS = 400, 4  # steps from a start, and how many of them there are


def wires(at, pads, nets):
    """How long the wires are in a direction: from the first to the last pin of each net, smoothed."""
    pins = torch.cat((at, pads), dim=-1)[..., nets] / SOFT  # cause: launch
    length = pins.logsumexp(dim=-1) + (-pins).logsumexp(dim=-1)  # cause: launch
    return SOFT * length.sum() / NETS  # cause: launch


def covers(at, half, bins):
    """How much of each bin a block takes in a direction."""
    away = (bins - at.unsqueeze(-1)).abs()  # cause: launch
    return torch.sigmoid((half.unsqueeze(-1) - away) / SHARP)  # cause: launch


def outside(at, half):
    """How much of the blocks is not on the chip any more."""
    return torch.relu(at.abs() + half - 1.0).square().sum() / BLOCKS  # cause: launch


def make(variant):
    fixable.seed(torch)
    half = 0.01 + 0.04 * torch.rand(2, BLOCKS, device="cuda")
    angle = torch.arange(PADS, device="cuda") * (2.0 * torch.pi / PADS)
    pads = torch.stack((angle.cos(), angle.sin())) * 1.1
    nets = torch.randint(0, BLOCKS, (NETS, 1), device="cuda") + torch.randint(0, 40, (NETS, PINS), device="cuda")
    nets = nets.remainder(BLOCKS)
    nets[:PADS, 0] = BLOCKS + torch.arange(PADS, device="cuda")
    bins = (torch.arange(BINS, device="cuda") + 0.5) * (2.0 / BINS) - 1.0
    starts = 0.4 * torch.randn(STARTS, 2, BLOCKS, device="cuda")
    weight = torch.ones((), device="cuda")
    landing = torch.zeros(2, pin_memory=True) if variant == "useless" else None
    if variant == "fix2":
        at = [starts[0].clone().requires_grad_()]
    else:
        at = [start.clone().requires_grad_() for start in starts[0]]
    adam = torch.optim.Adam(at, lr=RATE, capturable=variant == "fix")
    turn, mean = [0], [0.0, 0.0]

    def measure():
        """The wires' length, and how much too full the bins are."""
        if variant == "fix2":
            length = wires(at[0], pads, nets)
            wide, tall = covers(at[0], half, bins)
            lost = outside(at[0], half)
        else:
            length = wires(at[0], pads[0], nets) + wires(at[1], pads[1], nets)  # cause: launch
            wide, tall = covers(at[0], half[0], bins), covers(at[1], half[1], bins)  # cause: launch
            lost = outside(at[0], half[0]) + outside(at[1], half[1])  # cause: launch
        full = wide.t() @ tall  # cause: launch
        return length, torch.relu(full - 1.0).square().mean() + 50.0 * lost  # cause: launch

    def improve():
        length, full = measure()  # cause: launch
        (length + weight * full).backward()  # cause: launch
        adam.step()  # cause: launch
        return torch.stack((length.detach(), full.detach()))  # cause: launch

    if variant == "fix":
        graph, given = fixable.capture(torch, improve, before=adam.zero_grad)

    @torch.no_grad()
    def begin(number):
        """From another start, with little weight of the blocks."""
        for place, start in zip(at, starts[number].unsqueeze(0) if variant == "fix2" else starts[number]):
            place.copy_(start)
        weight.fill_(0.1)

    def read(told):
        if variant == "useless":
            landing.copy_(told, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.tolist()
        return told.tolist()

    def step():
        if turn[0] % ROUND == 0:
            begin(turn[0] // ROUND % STARTS)
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            told = given
        else:
            adam.zero_grad()
            told = improve()  # cause: launch
        if turn[0] % LOOK_EVERY == 0:
            weight.mul_(1.6)
            mean[:] = [old + 0.2 * (new - old) for old, new in zip(mean, read(told))]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
