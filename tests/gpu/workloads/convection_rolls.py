# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a layer of gas that is heated from below turns over in rolls (Rayleigh and Bénard), and how much heat they carry, by
how strongly it is heated, is wanted for twelve strengths at once: how the gas spins and how warm it is goes on by differences on
a grid of 47 by 95 points, and the rolls' stream follows from the spin by sines.

Wrong: a tick is some fifty short operations, and a step of 20 ticks a thousand, which Python launches slower than they run.
fix: a step is one CUDA graph of the same operations (launch-bound).
useless: the heat that the rolls carry is read behind 20 steps, and not behind each.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
functional = torch.nn.functional

GASES, HIGH, LONG, TICKS = 12, 47, 95, 20  # grid points between the walls; the layer is one high and two long
WIDE, TICK, PRANDTL, WEAKEST, STRONGEST = 1.0 / 48.0, 8e-5, 0.7, 4e3, 1e4


def sines(points):
    """The sines that are nought at both walls, which are their own inverse: (points, points)."""
    number = torch.arange(1, points + 1, dtype=torch.float64)
    waves = torch.sin(number[:, None] * number * (math.pi / (points + 1))) * (2.0 / (points + 1)) ** 0.5
    return waves.float().cuda()


def stiffness():
    """What the differences of second order make of each of the sines, (HIGH, LONG)."""
    up, along = (2.0 - 2.0 * torch.cos(torch.arange(1, points + 1) * (math.pi / (points + 1))) for points in (HIGH, LONG))
    return ((up[:, None] + along) / WIDE ** 2).cuda()


def walled(field):
    """A field that is nought at the walls, with them."""
    return functional.pad(field, (1, 1, 1, 1))


def across(field):
    return (field[:, 1:-1, 2:] - field[:, 1:-1, :-2]) * (0.5 / WIDE)  # cause: launch


def upward(field):
    return (field[:, 2:, 1:-1] - field[:, :-2, 1:-1]) * (0.5 / WIDE)  # cause: launch


def spread(field):
    beside = field[:, 1:-1, 2:] + field[:, 1:-1, :-2] + field[:, 2:, 1:-1] + field[:, :-2, 1:-1]  # cause: launch
    return (beside - 4.0 * field[:, 1:-1, 1:-1]) * (1.0 / WIDE ** 2)  # cause: launch


def make(variant):
    fixable.seed(torch)
    sines_up, sines_along, stiff = sines(HIGH), sines(LONG), stiffness()
    strength = torch.linspace(WEAKEST, STRONGEST, GASES, device="cuda")[:, None, None]
    up = (torch.arange(1, HIGH + 1, device="cuda") * WIDE)[:, None]
    along = torch.arange(1, LONG + 1, device="cuda") * WIDE
    begin = 1.0 - up + 0.2 * torch.sin(math.pi * up) * torch.cos(math.pi * along)
    warm = begin.repeat(GASES, 1, 1)
    spin = torch.zeros(GASES, HIGH, LONG, device="cuda")
    floor, ceiling = torch.ones(GASES, 1, LONG, device="cuda"), torch.zeros(GASES, 1, LONG, device="cuda")
    turn, seen = [0], []

    def between_plates():
        """How warm it is, with the floor and the ceiling, and with sides that let no heat through."""
        whole = torch.cat((floor, warm, ceiling), dim=1)  # cause: launch
        return torch.cat((whole[:, :, :1], whole, whole[:, :, -1:]), dim=2)  # cause: launch

    def tick():
        waves = torch.matmul(torch.matmul(sines_up, spin), sines_along) / stiff  # cause: launch
        stream = walled(torch.matmul(torch.matmul(sines_up, waves), sines_along))  # cause: launch
        right, rise = upward(stream), across(stream).neg()  # cause: launch
        spun, heated = walled(spin), between_plates()  # cause: launch
        sideways = across(heated)  # cause: launch
        more_spin = PRANDTL * (spread(spun) + strength * sideways)  # cause: launch
        more_spin = more_spin - right * across(spun) - rise * upward(spun)  # cause: launch
        more_warm = spread(heated) - right * sideways - rise * upward(heated)  # cause: launch
        spin.add_(more_spin, alpha=TICK)  # cause: launch
        warm.add_(more_warm, alpha=TICK)  # cause: launch

    def ticks():
        for _ in range(TICKS):
            tick()  # cause: launch

    def carried():
        """Heat that comes through the floor, by how much would come without rolls (Nusselt's number)."""
        return ((1.0 - warm[:, 0]) * (1.0 / WIDE)).mean(dim=1)

    advance = ticks
    if variant == "fix":
        before = spin.clone(), warm.clone()
        graph, _ = fixable.capture(torch, ticks)
        spin.copy_(before[0])
        warm.copy_(before[1])
        advance = graph.replay

    def step():
        advance()  # cause: launch
        turn[0] += 1
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            seen[:] = carried().tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(seen))


run.main(make)
