# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a maker of magnets looks for the best heat treatment of Alnico: in the furnace the alloy parts into one rich and one
poor in iron, in fine rods along a magnetic field. Four alloys of other compositions are followed by the equation of Cahn and
Hilliard, 128 by 128 points each, through rises and falls of the furnace's temperature; how far the alloys have parted, and
how many borders the rods have, tells how strong the magnet will be.

Wrong: each sum and each shift of a small array is a kernel of its own, of which Python launches some 550 a step (launch-bound).
fix: the same kernels are launched as one CUDA graph (launch-bound).
useless: what is read every 50 steps comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
torch = fixable.load_torch()

ALLOYS, SIZE, MOMENTS, STAGES, READ = 4, 128, 16, 64, 50
TIME, STIFF, ALONG, ACROSS = 0.01, 1.0, 0.6, 1.0  # of a moment; of borders, along the field and across


def furnace():
    """How fast atoms move and how much the alloys want to part, at each stage, (STAGES, 2, ALLOYS, 1, 1)."""
    stage = torch.arange(STAGES, device="cuda", dtype=torch.float32) * (2.0 * torch.pi / STAGES)
    hot = 0.5 + 0.3 * torch.sin(stage)[:, None] + 0.02 * torch.arange(ALLOYS, device="cuda")
    return torch.stack((0.4 + hot, 1.3 - 0.5 * hot), dim=1)[:, :, :, None, None].contiguous()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    programme = furnace()
    mean = torch.tensor([-0.15, -0.05, 0.05, 0.15], device="cuda")[:, None, None]
    begin = mean + 0.1 * torch.randn(ALLOYS, SIZE, SIZE, device="cuda")
    iron = begin.clone()
    now = programme[0].clone()
    usual = torch.zeros(2 * ALLOYS, device="cuda")
    landing = torch.empty(2 * ALLOYS, pin_memory=True) if variant == "useless" else None
    turn, told = [0], [0.0] * (2 * ALLOYS)

    def bent(field, along, across):
        """The second derivatives of a field, each with its weight."""
        ways = field.roll(1, 1) + field.roll(-1, 1) - 2.0 * field  # cause: launch
        rest = field.roll(1, 2) + field.roll(-1, 2) - 2.0 * field  # cause: launch
        return along * ways + across * rest  # cause: launch

    def moment():
        fast, part = now[0], now[1]
        potential = iron * iron * iron - part * iron  # cause: launch
        potential = potential - STIFF * bent(iron, ALONG, ACROSS)  # cause: launch
        iron.add_(fast * bent(potential, 1.0, 1.0), alpha=TIME)  # cause: launch

    def stage():
        for _ in range(MOMENTS):
            moment()  # cause: launch
        parted = iron.flatten(1).var(dim=1)  # cause: launch
        borders = (iron.roll(1, 2) - iron).square().flatten(1).mean(dim=1)  # cause: launch
        usual.lerp_(torch.cat((parted, borders)), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, stage)
        iron.copy_(begin)
        usual.zero_()
        work = graph.replay
    else:
        work = stage

    def read():
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.tolist()
        return usual.tolist()

    @torch.no_grad()
    def step():
        now.copy_(programme[turn[0] % STAGES])
        work()  # cause: launch
        turn[0] += 1
        if turn[0] % READ == 0:
            told[:] = read()

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
