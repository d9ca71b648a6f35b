# SPDX-License-Identifier: Apache-2.0
"""PyTorch: pots of clay dry on their shelf before they are fired, in a box of 320 by 320 by 320 cells. Water moves from wet clay to
dry clay, and the wetter the clay is, the easier it moves; it leaves where clay touches the air, faster in the draught. A pot
cracks where its clay has become much drier, or stays much wetter, than the rest of its upright line of cells, so for each cell
the largest difference is kept. A step is a minute.

Wrong: the memory of a step is given back by empty_cache() when the step is done, since pictures are drawn by another program at
times, and each step gets nine arrays of 131 MB, and a smaller one, from the driver anew.
fix: the memory is kept for the next step (alloc-bound).
useless: the notes, which are read once in 25 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=360, warm_up=12)
torch = fixable.load_torch()

SIZE, POTS, SHOWN = 320, 4, 25  # cells; pots on each side of the shelf
FRESH, STEEP, MOVES, LEAVES, CRACKS = 0.25, 6.0, 0.012, 0.01, 0.03  # water in fresh clay; how water moves; what cracks


def shelf():
    """1 where there is clay, else 0: bowls of different walls in rows, (up, back, right)."""
    span = torch.arange(SIZE, device="cuda").float()
    side = SIZE / POTS
    back, right = ((span + 0.5) % side - 0.5 * side)[:, None], (span + 0.5) % side - 0.5 * side
    pot = (span // side)[:, None] * POTS + span // side
    apart = (back.square() + right.square()).sqrt()
    wall = 0.05 * side + 0.006 * side * pot
    up = span[:, None, None] / SIZE
    outside = side * (0.3 + 0.12 * up)
    inside = (apart > outside - wall) | (up < 0.15)
    return ((apart < outside) & inside & (up > 0.05) & (up < 0.9)).float()


def make(variant):
    fixable.seed(torch)
    clay = shelf()
    joined = [clay.narrow(axis, 0, SIZE - 1) * clay.narrow(axis, 1, SIZE - 1) for axis in range(3)]  # 1 where clay touches clay
    bare = 6.0 * clay
    for axis, both in enumerate(joined):
        bare.narrow(axis, 0, SIZE - 1).sub_(both)
        bare.narrow(axis, 1, SIZE - 1).sub_(both)
    draught = torch.linspace(0.5, 1.5, SIZE, device="cuda")
    leaves = bare.mul_(draught).mul_(LEAVES * clay)
    wet, worst = FRESH * clay, torch.zeros_like(clay)
    cells, share = float(clay.sum()), 1.0 / clay.sum(dim=0).clamp_(min=1.0)
    at_air = (leaves > 0.0).float()  # where cracks begin
    usual = torch.zeros(3, device="cuda")
    landing = torch.empty(3, pin_memory=True) if variant == "useless" else None
    del clay
    turn, told = [0], []
    torch.cuda.empty_cache()

    def pairs(values, axis):
        """Each cell but the last one along an axis, and the cell next to it."""
        return values.narrow(axis, 0, SIZE - 1), values.narrow(axis, 1, SIZE - 1)

    def minute():
        """Moves the water, and notes how much is left, and what may crack."""
        eased = torch.exp(STEEP * wet)  # cause: alloc
        eases = [torch.add(*pairs(eased, axis)) for axis in range(3)]  # cause: alloc
        flows = [torch.sub(*pairs(wet, axis)).mul_(eases[axis]).mul_(joined[axis]) for axis in range(3)]  # cause: alloc
        for axis, moved in enumerate(flows):
            cell, beside = pairs(wet, axis)
            cell.sub_(moved, alpha=MOVES)
            beside.add_(moved, alpha=MOVES)
        dried = wet * leaves  # cause: alloc
        wet.sub_(dried)
        uneven = (wet - wet.sum(dim=0) * share).mul_(at_air).abs_()  # cause: alloc
        torch.maximum(worst, uneven, out=worst)
        seen = torch.stack((wet.sum() / cells, worst.max(), (worst > CRACKS).sum() / cells))  # cause: alloc
        usual.lerp_(seen, 0.05)

    def step():
        minute()  # cause: alloc
        if variant != "fix":
            torch.cuda.empty_cache()  # cause: wait,alloc
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append((usual if landing is None else landing.copy_(usual)).tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist() + fixable.sample_of(torch, wet.sum(dim=(1, 2))))


run.main(make)
