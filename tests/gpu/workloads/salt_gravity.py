# SPDX-License-Identifier: Apache-2.0
"""PyTorch: domes of salt below ground are found by how little they weigh: gravity was measured at 128 by 128 places, and the
density of 64 by 64 by 16 cells below is what fits best to that, with a penalty on large numbers (damped least squares). It is
found by conjugate gradients, 40 iterations for each of four surveys in turn; a step is one iteration.

Wrong: nothing (gpu-bound); an iteration reads the matrix of 4.3 GB twice, which takes all of the time. What comes of a survey is read when
its last iteration is done.
fix: an iteration is one CUDA graph, which gains nothing (launch-bound).
useless: what comes of surveys is read at the end only.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=40, multiple=40)
torch = fixable.load_torch()

PLACES, ACROSS, LAYERS, SURVEYS, ITERATIONS, BLOCK = 128, 64, 16, 4, 40, 512
CELLS, DAMP, DEEP = ACROSS * ACROSS * LAYERS, 1e-3, 0.35  # the land is 1 by 1; DEEP is how far down the cells go


def middles(count):
    return (torch.arange(count, device="cuda") + 0.5) / count


@functools.cache
def cells():
    """Where the middles of the cells are: (CELLS, 3), the last is how deep."""
    return torch.cartesian_prod(middles(ACROSS), middles(ACROSS), DEEP * middles(LAYERS))


@functools.cache
def pulls():
    """How much each cell pulls down at each place: (PLACES * PLACES, CELLS), scaled."""
    places, at = torch.cartesian_prod(middles(PLACES), middles(PLACES)), cells()
    matrix = torch.empty(PLACES * PLACES, CELLS, device="cuda")
    for begin in range(0, PLACES * PLACES, BLOCK):
        some = places[begin:begin + BLOCK]
        away = (some[:, :1] - at[:, 0]).square_() + (some[:, 1:] - at[:, 1]).square_() + at[:, 2].square()
        torch.div(at[:, 2].sqrt(), away.pow_(1.5), out=matrix[begin:begin + BLOCK])  # deep cells have more weight
    return matrix.mul_(100.0 / torch.linalg.vector_norm(matrix))


def surveys():
    """What was measured over a dome, which is each time somewhere else: (SURVEYS, PLACES * PLACES)."""
    at, measured = cells(), []
    for number in range(SURVEYS):
        middle = torch.tensor([0.35 + 0.1 * number, 0.6 - 0.08 * number, 0.18], device="cuda")
        dome = -torch.exp(-((at - middle) / torch.tensor([0.12, 0.10, 0.08], device="cuda")).square().sum(dim=1))
        clean = torch.mv(pulls(), dome)
        measured.append(clean + 0.01 * clean.std() * torch.randn_like(clean))
    return torch.stack(measured)


def make(variant):
    fixable.seed(torch)
    matrix, measured = pulls(), surveys()
    across = matrix.t()
    density, way = torch.zeros(CELLS, device="cuda"), torch.zeros(CELLS, device="cuda")
    left, steep = torch.zeros(PLACES * PLACES, device="cuda"), torch.zeros((), device="cuda")
    turn, kept, usual = [0], [], [0.0, 0.0]

    def restart(survey):
        density.zero_()
        left.copy_(measured[survey])
        torch.mv(across, left, out=way)
        steep.copy_(torch.dot(way, way))

    def iteration():
        """One iteration in place: the density, what it leaves of the survey, and the way on with its steepness."""
        seen = torch.mv(matrix, way)
        far = steep / (torch.dot(seen, seen) + DAMP * torch.dot(way, way))
        density.addcmul_(way, far)
        left.addcmul_(seen, far, value=-1.0)
        slope = torch.mv(across, left).sub_(density, alpha=DAMP)
        now = torch.dot(slope, slope)
        way.mul_(now / steep).add_(slope)
        steep.copy_(now)

    if variant == "fix":
        restart(0)
        graph, _ = fixable.capture(torch, iteration)

    def outcome():
        """How much of the survey is left, as a share, and how light the lightest cell is."""
        share = torch.linalg.vector_norm(left) / torch.linalg.vector_norm(measured[turn[0] // ITERATIONS % SURVEYS])
        return torch.stack((share, density.min()))

    def read():
        for found in kept:
            for k, number in enumerate(found.tolist()):
                usual[k] += 0.1 * (number - usual[k])
        kept.clear()

    def step():
        if turn[0] % ITERATIONS == 0:
            restart(turn[0] // ITERATIONS % SURVEYS)
        if variant == "fix":
            graph.replay()
        else:
            iteration()
        if turn[0] % ITERATIONS == ITERATIONS - 1:
            kept.append(outcome())
            if variant != "useless":
                read()
        turn[0] += 1

    def wait():
        torch.cuda.synchronize()
        read()

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
