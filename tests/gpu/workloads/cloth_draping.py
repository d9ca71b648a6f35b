# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how a scarf falls upon a ball is computed for a fashion shop's pictures: its points fall, are blown by the wind, and
are moved so that the threads between neighbours keep their length, some threads after the others (position-based dynamics).

Wrong: each group of threads takes a dozen kernels for a few thousand points, which are launched one by one.
fix: what is launched for a picture is one CUDA graph; how fast the cloth moves is read as before (launch-bound).
fix2: how fast it moves is read behind 20 pictures (sync-bound).
useless: how fast it moves is read into pinned memory.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=800, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

SIDE, PICTURE_S, PARTS, ROUNDS, PICTURES = 96, 1.0 / 60.0, 2, 3, 200
APART, DIAGONAL = 2.0 / (SIDE - 1), 2.0 * math.sqrt(2.0) / (SIDE - 1)
RADIUS, DAMPING, GRAVITY = 0.5, 0.995, 9.81


def groups():
    """Pairs of neighbours, so that no point is in two pairs of a group: (rows and columns of one, of the other, distance)."""
    whole, first, second = slice(None), slice(0, SIDE - 1), slice(1, SIDE)
    for odd in range(2):
        one, other = slice(odd, SIDE - 1, 2), slice(odd + 1, SIDE, 2)
        yield (whole, one), (whole, other), APART
        yield (one, whole), (other, whole), APART
        yield (one, first), (other, second), DIAGONAL
        yield (one, second), (other, first), DIAGONAL


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    across = torch.linspace(-1.0, 1.0, SIDE, device="cuda")
    y, x = torch.meshgrid(across, across, indexing="ij")
    flat = torch.stack((x + 0.1, y - 0.05, torch.full_like(x, 0.7)), dim=2)
    points, speed = flat.clone(), torch.zeros_like(flat)
    winds = torch.randn(PICTURES, 3, device="cuda") * torch.tensor([3.0, 3.0, 0.5], device="cuda")
    winds[:, 2] -= GRAVITY
    wind = winds[0].clone()
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    pairs = [(points[one], points[other], apart) for one, other, apart in groups()]
    turn, pending, fastest = [0], [], [0.0]

    def keep_length(one, other, apart):
        """Both points of each pair go half of the way to where they have the right distance."""
        between = other - one  # cause: launch
        length = between.square().sum(dim=2, keepdim=True).sqrt().clamp(min=1e-6)  # cause: launch
        between *= 0.5 - 0.5 * apart / length  # cause: launch
        one += between  # cause: launch
        other -= between  # cause: launch

    def keep_outside():
        """What is in the ball comes to its surface."""
        far = points.square().sum(dim=2, keepdim=True).sqrt().clamp(min=1e-6)  # cause: launch
        points.mul_((RADIUS / far).clamp(min=1.0))  # cause: launch

    def picture():
        time = PICTURE_S / PARTS
        for _ in range(PARTS):
            speed.mul_(DAMPING).add_(wind, alpha=time)  # cause: launch
            before = points.clone()  # cause: launch
            points.add_(speed, alpha=time)  # cause: launch
            for _ in range(ROUNDS):
                for one, other, apart in pairs:
                    keep_length(one, other, apart)  # cause: launch
                keep_outside()  # cause: launch
            speed.copy_((points - before) / time)  # cause: launch
        return speed.square().sum(dim=2).max().sqrt()  # cause: launch

    if variant == "fix":
        graph, given = fixable.capture(torch, picture)
        points.copy_(flat)
        speed.zero_()

    def note(moved):
        fastest[0] += 0.05 * (moved - fastest[0])

    @torch.no_grad()
    def step():
        if turn[0] % PICTURES == 0:  # the next scarf
            points.copy_(flat)
            speed.zero_()
        wind.copy_(winds[turn[0] % PICTURES])
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            note(given.item())
            return
        moved = picture()  # cause: launch
        if variant == "fix2":
            pending.append(moved)
            if turn[0] % LOOK_EVERY == 0:
                for one in torch.stack(pending).tolist():
                    note(one)
                pending.clear()
        elif variant == "useless":
            landing.copy_(moved, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            note(landing.item())
        else:
            note(moved.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: fastest + fixable.sample_of(torch, points[::16, ::16]))


run.main(make)
