# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a fund wants to know, for each month of the past, which weights of 2048 shares would have varied least. The returns of
the 512 days before are made into correlations, which are drawn toward those of shares that have nothing to do with each other;
their inverse is found by Newton's iteration (Schulz), sixteen times two products of matrices in float32, and gives the weights. How
much a fund with these weights varies in the days behind them is noted.

Wrong: nothing; products of large matrices follow each other without a gap, and the host is far ahead of them (gpu-bound).
useless: a month, from its returns to its weights, is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=200, warm_up=6)
torch = fixable.load_torch()

SHARES, DAYS, MONTH, MONTHS, BRANCHES, ROUNDS, TRUST, READ = 2048, 512, 21, 96, 24, 16, 0.5, 24


def market():
    """Daily returns of all shares: the market's, those of branches, and their own."""
    days = DAYS + MONTH * (MONTHS + 1)
    nervous = torch.exp(0.5 * torch.sin(torch.arange(days, device="cuda") / 60.0))[:, None]
    moves = torch.cat((torch.randn(days, 1, device="cuda"), 0.5 * torch.randn(days, BRANCHES, device="cuda")), dim=1)
    branch = torch.nn.functional.one_hot(torch.randint(BRANCHES, (SHARES,), device="cuda"), BRANCHES)
    follows = torch.cat((0.6 + 0.6 * torch.rand(SHARES, 1, device="cuda"), branch.float()), dim=1)
    own = 1.2 * torch.randn(days, SHARES, device="cuda") * (0.7 + torch.rand(SHARES, device="cuda"))
    return 0.01 * nervous * (moves @ follows.t() + own)


def make(variant):
    fixable.seed(torch)
    returns = market()
    window, behind = torch.empty(DAYS, SHARES, device="cuda"), torch.empty(MONTH, SHARES, device="cuda")
    same = torch.eye(SHARES, device="cuda")
    turn, noted, curve = [0], torch.zeros(MONTHS, device="cuda"), []

    def inverse(matrix):
        """Newton's iteration; its start is small enough for any matrix without negative eigenvalues."""
        found = same / matrix.abs().sum(dim=1).max()
        for _ in range(ROUNDS):
            found = torch.addmm(found, found, matrix @ found, beta=2.0, alpha=-1.0)
        return found

    def weigh():
        """How much the best weights vary in the month behind the window."""
        spread, mean = torch.std_mean(window, dim=0)
        even = (window - mean) / spread
        alike = torch.addmm(same, even.t(), even, beta=1.0 - TRUST, alpha=TRUST / (DAYS - 1))
        weights = inverse(alike) @ (1.0 / spread) / spread
        weights = weights / weights.sum()
        return (behind @ weights).std()

    def load(month):
        start = month * MONTH
        window.copy_(returns[start:start + DAYS])
        behind.copy_(returns[start + DAYS:start + DAYS + MONTH])

    if variant == "useless":
        load(0)
        graph, varied = fixable.capture(torch, weigh)

    def step():
        month = turn[0] % MONTHS
        turn[0] += 1
        load(month)
        if variant == "useless":
            graph.replay()
            noted[month] = varied
        else:
            noted[month] = weigh()
        if turn[0] % READ == 0:
            curve.append(noted.mean().item())

    def values():
        """How much the fund varies in each of the first months, in per cent a day."""
        return (100.0 * noted[:6]).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
