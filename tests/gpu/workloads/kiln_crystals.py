# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a potter wants large crystals in a glaze, and tries 32768 firings of a gas kiln, with other hottest and growing
temperatures and burners, from the cold kiln to the cold kiln. A step is four minutes of all of them: the burner is controlled,
heat goes through the bricks and into the pots, water and carbon leave the clay, quartz melts, pinholes heal, crystals grow.

Wrong: the formulas are written one by one, which is five hundred short kernels a step; to launch one takes longer than to run it.
fix: the four minutes are a CUDA graph (launch-bound).
useless: the sums come to pinned memory, when they are read.
"""
import fixable

run = fixable.Program(__doc__, steps=1500, warm_up=20)
torch = fixable.load_torch()

FIRINGS, LAYERS, MOMENTS, SECONDS, STEPS, EVERY = 32768, 8, 5, 48.0, 240, 50  # STEPS of a firing of 16 hours
COLD, CALM, GREY = 293.0, 10.0, 4.5e-8  # kelvin; heat that air and light bring, W/(m2 K) and W/(m2 K4)
WALL, POTS, FLUE = 2.5, 4.0, 18.0  # square metres of bricks and of pots; W/K
GAS, LOAD, SKIN = 40000.0, 24000.0, 28750.0  # J/K of the gas with its shelves, of the pots, of the inmost layer of bricks
BRICK, OUT, GAIN, RESET = 0.07, 0.02, 0.01, 0.02


def plan():
    """For each step, which shares of the hottest and the growing temperature are wanted, and 0 where a firing begins."""
    rows = []
    for number in range(STEPS):
        hour = number / 15.0
        hot = hour / 7.0 if hour < 7.0 else 1.0 if hour < 7.33 else max(0.0, (8.0 - hour) / 0.67)
        grow = 0.0 if hour < 7.33 else 1.0 - hot if hour < 12.0 else max(0.0, 1.0 - (hour - 12.0) / 3.5)
        rows.append((hot, grow, 1.0 if number else 0.0))
    return torch.tensor(rows, device="cuda")


def exchange(one, other):
    """Watts that go over between two temperatures, for each square metre and kelvin."""
    return CALM + GREY * (one.square() + other.square()) * (one + other)  # cause: launch


def rate(warm, often, needs):
    """How often something happens in a moment, by the law of Arrhenius; `warm` is one by the temperature."""
    return torch.exp(-needs * warm) * (often * SECONDS)  # cause: launch


def bell(at, best, wide):
    return torch.exp(-((at - best) / wide).square())  # cause: launch


class Kiln:
    """The firings: temperatures, how much there is left of some things, and how many crystals there are of what size."""

    def __init__(self):
        self.top = torch.empty(FIRINGS, device="cuda").uniform_(1515.0, 1560.0)
        self.hold = torch.empty(FIRINGS, device="cuda").uniform_(1290.0, 1400.0)
        self.burner = torch.empty(FIRINGS, device="cuda").uniform_(70000.0, 95000.0)
        self.gas, self.pots, self.owed, self.seeds, self.size = (torch.zeros(FIRINGS, device="cuda") for _ in range(5))
        self.wall = torch.zeros(LAYERS, FIRINGS, device="cuda")
        self.water, self.carbon, self.quartz, self.holes = (torch.ones(FIRINGS, device="cuda") for _ in range(4))
        self.now = torch.ones(3, device="cuda")
        self.total = torch.zeros(5, device="cuda", dtype=torch.float64)

    def begin(self):
        for warm in (self.gas, self.pots, self.wall):
            warm.fill_(COLD)
        for zero in (self.owed, self.seeds, self.size, self.total):
            zero.zero_()
        for whole in (self.water, self.carbon, self.quartz, self.holes):
            whole.fill_(1.0)

    def moment(self, target):
        off = target - self.gas  # cause: launch
        self.owed.add_(off, alpha=SECONDS / 3600.0).clamp_(-20.0, 20.0)  # cause: launch
        fired = (GAIN * off + RESET * self.owed).clamp_(0.0, 1.0)  # cause: launch
        to_wall = WALL * exchange(self.gas, self.wall[0])  # cause: launch
        to_pots = POTS * exchange(self.gas, self.pots)  # cause: launch
        heat = self.burner * fired + to_wall * self.wall[0] + to_pots * self.pots + FLUE * COLD  # cause: launch
        self.gas.mul_(GAS).add_(heat, alpha=SECONDS).div_(GAS + SECONDS * (to_wall + to_pots + FLUE))  # cause: launch
        share = to_pots * (SECONDS / LOAD)  # cause: launch
        self.pots.addcmul_(share, self.gas).div_(1.0 + share)  # cause: launch
        share = to_wall * (SECONDS / SKIN)  # cause: launch
        self.wall[0].addcmul_(share, self.gas).div_(1.0 + share)  # cause: launch
        flow = BRICK * (self.wall[1:] - self.wall[:-1])  # cause: launch
        self.wall[:-1].add_(flow)  # cause: launch
        self.wall[1:].sub_(flow)  # cause: launch
        self.wall[-1].mul_(1.0 - OUT).add_(OUT * COLD)  # cause: launch
        warm = self.pots.reciprocal()  # cause: launch
        air = 1.0 - 0.6 * fired  # cause: launch
        self.water.mul_(torch.exp(-rate(warm, 1e7, 19250.0)))  # cause: launch
        self.carbon.mul_(torch.exp(-rate(warm, 2e4, 17000.0) * air))  # cause: launch
        self.quartz.mul_(torch.exp(-rate(warm, 6e9, 45000.0)))  # cause: launch
        molten = 1.0 - self.quartz  # cause: launch
        self.holes.mul_(torch.exp(-rate(warm, 2.5e6, 33000.0) * molten))  # cause: launch
        lost = torch.exp(-rate(warm, 1e14, 60000.0))  # cause: launch
        self.seeds.add_(bell(self.pots, 1290.0, 45.0) * molten, alpha=2e-4 * SECONDS).mul_(lost)  # cause: launch
        self.size.add_(bell(self.pots, 1353.0, 70.0) * molten, alpha=6e-4 * SECONDS).mul_(lost)  # cause: launch

    def minutes(self):
        """A step: what is left from the firing before is put right where a new one begins."""
        keep, new = self.now[2], 1.0 - self.now[2]  # cause: launch
        for left in (self.water, self.carbon, self.quartz, self.holes):
            left.mul_(keep).add_(new)  # cause: launch
        self.seeds.mul_(keep)  # cause: launch
        self.size.mul_(keep)  # cause: launch
        target = COLD + self.now[0] * (self.top - COLD) + self.now[1] * (self.hold - COLD)  # cause: launch
        for _ in range(MOMENTS):
            self.moment(target)  # cause: launch
        covered = 1.0 - torch.exp(-0.1 * self.seeds * self.size.square())  # cause: launch
        told = (self.pots.mean(), self.wall[0].mean(), covered.mean(), self.holes.mean(), self.quartz.mean())  # cause: launch
        self.total.add_(torch.stack(told))  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    kiln, wanted, turn, told = Kiln(), plan(), [0], [0.0] * 5
    landing = torch.zeros(5, dtype=torch.float64, pin_memory=True) if variant == "useless" else None
    kiln.begin()
    if variant == "fix":
        graph, _ = fixable.capture(torch, kiln.minutes)
        kiln.begin()

    def read():
        if landing is None:
            return kiln.total.tolist()
        landing.copy_(kiln.total)
        return landing.tolist()

    @torch.no_grad()
    def step():
        kiln.now.copy_(wanted[turn[0] % STEPS])
        turn[0] += 1
        if variant == "fix":
            graph.replay()
        else:
            kiln.minutes()  # cause: launch
        if turn[0] % EVERY == 0:
            told[:] = [number / turn[0] for number in read()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [number / turn[0] for number in kiln.total.tolist()])


run.main(make)
