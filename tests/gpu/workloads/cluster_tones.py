# SPDX-License-Identifier: Apache-2.0
"""PyTorch: shapes of a cluster of 20 argon atoms are looked for in which no force is left: the stable ones, and the passes
between them. Only the energy is written down; autograd gives the forces, and how these change (the Hessian), and a damped
Gauss-Newton step makes the forces smaller.

Wrong: the Hessian is made row by row, as autograd.grad gives one row at a time: 60 times some tens of tiny kernels.
fix: all rows come at once by is_grads_batched, from as many kernels as one row needs (launch-bound).
fix2: the energy, the forces and all rows are one CUDA graph (launch-bound).
useless: energies are read every 30 steps instead of every 10.
"""
import fixable

LOOK_EVERY, LOOK_SELDOM = 10, 30

run = fixable.Program(__doc__, steps=180, warm_up=LOOK_SELDOM, multiple=LOOK_SELDOM)
torch = fixable.load_torch()

ATOMS, STARTS, TRIED, APART, DAMPING, FARTHEST = 20, 12, 30, 1.13, 30.0, 0.08
NUMBERS = 3 * ATOMS


def starts():
    """Places that the search begins at: cut out of a crystal, and shaken: (STARTS, ATOMS, 3)."""
    along = torch.arange(3, dtype=torch.float64) * APART
    crystal = torch.cartesian_prod(along, along, along)
    for _ in range(STARTS):
        yield crystal[torch.randperm(len(crystal))[:ATOMS]] + 0.08 * torch.randn(ATOMS, 3, dtype=torch.float64)


def make(variant):
    fixable.seed(torch)
    begins = torch.stack(list(starts())).cuda()
    nobody = 1e4 * torch.eye(ATOMS, dtype=torch.float64, device="cuda")  # an atom is far from itself
    units = torch.eye(NUMBERS, dtype=torch.float64, device="cuda")
    damped = DAMPING ** 2 * units
    places = begins[0].clone()
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY
    turn, pending, usual = [0], [], [0.0, 0.0]

    def energy(x):
        """By Lennard-Jones, in units of the depth of a pair."""
        between = x.unsqueeze(1) - x.unsqueeze(0)
        near = 1.0 / ((between * between).sum(dim=-1) + nobody)
        sixth = near * near * near
        return 2.0 * (sixth * sixth - sixth).sum()

    def rows_of(slopes, x):
        if variant == "fix":
            some = units.view(NUMBERS, ATOMS, 3)
            return torch.autograd.grad(slopes, x, grad_outputs=some, is_grads_batched=True)[0].reshape(NUMBERS, NUMBERS)
        flat, found = slopes.reshape(-1), []
        for number in range(NUMBERS):
            row, = torch.autograd.grad(flat[number], x, retain_graph=True)  # cause: launch
            found.append(row.reshape(-1))
        return torch.stack(found)

    def stiffness():
        """The energy, its slopes, and the slopes of these."""
        x = places.detach().requires_grad_()
        costs = energy(x)
        slopes, = torch.autograd.grad(costs, x, create_graph=True)
        return costs.detach(), slopes.detach(), rows_of(slopes, x)  # cause: launch

    if variant == "fix2":
        graph, given = fixable.capture(torch, stiffness)

    def known():
        if variant == "fix2":
            graph.replay()
            return given
        return stiffness()  # cause: launch

    @torch.no_grad()
    def go_on(slopes, hessian):
        down = hessian @ slopes.reshape(-1, 1)
        factor, _ = torch.linalg.cholesky_ex(hessian @ hessian + damped)
        way = torch.cholesky_solve(down, factor)
        places.sub_(way.clamp_(-FARTHEST, FARTHEST).view(ATOMS, 3))

    def look():
        """The energy of an atom, and how strong the forces are, as they usually are."""
        rows = torch.stack(pending).tolist()
        for start in range(0, len(rows), LOOK_EVERY):
            energies, forces = [sum(column) / LOOK_EVERY for column in zip(*rows[start:start + LOOK_EVERY])]
            usual[0] += 0.2 * (energies / ATOMS - usual[0])
            usual[1] += 0.2 * (forces - usual[1])
        pending.clear()

    def step():
        if turn[0] % TRIED == 0:
            places.copy_(begins[turn[0] // TRIED % STARTS])
        costs, slopes, hessian = known()  # cause: launch
        pending.append(torch.stack((costs, torch.log1p(slopes.square().mean()))))
        go_on(slopes, hessian)
        turn[0] += 1
        if turn[0] % look_every == 0:
            look()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
