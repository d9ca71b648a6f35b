# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a nuclear power station follows the load of the grid, and its training simulator shows how warm the fuel gets: point
kinetics with six groups of delayed neutrons (prompt jump), rods that follow the wanted power, the Doppler effect of uranium, and
the heat in 4096 pins of uranium dioxide, of 20 rings each, implicitly in time (algorithm of Thomas, ring by ring). A step is four
instants of 20 milliseconds.

Wrong: the elimination is written ring by ring in Python, with some nine tiny kernels for each ring; each has 4096 numbers to
work on and takes about two microseconds, and the GPU waits for the next launch most of the time.
fix: the four instants are launched as one CUDA graph (launch-bound).
useless: the two numbers that are shown every 50 steps come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch = fixable.load_torch()

PINS, RINGS, INSTANTS, DT, SHOWN = 4096, 20, 4, 0.02, 50
RADIUS, STORES, LINE_POWER = 4.1e-3, 3.3e6, 18.0e3  # of a pellet: metres; joules for a cubic metre and kelvin; watts for a metre
FILM, COOLANT, USUAL = 6.0e3, 580.0, 900.0  # watts for a square metre and kelvin, through gap, cladding and water; kelvins
DELAYED = (2.15e-4, 1.424e-3, 1.274e-3, 2.568e-3, 7.48e-4, 2.73e-4)
DECAYS = (0.0124, 0.0305, 0.111, 0.301, 1.14, 3.01)  # a second
BETA, DOPPLER, RODS_SPEED, SWING = sum(DELAYED), -2.5e-5, 5.0e-4, 0.05


def conductivity(temperatures):
    """Watts for a metre and kelvin, of uranium dioxide (Fink)."""
    t = temperatures * 1e-3  # cause: launch
    lattice = 100.0 / (7.5408 + 17.692 * t + 3.6142 * t * t)  # cause: launch
    return lattice + 6400.0 * torch.exp(-16.35 / t) / t.pow(2.5)  # cause: launch


def eliminate(diagonal, links, right, temperatures):
    """Solves for the temperatures: inwards to outwards, and back."""
    ratios, values = [links[0] / diagonal[0]], [right[0] / diagonal[0]]  # cause: launch
    for ring in range(1, RINGS):
        inner = links[ring - 1]
        own = diagonal[ring] - inner * ratios[-1]  # cause: launch
        values.append((right[ring] + inner * values[-1]) / own)  # cause: launch
        if ring < RINGS - 1:
            ratios.append(links[ring] / own)  # cause: launch
    temperatures[-1].copy_(values[-1])  # cause: launch
    for ring in range(RINGS - 2, -1, -1):
        torch.addcmul(values[ring], ratios[ring], temperatures[ring + 1], out=temperatures[ring])  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    edges = torch.linspace(0.0, RADIUS, RINGS + 1, device="cuda")
    areas = (math.pi * (edges[1:] ** 2 - edges[:-1] ** 2))[:, None]
    faces = (math.pi * torch.arange(1, RINGS, device="cuda").float())[:, None]  # half of circumference by width of a ring
    kept = areas * (STORES / DT)
    film = FILM * 2.0 * math.pi * RADIUS
    peaks = 0.6 + 0.8 * torch.rand(PINS, device="cuda")
    peaks /= peaks.mean()
    heats = areas * (peaks * (LINE_POWER / (math.pi * RADIUS ** 2)))  # watts for a metre of each ring, at full power
    weights = heats / heats.sum()
    delayed, decays = torch.tensor(DELAYED, device="cuda"), torch.tensor(DECAYS, device="cuda")
    slower = 1.0 + DT * decays
    landing = torch.empty(2, pin_memory=True) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    clock, rods = torch.zeros((), device="cuda"), torch.zeros((), device="cuda")
    power, groups = torch.ones((), device="cuda"), delayed / decays
    temperatures = torch.full((RINGS, PINS), USUAL, device="cuda")
    state = (clock, rods, power, groups, temperatures)
    begin = [part.clone() for part in state]

    def neutrons():
        """The rods go after the wanted power, and the power after the rods and the fuel's warmth."""
        clock.add_(DT)  # cause: launch
        wanted = 1.0 + 0.15 * torch.sin(clock * SWING)  # cause: launch
        rods.add_((wanted - power).clamp_(-0.2, 0.2), alpha=DT * RODS_SPEED)  # cause: launch
        warmer = (temperatures * weights).sum() - USUAL  # cause: launch
        reactivity = (rods + DOPPLER * warmer).clamp_(max=0.5 * BETA)  # cause: launch
        power.copy_((groups * decays).sum() / (BETA - reactivity))  # cause: launch
        groups.add_(delayed * power, alpha=DT).div_(slower)  # cause: launch

    def heat():
        conducts = conductivity(temperatures)  # cause: launch
        links = (conducts[1:] + conducts[:-1]) * faces  # cause: launch
        diagonal = kept.repeat(1, PINS)  # cause: launch
        diagonal[:-1] += links  # cause: launch
        diagonal[1:] += links  # cause: launch
        diagonal[-1] += film  # cause: launch
        right = temperatures * kept + heats * power  # cause: launch
        right[-1] += film * COOLANT  # cause: launch
        eliminate(diagonal, links, right, temperatures)  # cause: launch

    def instants():
        for _ in range(INSTANTS):
            neutrons()  # cause: launch
            heat()  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, instants)
        for part, first in zip(state, begin):
            part.copy_(first)
        go_on = graph.replay
    else:
        go_on = instants

    def show():
        """The power, and the hottest middle of a pin."""
        numbers = torch.stack((power, temperatures[0].max()))
        if variant == "useless":
            landing.copy_(numbers, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            numbers = landing
        for k, number in enumerate(numbers.tolist()):
            usual[k] += 0.2 * (number - usual[k])

    @torch.no_grad()
    def step():
        go_on()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            show()

    def values():
        return [float(power), float(temperatures.mean()) / 1000.0, float(temperatures.max()) / 1000.0]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
