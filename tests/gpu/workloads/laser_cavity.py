# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which beam a carbon dioxide laser makes between two mirrors is found by the method of Fox and Li: light of any form
goes to and fro (by Fourier transforms of 1280 by 1280 points), is cut and bent by the mirrors, and amplified by a gas that
gives less the more light there is, until it keeps its form. How bright it is at each mirror is kept as a curve.

Wrong: the brightness at a mirror is read by .item() after each pass, for the curve, and to stop if the laser goes out; the GPU
runs dry before the next pass is launched.
fix: the brightness of all passes of a step stays on the device, and is read once behind the last one (sync-bound).
fix2: a pass to either mirror is one CUDA graph, behind which the brightness is read as before (launch-bound).
useless: the amplified light goes to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=8)
torch = fixable.load_torch()

POINTS, CELL, LENGTH, WAVE, PASSES = 1280, 1e-4, 1.0, 10.6e-6, 24  # metres
CURVED, EDGE, REFLECTED, HALF_GAIN, DARK = 2.0, 4e-3, (0.98, 0.90), 0.3, 1e-6


def optics():
    """What a way from mirror to mirror does to each wave, and what each mirror does to each point."""
    often = torch.fft.fftfreq(POINTS, d=CELL, device="cuda", dtype=torch.float64)
    phase = -torch.pi * WAVE * LENGTH * (often[:, None] ** 2 + often ** 2)
    way = torch.polar(torch.ones_like(phase), phase).to(torch.complex64)
    where = (torch.arange(POINTS, device="cuda", dtype=torch.float64) - POINTS / 2) * CELL
    far = where[:, None] ** 2 + where ** 2
    kept = torch.exp(-((far / EDGE ** 2) ** 8))
    bent = -2.0 * torch.pi / WAVE * far / CURVED
    return way, [torch.polar(share * kept, bent).to(torch.complex64) for share in REFLECTED], far.float()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    way, mirrors, far = optics()
    first = torch.complex(torch.randn(POINTS, POINTS, device="cuda"), torch.randn(POINTS, POINTS, device="cuda"))
    first.mul_(torch.exp(-far / (2.0 * EDGE ** 2)))
    first.div_(torch.linalg.vector_norm(torch.view_as_real(first)))
    slots = PASSES if variant == "fix" else 2
    field, told = torch.empty_like(first), torch.empty(slots, device="cuda")
    bright = torch.empty_like(first) if variant == "useless" else None
    curve, usual, dark = [0.0] * PASSES, [0.0, 0.0], [0]

    def begin():
        field.copy_(first)
        told.fill_(1.0)

    def one_pass(number):
        """Through the gas to the other mirror; how bright it is there goes to `told`."""
        gain = 1.0 + HALF_GAIN / (1.0 + told[(number - 1) % slots].square())
        amplified = torch.mul(field, gain, out=bright) if variant == "useless" else field * gain
        waves = torch.fft.fft2(amplified).mul_(way)
        torch.mul(torch.fft.ifft2(waves), mirrors[number % 2], out=field)
        torch.linalg.vector_norm(torch.view_as_real(field), out=told[number % slots])

    begin()
    if variant == "fix2":
        graphs = [fixable.capture(torch, lambda number=number: one_pass(number))[0] for number in (0, 1)]
        begin()

    def to_and_fro():
        for number in range(PASSES):
            if variant == "fix2":
                graphs[number % 2].replay()
            else:
                one_pass(number)
            if variant != "fix":
                curve[number] = told[number % slots].item()  # cause: wait,copy
                if curve[number] < DARK:
                    dark[0] += 1
                    return
        if variant == "fix":
            curve[:] = told.tolist()

    @torch.no_grad()
    def step():
        to_and_fro()  # cause: wait,copy
        for mirror in (0, 1):
            power = sum(x * x for x in curve[mirror::2]) / (PASSES // 2)
            usual[mirror] += 0.05 * (power - usual[mirror])

    def values():
        """How bright it is at each mirror, and how wide the beam is at the last one, in millimetres."""
        light = field.abs().square()
        return usual + [1000.0 * (2.0 * (light * far).sum() / light.sum()).sqrt().item(), dark[0]]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
