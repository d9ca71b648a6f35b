# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how much water lies as snow on 4096 places of a mountain range, hour by hour, for those who warn of avalanches and
those who fill reservoirs: a pack has 16 layers; snow falls on them and is pushed down, heat goes from layer to layer (an implicit
step, solved for all packs by elimination from the top and back), ice melts, and water seeps down, freezes again or runs off.

Wrong: it was brought over line by line from Fortran, and goes from layer to layer by some 540 short kernels an hour.
fix: an hour is one CUDA graph of the same kernels (launch-bound).
useless: the numbers that are read every 50 hours come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
torch = fixable.load_torch()

LAYERS, PLACES, HOURS, TOLD = 16, 4096, 240, 50
HOUR, HEAT, LATENT = 3600.0, 2100.0, 334000.0  # seconds; of ice, in J/kg/K and J/kg
FULL, LEAST, HOLDS, GROUND, GLOW = 25.0, 0.5, 0.05, 0.4, 55.0  # kg/m2 of a layer, share of water, W/m2/K, W/m2


def weather():
    """Of each hour: the air's temperature, the sun's power, what falls and the wind, (HOURS, 4)."""
    hours = torch.arange(HOURS, device="cuda", dtype=torch.float32)
    day = hours * (2.0 * math.pi / 24.0)
    air = 5.0 * torch.sin(hours * (2.0 * math.pi / HOURS)) + 4.0 * torch.sin(day - 2.4) - 3.0
    sun = (800.0 * torch.sin(day - 1.57)).clamp(min=0.0)
    falls = 1.5 * (torch.sin(hours * (2.0 * math.pi / 60.0)) > 0.6).float()
    return torch.stack((air, sun, falls, 3.0 + 2.0 * torch.sin(hours * (2.0 * math.pi / 30.0))), dim=1)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    known_weather, now = weather(), torch.zeros(4, device="cuda")
    cooler = 3.0 - 8.0 * torch.rand(PLACES, device="cuda")
    share, catch = 0.5 + 0.5 * torch.rand(PLACES, device="cuda"), 0.6 + 0.8 * torch.rand(PLACES, device="cuda")
    dense = torch.linspace(150.0, 450.0, LAYERS, device="cuda")[:, None]
    per_mass = 1.0 / (dense * 2.2 * (dense / 917.0) ** 1.88)  # how a kilogram of a layer resists heat
    temps = torch.full((LAYERS, PLACES), -3.0, device="cuda")
    masses = torch.full((LAYERS, PLACES), FULL - 5.0, device="cuda")
    waters = torch.zeros(LAYERS, PLACES, device="cuda")
    bright, fresh = torch.full((PLACES,), 0.8, device="cuda"), torch.full((PLACES,), 0.85, device="cuda")
    told, usual, turn = torch.zeros(4, device="cuda"), [0.0] * 4, [0]
    landing = torch.empty(4, pin_memory=True) if variant == "useless" else None
    temp, ice, water = temps.unbind(0), masses.unbind(0), waters.unbind(0)

    def push_down():
        """What a layer has too much goes to the one below it, with its cold."""
        for k in range(LAYERS - 1):
            more = (ice[k] - FULL).clamp_(min=0.0)  # cause: launch
            ice[k].sub_(more)  # cause: launch
            ice[k + 1].add_(more)  # cause: launch
            temp[k + 1].addcmul_(temp[k] - temp[k + 1], more / ice[k + 1])  # cause: launch

    def conduct(air):
        """New temperatures, from the heat that comes from the air and the sun, and goes from layer to layer."""
        resist = masses * per_mass
        through = 2.0 / (resist[1:] + resist[:-1])
        holds = masses * (HEAT / HOUR)
        windy = now[3] * 3.0 + 5.0
        known, main = holds * temps, holds
        known[0].addcmul_(air, windy).add_((1.0 - bright) * share * now[1]).sub_(GLOW)
        main[1:].add_(through)
        main[:-1].add_(through)
        main[0].add_(windy)
        main[-1].add_(GROUND)
        m, r, u = main.unbind(0), known.unbind(0), through.unbind(0)
        slope, level = [u[0] / m[0]], [r[0] / m[0]]
        for k in range(1, LAYERS):
            left = torch.addcmul(m[k], u[k - 1], slope[-1], value=-1.0)  # cause: launch
            level.append(torch.addcmul(r[k], u[k - 1], level[-1]).div_(left))  # cause: launch
            if k < LAYERS - 1:
                slope.append(u[k] / left)  # cause: launch
        temp[-1].copy_(level[-1])
        for k in range(LAYERS - 2, -1, -1):
            torch.addcmul(level[k], slope[k], temp[k + 1], out=temp[k])  # cause: launch

    def seep(flow):
        """Melts what is too warm and lets water down from layer to layer; gives what runs off."""
        for k in range(LAYERS):
            warm = temp[k].clamp(min=0.0) * ice[k] * (HEAT / LATENT)  # cause: launch
            melt = torch.minimum(warm, (ice[k] - LEAST).clamp_(min=0.0))  # cause: launch
            temp[k].clamp_(max=0.0)  # cause: launch
            ice[k].sub_(melt)  # cause: launch
            wet = water[k].add_(melt).add_(flow)  # cause: launch
            kept = torch.minimum(wet, ice[k] * HOLDS)  # cause: launch
            flow = wet - kept  # cause: launch
            froze = torch.minimum(kept, temp[k] * ice[k] * (-HEAT / LATENT))  # cause: launch
            torch.sub(kept, froze, out=water[k])  # cause: launch
            ice[k].add_(froze)  # cause: launch
            temp[k].add_(froze / ice[k], alpha=LATENT / HEAT)  # cause: launch
        return flow

    def hour():
        air = now[0] + cooler
        falls = catch * now[2]
        snow = falls * torch.sigmoid(2.0 - 2.0 * air)
        ice[0].add_(snow)
        bright.sub_(0.002).clamp_(min=0.55)
        bright.lerp_(fresh, (snow * 0.5).clamp_(max=1.0))
        push_down()  # cause: launch
        conduct(air)  # cause: launch
        runs = seep(falls - snow)  # cause: launch
        found = (masses.sum(dim=0).mean(), waters.sum(dim=0).mean(), runs.mean(), temps[0].mean())
        told.lerp_(torch.stack(found), 0.02)

    advance = hour
    if variant == "fix":
        state = (temps, masses, waters, bright, told)
        before = [one.clone() for one in state]
        graph, _ = fixable.capture(torch, hour)
        for one, then in zip(state, before):
            one.copy_(then)
        advance = graph.replay

    @torch.no_grad()
    def step():
        now.copy_(known_weather[turn[0] % HOURS])
        advance()  # cause: launch
        turn[0] += 1
        if turn[0] % TOLD == 0:
            if landing is not None:
                landing.copy_(told, non_blocking=True)
                torch.cuda.current_stream().synchronize()
                usual[:] = landing.tolist()
            else:
                usual[:] = told.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
