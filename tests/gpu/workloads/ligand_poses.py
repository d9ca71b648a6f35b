# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how a drug may lie in the pocket of a protein is looked for from many starts at once: each pose is moved, turned, and
twisted at its eight bonds down the slope of its energy (docking). A pose that makes no headway any more starts anew.

Wrong: each bond turns the atoms behind it by a dozen operations on a few numbers, all of which come back in the backward pass;
whether a pose is stuck is asked by bool() behind each step.
fix: the energy, its slope and the step down it are one CUDA graph; the question is still asked (launch-bound).
fix2: nobody asks, the poses that are stuck are replaced by torch.where in each step (sync-bound).
fix3: all eight bonds turn their atoms at once, each about where its axis was before the other ones turned (launch-bound).
useless: what the best poses are is written to tensors that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20)
torch = fixable.load_torch()
F = torch.nn.functional

POSES, ATOMS, BONDS, POCKET, SIZE, LOOK_EVERY = 96, 32, 8, 384, 9.0, 20
RATE, PATIENCE, HEADWAY, FAR = 0.02, 150, 1e-3, 12.0


def molecules():
    """(atoms of the drug, its charges, ends of its bonds, who turns with which bond, atoms of the pocket, their charges)."""
    chain = torch.cumsum(F.normalize(torch.randn(ATOMS, 3) + torch.tensor([1.5, 0.0, 0.0]), dim=1) * 1.5, dim=0)
    at = torch.arange(BONDS) * (ATOMS // BONDS - 1) + 3
    behind = (torch.arange(ATOMS) > at[:, None] + 1).float()
    pocket = F.normalize(torch.randn(POCKET, 3), dim=1) * (SIZE + 3.0 * torch.rand(POCKET, 1))
    parts = chain - chain.mean(dim=0), 0.3 * torch.randn(ATOMS), at, behind, pocket, 0.3 * torch.randn(POCKET)
    return [part.cuda() for part in parts]


def rotated(points, axis, angle):
    """Points (poses, atoms, 3) turned about an axis (poses, 1, 3) by the formula of Rodrigues."""
    cosine, sine = torch.cos(angle)[:, None, None], torch.sin(angle)[:, None, None]  # cause: launch
    across = torch.linalg.cross(axis.expand_as(points), points, dim=2)  # cause: launch
    along = (axis * points).sum(dim=2, keepdim=True) * axis  # cause: launch
    return points * cosine + across * sine + along * (1.0 - cosine)  # cause: launch


def twisted(points, ends, behind, angles):
    """The bonds turn what is behind them, one after the other."""
    for bond in range(BONDS):
        start, end = points[:, ends[bond], None], points[:, ends[bond] + 1, None]
        axis = F.normalize(end - start, dim=2)  # cause: launch
        turned = rotated(points - start, axis, angles[:, bond]) + start  # cause: launch
        points = torch.lerp(points, turned, behind[bond, :, None])  # cause: launch
    return points


def twisted_at_once(points, at, behind, angles):
    """A matrix for each bond; an atom goes along with the sum of their moves."""
    start, end = points[:, at], points[:, at + 1]
    axis = F.normalize(end - start, dim=2)[:, :, None]
    arms = points[:, None] - start[:, :, None]
    cosine, sine = torch.cos(angles)[:, :, None, None], torch.sin(angles)[:, :, None, None]
    across = torch.linalg.cross(axis.expand_as(arms), arms, dim=3)
    along = (axis * arms).sum(dim=3, keepdim=True) * axis
    moves = arms * (cosine - 1.0) + across * sine + along * (1.0 - cosine)
    return points + (moves * behind[:, :, None]).sum(dim=1)


def make(variant):
    fixable.seed(torch)
    drug, drug_charges, at, behind, pocket, pocket_charges = molecules()
    ends = at.tolist()
    shift = (2.0 * torch.randn(POSES, 3, device="cuda")).requires_grad_()
    turn = torch.randn(POSES, 4, device="cuda").requires_grad_()
    angles = torch.randn(POSES, BONDS, device="cuda").requires_grad_()
    places = [shift, turn, angles]
    optimizer = torch.optim.Adam(places, lr=RATE, fused=True, capturable=variant == "fix")
    charges = 332.0 / 4.0 * drug_charges[:, None] * pocket_charges
    own = torch.triu(torch.ones(ATOMS, ATOMS, device="cuda"), diagonal=4)
    best = [torch.full((POSES,), 1e9, device="cuda"), *(p.detach().clone() for p in places)]
    lowest, calm = torch.full((POSES,), 1e9, device="cuda"), torch.zeros(POSES, device="cuda")
    done, anew, seen = [0], [0], []

    def lennard_jones(squares, radius):
        near = radius * radius / squares.clamp(min=1.0)  # cause: launch
        sixth = near * near * near  # cause: launch
        return sixth * sixth - 2.0 * sixth  # cause: launch

    def energy():
        """Of each pose: in the pocket, and with itself."""
        start = drug.expand(POSES, ATOMS, 3)
        if variant == "fix3":
            points = twisted_at_once(start, at, behind, angles)
        else:
            points = twisted(start, ends, behind, angles)  # cause: launch
        w, x, y, z = F.normalize(turn, dim=1).unbind(dim=1)  # cause: launch
        rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),  # cause: launch
                2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),  # cause: launch
                2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]  # cause: launch
        points = points @ torch.stack(rows, dim=1).view(POSES, 3, 3).transpose(1, 2) + shift[:, None]  # cause: launch
        apart = (points[:, :, None] - pocket).square().sum(dim=3)  # cause: launch
        inside = (points[:, :, None] - points[:, None]).square().sum(dim=3)  # cause: launch
        meets = lennard_jones(apart, 3.5) + charges / (apart + 1.0)  # cause: launch
        folds = lennard_jones(inside, 3.0) * own  # cause: launch
        away = F.relu(points.norm(dim=2) - FAR).square()  # cause: launch
        return meets.sum(dim=(1, 2)) + folds.sum(dim=(1, 2)) + away.sum(dim=1)  # cause: launch

    def descend():
        optimizer.zero_grad()
        now = energy()  # cause: launch
        now.sum().backward()  # cause: launch
        torch.nn.utils.clip_grad_value_(places, 5.0)  # cause: launch
        optimizer.step()
        return now.detach()

    if variant == "fix":
        graph, captured = fixable.capture(torch, descend, before=optimizer.zero_grad)

    @torch.no_grad()
    def keep(now):
        """Remembers the best pose of each start, and for how long it was no better."""
        better = now < best[0]
        rooms = best if variant == "useless" else [None] * len(best)
        for k, (new, old) in enumerate(zip([now, *places], best)):
            where = better.view(-1, *[1] * (new.dim() - 1))
            best[k] = torch.where(where, new, old, out=rooms[k]) if variant == "useless" else torch.where(where, new, old)
        onward = now < lowest - HEADWAY
        lowest.copy_(torch.minimum(lowest, now))
        calm.add_(1.0).masked_fill_(onward, 0.0)

    @torch.no_grad()
    def start_again(stuck):
        for place, wide in zip(places, (2.0, 1.0, 1.0)):
            place.copy_(torch.where(stuck[:, None], wide * torch.randn_like(place), place))
        lowest.masked_fill_(stuck, 1e9)
        calm.masked_fill_(stuck, 0.0)

    def step():
        if variant == "fix":
            graph.replay()
            now = captured
        else:
            now = descend()  # cause: launch
        keep(now)
        done[0] += 1
        stuck = calm >= PATIENCE
        if variant == "fix2":
            start_again(stuck)
        elif bool(stuck.any()):
            start_again(stuck)
            anew[0] += 1
        if done[0] % LOOK_EVERY == 0:
            seen[:] = [best[0].min().item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [best[0].median().item(), best[0].min().item()])


run.main(make)
