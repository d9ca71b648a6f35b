# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a market maker fits smiles to the quotes of options on 128 shares: for each share and each of eight dates five
numbers (SVI) tell what any strike is worth; Adam goes on with them as the quotes move, and no smile may give money away
(Durrleman).

Wrong: some two hundred kernels are launched one by one for each step of Adam, and take the GPU less time than the host.
fix: the step, its backward and Adam are one CUDA graph; the error is still read behind each one (launch-bound).
fix2: the errors stay on the device, and are read every 32 steps (sync-bound).
fix3: Adam is one kernel (fused=True) (launch-bound).
useless: the error comes to pinned memory.
"""
import fixable

LOOK_EVERY = 32

run = fixable.Program(__doc__, steps=1280, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
F = torch.nn.functional

SHARES, DATES, STRIKES, MINUTES, RATE = 128, 8, 25, 6, 2e-3
START = {"level": -3.0, "slope": -2.0, "tilt": -0.3, "middle": 0.0, "width": -1.5}


def smile(raw, strikes):
    """Total variance at the strikes, and its first two derivatives."""
    level, slope, width = F.softplus(raw["level"]), F.softplus(raw["slope"]), F.softplus(raw["width"]) + 0.01  # cause: launch
    tilt = torch.tanh(raw["tilt"])  # cause: launch
    away = strikes - raw["middle"]  # cause: launch
    root = (away.square() + width.square()).sqrt()  # cause: launch
    total = level + slope * (tilt * away + root)  # cause: launch
    first = slope * (tilt + away / root)  # cause: launch
    second = slope * width.square() / root.pow(3)  # cause: launch
    return total, first, second


def error(raw, strikes, quoted, spread):
    """How far the smiles are from the quotes, and how much money they would give away."""
    total, first, second = smile(raw, strikes)  # cause: launch
    apart = ((total - quoted) / spread).square().mean()  # cause: launch
    density = (1.0 - strikes * first / (2.0 * total)).square() + 0.5 * second  # cause: launch
    density = density - 0.25 * first.square() * (1.0 / total + 0.25)  # cause: launch
    butterflies = F.relu(-density).square().mean()  # cause: launch
    calendars = F.relu(total[:, :-1] - total[:, 1:]).square().mean()  # cause: launch
    return apart + 100.0 * butterflies + 1000.0 * calendars  # cause: launch


def quotes(strikes):
    """Quotes of some minutes, each of which moves a bit on from the one before."""
    years = torch.linspace(0.1, 2.0, DATES, device="cuda").view(1, DATES, 1)
    usual = 0.15 + 0.25 * torch.rand(SHARES, 1, 1, device="cuda")
    skew = 0.05 + 0.1 * torch.rand(SHARES, 1, 1, device="cuda")
    for number in range(MINUTES):
        sigma = usual * (1.0 + 0.02 * number) - skew * strikes + 0.2 * strikes.square()
        noise = 1.0 + 0.002 * torch.randn(SHARES, DATES, STRIKES, device="cuda")
        yield years * sigma.square() * noise


def make(variant):
    fixable.seed(torch)
    strikes = torch.linspace(-0.4, 0.4, STRIKES, device="cuda").view(1, 1, STRIKES)
    minutes = list(quotes(strikes))
    spread = 0.02 * minutes[0]
    raw = {name: torch.full((SHARES, DATES, 1), value, device="cuda", requires_grad=True) for name, value in START.items()}
    adam = torch.optim.Adam(raw.values(), lr=RATE, fused=variant == "fix3" or None, capturable=variant == "fix")
    market = minutes[0].clone()
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    turn, pending, usual = [0], [], [1.0]

    def fit():
        apart = error(raw, strikes, market, spread)  # cause: launch
        apart.backward()  # cause: launch
        adam.step()  # cause: launch
        return apart.detach()

    if variant == "fix":
        graph, given = fixable.capture(torch, fit, before=adam.zero_grad)

    def note(apart):
        usual[0] += 0.05 * (apart - usual[0])

    def step():
        if turn[0] % LOOK_EVERY == 0:
            market.copy_(minutes[turn[0] // LOOK_EVERY % MINUTES])
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            note(given.item())
            return
        adam.zero_grad()
        apart = fit()  # cause: launch
        if variant == "fix2":
            pending.append(apart)
            if turn[0] % LOOK_EVERY == 0:
                for number in torch.stack(pending).tolist():
                    note(number)
                pending.clear()
        elif variant == "useless":
            landing.copy_(apart, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            note(float(landing))
        else:
            note(apart.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
