# SPDX-License-Identifier: Apache-2.0
"""PyTorch: whether the generators of a power grid stay in step after a short circuit is looked at for 384 of them at once (transient
stability): each of 56 generators has an angle, a speed, a turbine and an exciter, which the method of Runge and Kutta moves on.

Wrong: each time step launches some two hundred kernels one by one, each of which takes the GPU a few microseconds.
fix: a time step is one CUDA graph (launch-bound).
fix2: currents come from one product of complex numbers, and torch._foreach_add moves the four states in one kernel (launch-bound).
useless: how far the angles are apart is read at the end of a course only, not every 25 time steps.
"""
import math

import fixable

COURSE, LOOK_EVERY = 400, 25  # time steps of a course, and between two looks

run = fixable.Program(__doc__, steps=3200, warm_up=COURSE, multiple=COURSE)
torch = fixable.load_torch()

FAULTS, GENERATORS, TICK = 384, 56, 0.005
NOMINAL = 2.0 * math.pi * 50.0
DAMPING, DROOP, TURBINE, GAIN, EXCITER, LEAST_DIP = 2.0, 0.05, 0.5, 8.0, 0.4, 0.2


def grid(device):
    """The grid as the generators see it: conductances and susceptances (Kron's reduction), inertias, and voltages."""
    x, y = torch.rand(2, GENERATORS)
    apart = ((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2).sqrt()
    coupling = 0.25 * torch.exp(-3.0 * apart)
    coupling.fill_diagonal_(0.0)
    conductance = 0.05 * coupling + torch.diag(0.4 + 0.2 * torch.rand(GENERATORS))
    inertia = 3.0 + 5.0 * torch.rand(GENERATORS)
    voltage = 1.0 + 0.1 * torch.rand(GENERATORS)
    return [part.to(device) for part in (conductance, coupling, inertia, voltage)]


def faults():
    """Where the short circuits are: how far they draw each generator's voltage down, and when they are switched off."""
    near = torch.rand(FAULTS, GENERATORS, device="cuda").pow(4)
    near.scatter_(1, torch.randint(GENERATORS, (FAULTS, 1), device="cuda"), 1.0)
    return 1.0 - (1.0 - LEAST_DIP) * near, 0.05 + 0.45 * torch.rand(FAULTS, 1, device="cuda")


def power_by_parts(angle, voltage, conductance, coupling):
    """What each generator gives to the grid, by sines and cosines."""
    real = voltage * torch.cos(angle)  # cause: launch
    imaginary = voltage * torch.sin(angle)  # cause: launch
    current_real = real @ conductance - imaginary @ coupling  # cause: launch
    current_imaginary = imaginary @ conductance + real @ coupling  # cause: launch
    return real * current_real + imaginary * current_imaginary  # cause: launch


def power_complex(angle, voltage, admittance):
    phasor = torch.polar(voltage, angle)
    return (phasor * (phasor @ admittance).conj()).real


def make(variant):
    fixable.seed(torch)
    conductance, coupling, inertia, usual = grid("cuda")
    admittance = torch.complex(conductance, coupling)
    dip, cleared = faults()
    time = torch.zeros((), device="cuda")
    angle, speed, turbine, field = state = [torch.zeros(FAULTS, GENERATORS, device="cuda") for _ in range(4)]
    wanted = power_by_parts(angle[:1], usual.expand(1, GENERATORS), conductance, coupling)
    turn, seen, lost = [0], [0.0], [0.0]

    def slopes(angle, speed, turbine, field):
        """How fast all of it changes."""
        voltage = usual + field  # cause: launch
        short = torch.where(time < cleared, dip, 1.0)  # cause: launch
        voltage = voltage * short  # cause: launch
        if variant == "fix2":
            given = power_complex(angle, voltage, admittance)
        else:
            given = power_by_parts(angle, voltage, conductance, coupling)  # cause: launch
        faster = (wanted + turbine - given - DAMPING * speed) / (2.0 * inertia)  # cause: launch
        valve = (-speed / DROOP - turbine) / TURBINE  # cause: launch
        exciting = (GAIN * (usual - voltage).clamp(-0.02, 0.02) - field) / EXCITER  # cause: launch
        return [NOMINAL * speed, faster, valve, exciting]  # cause: launch

    def moved(rates, length):
        if variant == "fix2":
            return torch._foreach_add(state, rates, alpha=length)
        return [part + length * rate for part, rate in zip(state, rates)]  # cause: launch

    def tick():
        """A step of Runge and Kutta."""
        first = slopes(*state)  # cause: launch
        second = slopes(*moved(first, 0.5 * TICK))  # cause: launch
        third = slopes(*moved(second, 0.5 * TICK))  # cause: launch
        fourth = slopes(*moved(third, TICK))  # cause: launch
        if variant == "fix2":
            for rates, weight in ((first, 1.0), (second, 2.0), (third, 2.0), (fourth, 1.0)):
                torch._foreach_add_(state, rates, alpha=weight * TICK / 6.0)
        else:
            for part, a, b, c, d in zip(state, first, second, third, fourth):
                part.add_(a + 2.0 * b + 2.0 * c + d, alpha=TICK / 6.0)  # cause: launch
        turbine.clamp_(-0.2, 0.2)  # cause: launch
        time.add_(TICK)  # cause: launch

    def begin():
        for part in (*state, time):
            part.zero_()

    if variant == "fix":
        graph, _ = fixable.capture(torch, tick)

    def spread():
        return angle.amax(dim=1) - angle.amin(dim=1)

    def look(number):
        if number % LOOK_EVERY == 0 and variant != "useless":
            seen[0] = spread().max().item()
        if number == COURSE:
            lost[0] = (spread() > math.pi).float().mean().item()

    def step():
        number = turn[0] % COURSE
        if number == 0:
            begin()
        turn[0] += 1
        if variant == "fix":
            graph.replay()
        else:
            tick()  # cause: launch
        look(number + 1)

    def values():
        return [lost[0]] + fixable.sample_of(torch, spread().clamp(max=math.pi).mean(), speed.abs().clamp(max=0.05).mean())

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
