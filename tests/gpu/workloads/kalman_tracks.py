# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a Kalman filter follows 1024 objects at once; prediction, gate and correction are written as the textbook has them.

Wrong: some sixty operations on tiny matrices for each measurement, which Python launches slower than they run.
fix: a measurement's work is one CUDA graph (launch-bound).
useless: the places found come to the host by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=6400, warm_up=64, multiple=32)
torch = fixable.load_torch()

TRACKS, TIMES, REPORT_EVERY, TICK, GATE = 1024, 64, 32, 0.1, 9.2


def motion(device):
    """How a state (place and speed, of two dimensions) goes on, what is seen of it, and how far both are off."""
    go_on = torch.eye(4, device=device)
    go_on[0, 2] = go_on[1, 3] = TICK
    see = torch.eye(4, device=device)[:2].contiguous()
    half, whole = 0.5 * TICK * TICK, TICK
    push = torch.tensor([[half, 0.0], [0.0, half], [whole, 0.0], [0.0, whole]], device=device)
    return go_on, see, 0.5 * push @ push.T, 0.04 * torch.eye(2, device=device)


def measurements():
    """Objects that go round in circles, each of its own size and speed."""
    chance = torch.Generator().manual_seed(20)

    def some(low, high):
        return low + (high - low) * torch.rand(TRACKS, generator=chance)

    size, begin = some(1.0, 5.0), some(0.0, 6.28)
    angle = begin + 2.0 * torch.pi / TIMES * torch.arange(TIMES).unsqueeze(1)
    places = torch.stack([size * torch.cos(angle), size * torch.sin(angle)], dim=-1)
    return places + 0.2 * torch.randn(places.shape, generator=chance)


def inverse(m):
    """Of matrices of two rows."""
    a, b, c, d = m[:, 0, 0], m[:, 0, 1], m[:, 1, 0], m[:, 1, 1]
    top = torch.stack([d, -b], dim=-1)  # cause: launch
    bottom = torch.stack([-c, a], dim=-1)  # cause: launch
    return torch.stack([top, bottom], dim=-2) / (a * d - b * c).view(-1, 1, 1)  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    seen = measurements().cuda()
    go_on, see, push, noise = motion("cuda")
    one = torch.eye(4, device="cuda")
    x = torch.cat([seen[0], torch.zeros_like(seen[0])], dim=1).unsqueeze(-1)
    spread = torch.eye(4, device="cuda").repeat(TRACKS, 1, 1)
    missed = torch.zeros(TRACKS, device="cuda")
    now = seen[0].clone()
    landing = torch.empty(TRACKS, 2).pin_memory() if variant == "useless" else None
    turn, told = [0], []

    def update(z):
        guess = go_on @ x  # cause: launch
        wide = go_on @ spread @ go_on.T + push  # cause: launch
        off = z.unsqueeze(-1) - see @ guess  # cause: launch
        weight = inverse(see @ wide @ see.T + noise)  # cause: launch
        far = (off.transpose(1, 2) @ weight @ off).view(-1)  # cause: launch
        good = (far < GATE).float()  # cause: launch
        gain = wide @ see.T @ weight * good.view(-1, 1, 1)  # cause: launch
        keep = one - gain @ see  # cause: launch
        x.copy_(guess + gain @ off)  # cause: launch
        after = keep @ wide @ keep.transpose(1, 2) + gain @ noise @ gain.transpose(1, 2)  # cause: launch
        spread.copy_(0.5 * (after + after.transpose(1, 2)))  # cause: launch
        missed.mul_(0.95).add_(1.0 - good)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, lambda: update(now))

    def report():
        if variant == "useless":
            landing.copy_(x[:, :2, 0], non_blocking=True)
            torch.cuda.current_stream().synchronize()
            told[:] = landing[:256].reshape(-1).tolist()
        else:
            told[:] = x[:, :2, 0].cpu()[:256].reshape(-1).tolist()

    def loop(steps):
        with torch.no_grad():
            for _ in range(steps):
                z = seen[turn[0] % TIMES]
                turn[0] += 1
                if variant == "fix":
                    now.copy_(z)
                    graph.replay()
                else:
                    update(z)
                if turn[0] % REPORT_EVERY == 0:
                    report()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(told))


run.main(make)
