# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a cloud of atoms near absolute zero (a Bose-Einstein condensate) is stirred by a beam of light, so that it gets
whirls: the equation of Gross and Pitaevskii with a bit of damping, on a grid of 256 points each way, by steps between space and
momenta.

Wrong: nothing: each step has some twenty kernels over 16 million points, and the host is far ahead of them. The greatest
density is read every 50 steps (gpu-bound).
useless: a step is one CUDA graph.
"""
import math

import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=1500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

SIZE, BOX, TIME, DAMPING, PUSH, ATOMS = 256, 24.0, 0.004, 0.03, 20.0, 2000.0
TURN, FAR, WIDE = 0.006, 2.5, 0.6  # the beam's angle in a step, how far from the middle it is, and how wide
CELL = (BOX / SIZE) ** 3


def places():
    """x, y and z of the grid, and the squares of the momenta."""
    at = (torch.arange(SIZE, device="cuda") - SIZE // 2) * (BOX / SIZE)
    momentum = 2.0 * math.pi * torch.fft.fftfreq(SIZE, BOX / SIZE, device="cuda")
    x, y, z = at.view(-1, 1, 1), at.view(1, -1, 1), at.view(1, 1, -1)
    squares = momentum.square()
    return x, y, z, squares.view(-1, 1, 1) + squares.view(1, -1, 1) + squares.view(1, 1, -1)


def turned(energy):
    """What a time step does to a wave of such an energy: its phase goes on, and what is high is damped."""
    return torch.exp(torch.complex(-DAMPING * TIME * energy, -TIME * energy))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    x, y, z, squares = places()
    trap = 0.5 * (x.square() + 1.1 * y.square() + 1.5 * z.square())
    kinetic = turned(0.5 * squares)
    wave = torch.exp(-0.2 * trap).to(torch.complex64)
    wave += 0.02 * torch.randn(SIZE, SIZE, SIZE, dtype=torch.complex64, device="cuda") * wave
    angle, turn, densest = torch.zeros((), device="cuda"), [0], [0.0]

    def normalise():
        """As many atoms as there were."""
        density = wave.real.square() + wave.imag.square()
        wave.mul_((ATOMS / (density.sum() * CELL)).sqrt())

    def advance():
        density = wave.real.square() + wave.imag.square()
        beam = (x - FAR * angle.cos()).square() + (y - FAR * angle.sin()).square()
        energy = trap + PUSH * torch.exp(-beam / WIDE ** 2) + 0.05 * density
        wave.mul_(turned(energy))
        spectrum = torch.fft.fftn(wave)
        spectrum.mul_(kinetic)
        wave.copy_(torch.fft.ifftn(spectrum))
        normalise()
        angle.add_(TURN)

    normalise()
    if variant == "useless":
        first = wave.clone()
        graph, _ = fixable.capture(torch, advance)
        wave.copy_(first)
        angle.zero_()

    @torch.no_grad()
    def step():
        if variant == "useless":
            graph.replay()
        else:
            advance()
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            densest[0] = wave.abs().max().item()

    def values():
        density = wave.real.square() + wave.imag.square()
        return densest + (density.sum(dim=(1, 2)) * CELL)[::16].tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
