# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the shaft of a pump turns in a plain bearing on a film of oil, and its load goes round with it. For each place of the
shaft the pressure of the film is found from Reynolds' equation on 1536 by 2048 cells, from the pressure of the place before:
forty sweeps of Jacobi's method over the four neighbours of a cell, and where the oil would have to pull there is no pressure.
What force the film bears, and in which direction, is noted for each place.

Wrong: after each sweep the host reads by how much the pressure has changed at most, and how high it is at most, to stop where it
changes no more, which never happens; the GPU has nothing to do until the next sweep comes.
fix: both numbers are told as before, but stay on the device, and it always makes forty sweeps (sync-bound).
fix2: a sweep is one CUDA graph, and the two numbers are read as before (launch-bound).
useless: the difference of two pressures is in an array that is made once.
"""
import collections
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
torch = fixable.load_torch()

ALONG, AROUND, PLACES, SWEEPS, OFF, EVEN, MOVED, READ = 1536, 2048, 36, 40, 0.7, 1e-7, 0.9, 20
WIDTH = 0.8  # of the bearing, by the length around it


def film(place):
    """What flows into cells from the west, the east and each side by a difference of pressure of one, what the shaft draws in, and
    what all flows are to be multiplied with; for a place of the shaft."""
    ones = torch.ones(ALONG, 1, device="cuda")
    edges = 2.0 * math.pi * ((torch.arange(AROUND + 1, device="cuda") - 0.5) / AROUND - place / PLACES)
    cubes = (1.0 + OFF * torch.cos(edges)) ** 3
    west, east = ones * cubes[:-1], ones * cubes[1:]
    side = 0.5 * (west + east) * (AROUND * WIDTH / ALONG) ** -2.0
    drawn = ones * 0.005 * OFF * torch.sin(edges[:-1] + math.pi / AROUND)
    return torch.stack((west, east, side, drawn, 1.0 / (west + east + 2.0 * side)))


def make(variant):
    fixable.seed(torch)
    films = [film(place) for place in range(PLACES)]
    now = films[0].clone()
    from_west, from_east, from_side, drawn, share = now
    padded = torch.zeros(ALONG + 2, AROUND + 2, device="cuda")  # a cell more at each side: oil comes in along the shaft's ends
    inner, west, east = padded[1:-1, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]
    front, back = padded[:-2, 1:-1], padded[2:, 1:-1]
    first, last, before_first, behind_last = padded[:, 1], padded[:, -2], padded[:, 0], padded[:, -1]
    new = torch.zeros(ALONG, AROUND, device="cuda")
    apart = torch.zeros_like(new) if variant == "useless" else None
    angles = 2.0 * math.pi * torch.arange(AROUND, device="cuda") / AROUND
    ways = torch.stack((torch.cos(angles), torch.sin(angles)), dim=1)
    forces = torch.zeros(PLACES, 2, device="cuda")
    turn, told, seen = [0], [], collections.deque(maxlen=SWEEPS)

    def sweep():
        """The next pressure; how much it has changed at most."""
        torch.mul(from_west, west, out=new)
        new.addcmul_(from_east, east).addcmul_(from_side, front).addcmul_(from_side, back)
        new.add_(drawn).mul_(share).clamp_(min=0.0)
        changed = torch.sub(new, inner, out=apart).abs_().amax()
        inner.lerp_(new, MOVED)
        before_first.copy_(last)
        behind_last.copy_(first)
        return changed

    if variant == "fix2":
        graph, moved = fixable.capture(torch, sweep)
        padded.zero_()

    def settle():
        for _ in range(SWEEPS):
            if variant == "fix2":
                graph.replay()
                changed = moved
            else:
                changed = sweep()
            if variant == "fix":
                seen.append((changed, padded.amax()))
            elif changed.item() <= EVEN * padded.amax().item():  # cause: wait,copy
                break

    def step():
        place = turn[0] % PLACES
        turn[0] += 1
        now.copy_(films[place])
        settle()  # cause: wait,copy
        torch.mv(ways.t(), inner.sum(dim=0), out=forces[place])
        if turn[0] % READ == 0:
            told[:] = forces[place].tolist()

    def values():
        """How large the force is at each place, by cell, and some pressures."""
        return (forces.norm(dim=1) / (ALONG * AROUND)).tolist() + fixable.sample_of(torch, inner[ALONG // 2, ::32])

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
