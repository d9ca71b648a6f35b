# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how soft the ice of a glacier is, and above which height snow stays there, is found by trial: 64 pairs of numbers are
tried, each of which lets today's ice flow for a year in 20 short times (shallow ice, the law of Glen), and what the ice gains
or loses in each place is held against what was measured from the air.

Wrong: each short time is some forty operations on 0.6 MB, which take the GPU less time than Python needs to launch them.
fix: the year is one CUDA graph of the same kernels (launch-bound).
useless: the misfits, which are read once in 64 trials, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20)
torch = fixable.load_torch()

SIZE, TIMES, TRIALS = 384, 20, 64
APART, SPAN = 500.0, 1.0 / TIMES                # metres between places, years
HEAVY = (910.0 * 9.81) ** 3                     # density and gravity, to the third power as Glen has it
FASTEST = 0.2 * APART * APART / SPAN            # what flows faster than that in so long a time would not be stable
MELT, MOST_SNOW = 0.007, 2.0                    # metres of ice a year for each metre of height, and at most


def mountains():
    """Heights of the rock, in metres: a range with valleys."""
    along = torch.linspace(0.0, 1.0, SIZE, device="cuda")
    down, right = along[:, None], along[None, :]
    ridge = 2600.0 * torch.exp(-((down - 0.5) / 0.28) ** 2) * (1.0 - 0.25 * torch.cos(9.4 * right))
    valleys = 240.0 * torch.sin(25.0 * right + 3.0 * down) + 160.0 * torch.sin(31.0 * down - 6.0 * right)
    return ridge + valleys + 400.0


def todays_ice(rock):
    """What lies on the rock now: thick where it is high, and in hollows."""
    hollow = torch.nn.functional.avg_pool2d(rock[None, None], 9, stride=1, padding=4, count_include_pad=False)[0, 0] - rock
    return (0.16 * (rock - 1500.0) + 1.5 * hollow).clamp(0.0, 420.0)


def flow(rock, ice, soft, line):
    """The ice a short time later. `soft` has the constants of the law in it, `line` is the height above which snow stays."""
    top = rock + ice
    thick = 0.25 * (ice[1:, 1:] + ice[:-1, 1:] + ice[1:, :-1] + ice[:-1, :-1])
    right = (top[1:, 1:] - top[1:, :-1] + top[:-1, 1:] - top[:-1, :-1]) * (0.5 / APART)
    down = (top[1:, 1:] - top[:-1, 1:] + top[1:, :-1] - top[:-1, :-1]) * (0.5 / APART)
    spread = (soft * thick ** 5 * (right * right + down * down)).clamp(max=FASTEST)
    go_right = (spread[1:] + spread[:-1]) * (top[1:-1, 1:] - top[1:-1, :-1]) * (0.5 / APART)
    go_down = (spread[:, 1:] + spread[:, :-1]) * (top[1:, 1:-1] - top[:-1, 1:-1]) * (0.5 / APART)
    gained = (go_right[:, 1:] - go_right[:, :-1] + go_down[1:] - go_down[:-1]) / APART
    snow = ((top - line) * MELT).clamp(max=MOST_SNOW)
    inner = ice[1:-1, 1:-1] + SPAN * (gained + snow[1:-1, 1:-1])
    later = torch.zeros_like(ice)
    later[1:-1, 1:-1] = inner.clamp(min=0.0)
    return later


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    rock = mountains()
    ice = todays_ice(rock)
    pairs = torch.cartesian_prod(torch.linspace(0.5e-16, 2.5e-16, 8), torch.linspace(2050.0, 2400.0, 8)).cuda()
    softs, lines = (pairs[:, 0] * (0.4 * HEAVY)).contiguous(), pairs[:, 1].contiguous()
    soft, line = torch.zeros((), device="cuda"), torch.zeros((), device="cuda")
    misfits = torch.zeros(TRIALS, device="cuda")
    landing = torch.empty(TRIALS, pin_memory=True) if variant == "useless" else None
    turn, best = [0], [0]

    def year():
        now = ice
        for _ in range(TIMES):
            now = flow(rock, now, soft, line)
        return now - ice

    soft.copy_(softs[27])
    line.copy_(lines[27])
    measured = year() + 0.15 * torch.randn(SIZE, SIZE, device="cuda")
    covered = (ice > 1.0).float()
    covered /= covered.sum()

    def tried():
        """How far the trial's year is from what was measured, in metres, where there is ice today."""
        return ((year() - measured).square() * covered).sum().sqrt()

    if variant == "fix":
        graph, told = fixable.capture(torch, tried)

    def look():
        if variant == "useless":
            landing.copy_(misfits, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            best[0] = int(landing.argmin())
        else:
            best[0] = int(misfits.cpu().argmin())

    @torch.no_grad()
    def step():
        number = turn[0] % TRIALS
        turn[0] += 1
        soft.copy_(softs[number])
        line.copy_(lines[number])
        if variant == "fix":
            graph.replay()
            misfits[number].copy_(told)
        else:
            misfits[number].copy_(tried())  # cause: launch
        if number == TRIALS - 1:
            look()

    return fixable.Work(step, torch.cuda.synchronize, lambda: misfits.tolist() + pairs[best[0], 1:].tolist())


run.main(make)
