# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an airline buys fuel in each week of a year, and wants to know how much of it to insure against a higher price (deep
hedging): a small network tells that each week from the price, how wild it has been, and how much of the year is left. It learns
what makes the worst years less bad, on 2048 years at once that a model of prices has made, by going through their weeks.

Wrong: a network of three small layers is called for each week, and autograd goes back through all of them: two or three thousand
short kernels, which are launched slower than they run.
fix: the step is one CUDA graph (launch-bound).
fix2: how wild prices have been does not depend on what was insured, so the network is called once for all weeks (launch-bound).
useless: the loss is read behind 20 steps.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=160, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

WEEKS, YEARS, SETS, WIDTH, FEE, WORST, FORGET = 52, 2048, 8, 64, 0.002, 0.05, 0.85


def markets():
    """Prices of fuel in each week of many years, (WEEKS + 1, YEARS), that are calm or wild for some time, and jump at times."""
    for _ in range(SETS):
        wild = torch.full((YEARS,), 0.04, device="cuda")
        rises = []
        for _ in range(WEEKS):
            wild = (wild + 0.15 * (0.04 - wild) + 0.01 * torch.randn(YEARS, device="cuda")).clamp(0.01, 0.15)
            jump = 0.12 * torch.randn(YEARS, device="cuda") * (torch.rand(YEARS, device="cuda") < 0.03)
            rises.append(0.001 + wild * torch.randn(YEARS, device="cuda") + jump)
        rises = torch.stack([torch.zeros(YEARS, device="cuda")] + rises)
        yield rises.cumsum(dim=0).exp()


class Treasurer(nn.Module):
    """How much of the fuel of the weeks that are left is insured."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 1))
        self.bad = nn.Parameter(torch.ones(()))  # what a year costs that is one of the worst

    def forward(self, price, wild, left):
        told = torch.stack((price.log(), 10.0 * wild, left.expand_as(price)), dim=-1)
        return self.layers(told).squeeze(-1).sigmoid()


def week_by_week(treasurer, prices, left):
    """What each year costs, by the mean of its weeks."""
    wild, insured, costs = torch.full_like(prices[0], 0.04), torch.zeros_like(prices[0]), prices[1:].mean(dim=0)
    for week in range(WEEKS):
        share = treasurer(prices[week], wild, left[week])  # cause: launch
        rise = prices[week + 1] - prices[week]  # cause: launch
        costs = costs - left[week] * share * rise + FEE * (share - insured).abs()  # cause: launch
        wild = FORGET * wild + (1.0 - FORGET) * rise.abs()  # cause: launch
        insured = share
    return costs


def all_weeks(treasurer, prices, left):
    """The same; only what is known of the prices goes from week to week, without a gradient."""
    rises = prices[1:] - prices[:-1]
    ages = torch.arange(WEEKS, device="cuda")
    age = ages.view(WEEKS, 1) - ages - 1
    shares = torch.where(age >= 0, (1.0 - FORGET) * FORGET ** age.clamp(min=0).float(), 0.0)
    wild = 0.04 * (FORGET ** ages.float()).view(WEEKS, 1) + shares @ rises.abs()
    share = treasurer(prices[:-1], wild, left.view(WEEKS, 1))
    changes = torch.cat((share[:1], share[1:] - share[:-1])).abs()
    return prices[1:].mean(dim=0) - (left.view(WEEKS, 1) * share * rises).sum(dim=0) + FEE * changes.sum(dim=0)


def make(variant):
    fixable.seed(torch)
    treasurer = Treasurer().cuda()
    adam = torch.optim.Adam(treasurer.parameters(), lr=1e-3, fused=True, capturable=variant == "fix")
    learnt_from = list(markets())
    prices = learnt_from[0].clone()
    left = 1.0 - torch.arange(WEEKS, device="cuda").float() / WEEKS
    years_cost = all_weeks if variant == "fix2" else week_by_week
    losses, turn, usual = [], [0], [1.0]

    def learn():
        """The mean of the costs, and of the worst ones among them (expected shortfall)."""
        costs = years_cost(treasurer, prices, left)  # cause: launch
        worst = treasurer.bad + F.relu(costs - treasurer.bad).mean() / WORST
        loss = 0.5 * costs.mean() + 0.5 * worst
        loss.backward()  # cause: launch
        adam.step()
        return loss.detach()

    if variant == "fix":
        graph, given = fixable.capture(torch, learn, before=adam.zero_grad)

    def note(loss):
        usual[0] += 0.02 * (loss - usual[0])

    def step():
        prices.copy_(learnt_from[turn[0] % SETS])
        if variant == "fix":
            graph.replay()
            loss = given
        else:
            adam.zero_grad()
            loss = learn()  # cause: launch
        turn[0] += 1
        if variant != "useless":
            note(loss.item())
            return
        losses.append(loss)
        if turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(losses).tolist():
                note(one)
            losses.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
