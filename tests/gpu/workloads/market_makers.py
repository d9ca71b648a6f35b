# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a market maker learns how to quote: how far its prices to buy and to sell stand from the middle, and how much they
lean against the stock that it has. 128 tries of these two numbers, drawn around the best ones known, trade in 512 made-up
markets each for 24 moments; what the tries earn, less a price of risk, tells which way the two numbers move (policy search).

Wrong: each moment is some thirty operations on 65 thousand numbers, one after the other, of two or three microseconds each, and
the host takes longer to launch one than the GPU takes for it.
fix: a step is one CUDA graph of the same kernels (launch-bound).
useless: the numbers that are told every 50 steps come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch = fixable.load_torch()

TRIES, MARKETS, MOMENTS, TOLD = 128, 512, 24, 50
START, AROUND, GREED, LEARN = (1.5, 0.05), 0.2, 2.0, 0.1  # ticks, ticks a share; how tries are drawn and weighed
SIGMA, RATE, DECAY, LIMIT, RISK, FEE = 0.5, 0.6, 0.4, 12.0, 0.5, 0.05  # of a moment: the price's moves, how often orders come


def moment(price, stock, cash, width, lean):
    """The price moves, both quotes are set, and orders come that take them or not."""
    price = price + SIGMA * torch.randn_like(price)  # cause: launch
    offset = lean * stock  # cause: launch
    below, above = width + offset, width - offset  # cause: launch
    buys = torch.rand_like(price) < RATE * torch.exp(-DECAY * below)  # cause: launch
    sells = torch.rand_like(price) < RATE * torch.exp(-DECAY * above)  # cause: launch
    bought = (buys & (stock < LIMIT)).float()  # cause: launch
    sold = (sells & (stock > -LIMIT)).float()  # cause: launch
    cash = cash + sold * (price + above) - bought * (price - below)  # cause: launch
    cash = cash - FEE * (bought + sold)  # cause: launch
    stock = stock + bought - sold  # cause: launch
    return price, stock, cash


def make(variant):
    fixable.seed(torch)
    begin = torch.tensor(START, device="cuda")
    centre, usual = begin.clone(), torch.zeros(3, device="cuda")
    landing = torch.zeros(3, pin_memory=True) if variant == "useless" else None
    turn, told = [0], [0.0] * 3

    def search():
        """Draws tries, lets them trade, and moves the centre towards those that did well."""
        noise = AROUND * torch.randn(TRIES, 2, device="cuda")  # cause: launch
        tries = centre * noise.exp()  # cause: launch
        width, lean = tries[:, :1], tries[:, 1:]
        price = torch.zeros(TRIES, MARKETS, device="cuda")  # cause: launch
        stock, cash = torch.zeros_like(price), torch.zeros_like(price)  # cause: launch
        for _ in range(MOMENTS):
            price, stock, cash = moment(price, stock, cash, width, lean)  # cause: launch
        worth = cash + stock * price  # cause: launch
        score = worth.mean(dim=1) - RISK * worth.std(dim=1)  # cause: launch
        score = (score - score.mean()) / score.std()  # cause: launch
        weights = torch.softmax(GREED * score, dim=0)  # cause: launch
        way = (weights[:, None] * noise).sum(dim=0)  # cause: launch
        centre.mul_((LEARN * way).exp()).clamp_(0.005, 20.0)  # cause: launch
        seen = torch.stack((worth.mean(), worth.std(), stock.abs().mean()))  # cause: launch
        usual.mul_(0.98).add_(seen, alpha=0.02)  # cause: launch

    one = search
    if variant == "fix":
        graph, _ = fixable.capture(torch, search)
        one = graph.replay
        centre.copy_(begin)
        usual.zero_()
    torch.manual_seed(20)

    def step():
        one()  # cause: launch
        turn[0] += 1
        if turn[0] % TOLD == 0:
            if variant == "useless":
                landing.copy_(usual)
                told[:] = landing.tolist()
            else:
                told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
