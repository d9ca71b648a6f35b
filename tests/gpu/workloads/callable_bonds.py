# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an insurer holds 2048 bonds, most of which may be called back by who issued them, when interest has fallen. What they
would be worth in a hundred other worlds (scenarios of interest) tells how much the insurer may lose. A bond is priced on a
lattice of short rates (Hull and White), from the last of 120 moments, two months apart, back to today.

Wrong: a moment of the lattice is some ten kernels of two or three microseconds, each launched by itself, 1200 a scenario.
fix: the way back through the lattice is one CUDA graph (launch-bound).
useless: the scenarios of a day, which come once in a hundred steps, come from pinned memory.
"""
import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=500, warm_up=8)
torch = fixable.load_torch()

BONDS, NODES, MOMENTS, SCENARIOS, DAYS, COUPON_EVERY = 2048, 65, 120, 100, 2, 3
YEARS, REVERTS, MOVES, NEVER = 1.0 / 6.0, 0.05, 0.01, 1.0e6  # of a moment; of the short rate, by year; a price that is never met


def lattice():
    """The short rate of each node, apart from the curve, and how likely it goes up, stays and goes down (inner nodes)."""
    number = torch.arange(NODES, device="cuda", dtype=torch.float32) - NODES // 2
    pull = REVERTS * YEARS * number[1:-1]
    up = 1.0 / 6.0 + 0.5 * (pull * pull - pull)
    down = 1.0 / 6.0 + 0.5 * (pull * pull + pull)
    return number * (MOVES * (3.0 * YEARS) ** 0.5), up, 1.0 - up - down, down


def book():
    """For each moment what each bond pays and at which price it may be called, (MOMENTS + 1, BONDS, 1); what it yields more
    than the curve; and how many the insurer holds."""
    ends = torch.randint(18, MOMENTS + 1, (BONDS,), device="cuda")
    coupons = 1.0 + 2.5 * torch.rand(BONDS, device="cuda")  # each half year, of 100
    moment = torch.arange(MOMENTS + 1, device="cuda").unsqueeze(1)
    date = ((ends - moment) % COUPON_EVERY == 0) & (moment > 0) & (moment <= ends)
    pays = date * coupons + 100.0 * (moment == ends)
    first_call = torch.where(torch.rand(BONDS, device="cuda") < 0.7, ends // 3, MOMENTS + 1)
    premium = 100.0 + 3.0 * (ends - moment).clamp(min=0) / MOMENTS
    calls = torch.where(date & (moment >= first_call) & (moment < ends), premium, NEVER)
    spread = 0.002 + 0.02 * torch.rand(BONDS, 1, device="cuda")
    return pays.unsqueeze(2).contiguous(), calls.unsqueeze(2).contiguous(), spread, 10.0 * torch.rand(BONDS, device="cuda")


def usual_curve():
    """Interest of each moment to come, as it is expected today."""
    years = YEARS * torch.arange(MOMENTS)
    return 0.025 + 0.015 * (1.0 - (-years / 6.0).exp())


def scenarios():
    """Curves of other worlds: higher or lower, steeper or flatter, with a hump or a hollow; on the host."""
    along = torch.linspace(-1.0, 1.0, MOMENTS)
    shapes = torch.stack((torch.ones(MOMENTS), along, 1.0 - along.square()))
    for _ in range(DAYS):
        yield usual_curve() + (torch.randn(SCENARIOS, 3) * torch.tensor([0.012, 0.006, 0.004])) @ shapes


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    rates, up, stay, down = lattice()
    pays, calls, spread, held = book()
    own = (-YEARS * spread).exp()
    days = [day.pin_memory() if variant == "useless" else day for day in scenarios()]
    curve, curves = usual_curve().cuda(), days[0].cuda()
    gains, usual = torch.zeros(SCENARIOS, device="cuda"), torch.zeros(BONDS, device="cuda")
    turn, seen = [0], []

    def back(values, discount, moment):
        """The worth at a moment, of the worth at the next one."""
        inner = up * values[:, 2:] + stay * values[:, 1:-1] + down * values[:, :-2]  # cause: launch
        values = torch.cat((inner[:, :1], inner, inner[:, -1:]), dim=1)  # cause: launch
        values = values * discount[moment] * own  # cause: launch
        return torch.minimum(values, calls[moment]) + pays[moment]  # cause: launch

    def prices():
        """What each bond is worth today by the curve."""
        discount = (-YEARS * (rates + curve.unsqueeze(1))).exp()  # cause: launch
        values = pays[MOMENTS].expand(BONDS, NODES)
        for moment in range(MOMENTS - 1, -1, -1):
            values = back(values, discount, moment)  # cause: launch
        return values[:, NODES // 2]

    today = prices().clone()
    worth = (today * held).sum()
    usual.copy_(today)
    if variant == "fix":
        graph, given = fixable.capture(torch, prices)

    def priced():
        if variant == "fix":
            graph.replay()
            return given
        return prices()  # cause: launch

    @torch.no_grad()
    def step():
        day, number = divmod(turn[0], SCENARIOS)
        turn[0] += 1
        if number == 0:
            curves.copy_(days[day % DAYS], non_blocking=variant == "useless")
        curve.copy_(curves[number])
        found = priced()  # cause: launch
        usual.lerp_(found, 0.02)
        gains[number].copy_(100.0 * ((found - today) * held).sum() / worth)
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = gains.tolist()

    def values():
        """What a bond is worth in the last worlds by the mean, and what may be lost in one of twenty worlds, in percent."""
        return [usual.mean().item(), -gains.quantile(0.05).item()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
