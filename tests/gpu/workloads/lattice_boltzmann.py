# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a flow past a cylinder by the lattice Boltzmann method, nine directions, with a model of the small whirls.

Wrong: some seventy short operations a step, each of which Python launches slower than it runs.
fix: the step is under torch.compile, which makes a few kernels of it (launch-bound).
fix2: the step, as it is, is one CUDA graph (launch-bound).
useless: what moves from cell to cell goes to a tensor that is allocated once.
"""
import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no processes beside this one

import fixable

run = fixable.Program(__doc__, steps=6500, warm_up=50)
torch, _ = fixable.load_torch("triton")

HEIGHT, WIDTH, PLACE, RADIUS, SPEED, RATE, WHIRLS, REPORT_EVERY = 128, 384, 80, 12, 0.08, 1.8, 0.18, 500
RIGHT = (0, 1, 0, -1, 0, 1, -1, -1, 1)
DOWN = (0, 0, 1, 0, -1, 1, 1, -1, -1)
BACK = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9,) + 4 * (1 / 9,) + 4 * (1 / 36,)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    right, down, weights = (torch.tensor(row, dtype=torch.float32, device="cuda").view(9, 1, 1) for row in (RIGHT, DOWN, WEIGHTS))
    across, along_both = right * right - down * down, right * down
    back = torch.tensor(BACK, device="cuda")
    y, x = torch.meshgrid(torch.arange(HEIGHT, device="cuda"), torch.arange(WIDTH, device="cuda"), indexing="ij")
    solid = (x - PLACE).square() + (y - HEIGHT // 2 - 1).square() < RADIUS ** 2
    inflow = (weights * (1.0 + 3.0 * right * SPEED + 4.5 * (right * SPEED).square() - 1.5 * SPEED ** 2)).view(9, 1)
    start = inflow.view(9, 1, 1).expand(9, HEIGHT, WIDTH).contiguous()
    moved = torch.empty_like(start) if variant == "useless" else None
    push = torch.zeros((), device="cuda")
    state, turn, told = [start], [0], []

    def advance(f):
        """All cells a step later, and what pushes the cylinder along the channel."""
        parts = [f[n].roll((DOWN[n], RIGHT[n]), dims=(0, 1)) for n in range(9)]  # cause: launch
        f = torch.stack(parts) if moved is None else torch.stack(parts, out=moved)  # cause: launch
        density = f.sum(dim=0)  # cause: launch
        u = (right * f).sum(dim=0) / density  # cause: launch
        v = (down * f).sum(dim=0) / density  # cause: launch
        along = 3.0 * (right * u + down * v)  # cause: launch
        rest = weights * density * (1.0 + along + 0.5 * along * along - 1.5 * (u * u + v * v))  # cause: launch
        off = f - rest  # cause: launch
        shear, stretch = (along_both * off).sum(dim=0), (across * off).sum(dim=0)  # cause: launch
        stress = torch.sqrt(4.0 * shear * shear + stretch * stretch) / density  # cause: launch
        slower = 0.5 / RATE + torch.sqrt(0.25 / RATE ** 2 + WHIRLS * stress)  # cause: launch
        after = torch.where(solid, f[back], f - off / slower)  # cause: launch
        after[:, :, 0] = inflow  # cause: launch
        after[:, :, -1] = after[:, :, -2]  # cause: launch
        return after, 2.0 * (right * f * solid).sum()  # cause: launch

    moves = torch.compile(advance, dynamic=False) if variant == "fix" else advance

    def go_on(f):
        after, now = moves(f)
        push.mul_(0.999).add_(now, alpha=0.001)  # cause: launch
        return after

    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: start.copy_(go_on(start)))

    def loop(steps):
        with torch.no_grad():
            for _ in range(steps):
                turn[0] += 1
                if variant == "fix2":
                    graph.replay()
                else:
                    state[0] = go_on(state[0])
                if turn[0] % REPORT_EVERY == 0:
                    told[:] = [push.item()]

    def values():
        return (state[0][1] - state[0][3])[::8, ::8].reshape(-1).tolist()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=values)


run.main(make)
