# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a refinery wants to know how 512 designs of a distillation column keep their top product pure while the feed
changes. A column has 40 trays with benzene, toluene, ethylbenzene and xylene: on each tray the boiling point is found by steps
of Newton from Antoine's equation, vapour rises, liquid falls, and a controller moves the flow that is taken from the top.

Wrong: a moment of all columns is some sixty short operations on 82 thousand numbers, and each is launched by itself.
fix: ten moments are one CUDA graph (launch-bound).
useless: the number that is looked at every hundred steps is read a while later.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=8)
torch = fixable.load_torch()

COLUMNS, TRAYS, PARTS, FEED_TRAY, MOMENTS, FEEDS, LOOK = 512, 40, 4, 20, 10, 64, 100
LAPSE, FEED, PRESSURE, PURE, GAIN = 0.03, 1.0, 101.3, 0.95, 0.0005  # minutes, kmol per minute, kPa
ANTOINE = ((6.01905, 1204.637, 220.069), (6.08436, 1347.62, 219.787), (6.09280, 1431.71, 214.099), (6.09789, 1458.706, 212.041))
LN_10 = 2.302585


def feeds_of_a_day():
    """What the feed consists of at each of some times, for each column."""
    time = torch.arange(FEEDS, device="cuda") * (2.0 * torch.pi / FEEDS)
    often = torch.tensor([0.40, 0.30, 0.18, 0.12], device="cuda")
    swing = 0.06 * torch.sin(time[:, None, None] + 6.28 * torch.rand(COLUMNS, PARTS, device="cuda"))
    mixed = often + swing + 0.01 * torch.rand(FEEDS, COLUMNS, PARTS, device="cuda")
    return mixed / mixed.sum(dim=2, keepdim=True)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    feeds = feeds_of_a_day()
    boil = 2.5 + 1.0 * torch.rand(COLUMNS, device="cuda")
    height, bend, shift = torch.tensor(ANTOINE, device="cuda").unbind(1)
    height, bend = height * LN_10, bend * LN_10
    fed = torch.zeros(TRAYS, device="cuda")
    fed[FEED_TRAY:] = FEED
    rising = boil.view(COLUMNS, 1, 1).repeat(1, TRAYS, 1)
    rising[:, 0] = 0.0
    liquid = torch.empty(COLUMNS, TRAYS, PARTS, device="cuda")
    warm = torch.empty(COLUMNS, TRAYS, device="cuda")
    top = torch.empty(COLUMNS, device="cuda")
    feed_now = torch.empty(COLUMNS, PARTS, device="cuda")
    turn, seen, late = [0], [], []

    def begin():
        """All trays hold what the feed holds at first."""
        feed_now.copy_(feeds[0])
        liquid.copy_(feeds[0].unsqueeze(1).expand_as(liquid))
        warm.fill_(105.0)
        top.fill_(0.4)

    def boiling():
        """What the vapour above each tray consists of, and the boiling points there."""
        guess = warm
        for _ in range(2):
            over = (guess.unsqueeze(2) + shift).reciprocal()
            part = liquid * torch.exp(height - bend * over)
            pressure = part.sum(dim=2)
            slope = (part * bend * over * over).sum(dim=2)
            guess = guess - torch.log(pressure / PRESSURE) * pressure / slope
        return part / pressure.unsqueeze(2), guess

    def moment():
        vapour, found = boiling()  # cause: launch
        warm.copy_(found)  # cause: launch
        top.sub_((PURE - liquid[:, 0, 0]) * GAIN).clamp_(0.25, 0.75)  # cause: launch
        down = (boil - top).unsqueeze(1) + fed  # cause: launch
        leaves = down.clone()
        leaves[:, 0].add_(top)
        leaves[:, -1].sub_(boil)
        change = leaves.unsqueeze(2) * liquid
        change.neg_()
        change[:, 1:].add_(down[:, :-1].unsqueeze(2) * liquid[:, :-1])
        rises = rising * vapour
        change.sub_(rises)
        change[:, :-1].add_(rises[:, 1:])
        change[:, FEED_TRAY].add_(feed_now, alpha=FEED)
        liquid.add_(change, alpha=LAPSE).clamp_(min=1e-9)
        liquid.div_(liquid.sum(dim=2, keepdim=True))

    def moments():
        for _ in range(MOMENTS):
            moment()  # cause: launch

    begin()
    if variant == "fix":
        graph, _ = fixable.capture(torch, moments)
        begin()

    @torch.no_grad()
    def step():
        feed_now.copy_(feeds[turn[0] % FEEDS])
        turn[0] += 1
        if variant == "fix":
            graph.replay()
        else:
            moments()  # cause: launch
        if turn[0] % LOOK == 0:
            late.append(liquid[:, 0, 0].mean())
            if variant != "useless" or len(late) == 4:
                seen.extend(number.item() for number in late)
                late.clear()

    def values():
        """What leaves at the top and at the bottom, how warm it is there, and how much is taken from the top, by the mean."""
        ends = torch.cat((liquid[:, 0].mean(dim=0), liquid[:, -1].mean(dim=0)))
        return ends.tolist() + [warm[:, 0].mean().item() / 100.0, warm[:, -1].mean().item() / 100.0, top.mean().item()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
