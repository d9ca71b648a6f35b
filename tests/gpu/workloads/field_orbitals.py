# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how a molecule gives way to an electric field: its orbitals go down the gradient of the energy (Hartree and Fock,
in double precision) at one strength of the field after the other; what the electrons do to each other is kept as a table of
three indices (density fitting).

Wrong: the exchange is made of the density matrix, which knows 320 functions, where 32 orbitals say the same; its two products are
most of a step, and the GPU is at work throughout (gpu-bound).
fix: the exchange is made of the orbitals (gpu-bound).
useless: the energy is read every 20 steps instead of at each one.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=4)
torch = fixable.load_torch()

FUNCTIONS, FITTED, ORBITALS, FIELDS, AT_ONE, RATE = 320, 1200, 32, 5, 50, 0.03


def molecule():
    """The table of three indices, what an electron has alone, and the dipole: a chain of functions that fall off."""
    place = torch.linspace(0.0, 40.0, FUNCTIONS, dtype=torch.float64, device="cuda")
    near = torch.exp(-0.5 * (place.unsqueeze(0) - place.unsqueeze(1)).square())
    table = torch.empty(FITTED, FUNCTIONS, FUNCTIONS, dtype=torch.float64, device="cuda")
    centres = torch.linspace(0.0, 40.0, FITTED, dtype=torch.float64, device="cuda")
    middle = 0.5 * (place.unsqueeze(0) + place.unsqueeze(1))
    for number, centre in enumerate(centres):
        table[number] = 0.08 * near * torch.exp(-0.3 * (middle - centre).square())
    alone = torch.diag(0.05 * torch.arange(FUNCTIONS, dtype=torch.float64, device="cuda")) - 1.5 * near
    return table, alone, torch.diag(place - 20.0)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    table, alone, dipole = molecule()
    flat = table.view(FITTED, -1)
    fields = torch.linspace(-0.01, 0.01, FIELDS).tolist()
    orbitals = torch.linalg.eigh(alone)[1][:, :ORBITALS].contiguous()
    energy, bent = torch.zeros((), dtype=torch.float64, device="cuda"), torch.zeros(FIELDS, dtype=torch.float64, device="cuda")
    look_every, turn, seen = 20 if variant == "useless" else 1, [0], []

    def coulomb(density):
        return ((flat @ density.reshape(-1)) @ flat).view(FUNCTIONS, FUNCTIONS)

    def exchange(density):
        half = torch.matmul(density, table).view(-1, FUNCTIONS)
        return half.t() @ table.view(-1, FUNCTIONS)

    def exchange_of(orbitals):
        half = torch.matmul(orbitals.t(), table).view(-1, FUNCTIONS)
        return half.t() @ half

    def orthogonal(orbitals):
        lower, _ = torch.linalg.cholesky_ex(orbitals.t() @ orbitals)
        return torch.linalg.solve_triangular(lower, orbitals.t(), upper=False).t()

    @torch.no_grad()
    def step():
        at = turn[0] // AT_ONE % FIELDS
        turn[0] += 1
        density = orbitals @ orbitals.t()
        single = alone + fields[at] * dipole
        fock = single + 2.0 * coulomb(density) - (exchange_of(orbitals) if variant == "fix" else exchange(density))
        energy.copy_((density * (single + fock)).sum())
        bent[at] = (density * dipole).sum()
        slope = fock @ orbitals
        slope -= orbitals @ (orbitals.t() @ slope)
        orbitals.copy_(orthogonal(orbitals - RATE * slope))
        if turn[0] % look_every == 0:
            seen[:] = [energy.item()]

    def values():
        return [energy.item()] + bent.tolist() + torch.diagonal(orbitals @ orbitals.t()).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
