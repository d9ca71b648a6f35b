# SPDX-License-Identifier: Apache-2.0
"""PyTorch: one network learns four things at once from how machines shake: load, wear, heat, and what kind of fault they have;
where the gradients of two of them work against each other, one is projected ("gradient surgery").

Wrong: an `if` asks for each pair whether it is so, and waits for the GPU; the next windows are cut only after that.
fix: what is taken away is clamped to nothing where the two agree, on the device (sync-bound).
fix2: the windows are cut before the loop; the `if` is still there (host-bound).
useless: fused=True for the optimizer.
"""
import random as chance

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=6)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

MACHINES, TIMES, LENGTH, BATCH, WIDTH, LAYERS, INNER, FAULTS, AHEAD, LOOK_EVERY = 200, 20000, 320, 3072, 1024, 5, 512, 8, 24, 25


def recorded(random):
    """How machines shake: each has two tones of its own, and noise."""
    time = numpy.arange(TIMES, dtype=numpy.float32)
    tones = random.uniform(0.01, 0.5, (2, MACHINES, 1)).astype(numpy.float32)
    found = numpy.sin(tones[0] * time) + 0.5 * numpy.sin(tones[1] * time)
    return found + 0.3 * random.standard_normal((MACHINES, TIMES), dtype=numpy.float32)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        parts, before = [], LENGTH
        for _ in range(LAYERS):
            parts += [nn.Linear(before, WIDTH), nn.ReLU()]
            before = WIDTH
        self.body = nn.Sequential(*parts)
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, INNER), nn.ReLU(), nn.Linear(INNER, after))
                                   for after in (1, 1, 1, FAULTS))


def make(variant):
    fixable.seed(torch)
    random, dice = numpy.random.default_rng(20), chance.Random(20)
    windows = numpy.lib.stride_tricks.sliding_window_view(recorded(random), LENGTH, axis=1)
    goals = torch.randn(MACHINES, 3, device="cuda")
    faults = torch.randint(0, FAULTS, (MACHINES,), device="cuda")
    model = Network().cuda().train()
    shared = list(model.body.parameters())
    sizes = [p.numel() for p in shared]
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True if variant == "useless" else None)
    turn, seen = [0], []

    def batch():
        """Windows of some machines, each brought to mean 0 and deviation 1, then made a little louder or softer."""
        which, start = random.integers(0, MACHINES, BATCH), random.integers(0, TIMES - LENGTH, BATCH)
        cut = windows[which, start]
        cut -= cut.mean(axis=1, keepdims=True)
        cut /= cut.std(axis=1, keepdims=True) + 1e-3
        cut *= random.uniform(0.8, 1.2, (BATCH, 1)).astype(numpy.float32)
        return torch.from_numpy(cut).pin_memory(), torch.from_numpy(which).pin_memory()

    ready = [batch() for _ in range(AHEAD)] if variant == "fix2" else []

    def without_conflicts(gradients):
        """The sum of all tasks' gradients, each without what works against one of the others."""
        squares, total = [torch.dot(g, g) for g in gradients], torch.zeros_like(gradients[0])
        for number, gradient in enumerate(gradients):
            mine = gradient.clone()
            others = [at for at in range(len(gradients)) if at != number]
            dice.shuffle(others)
            for at in others:
                product = torch.dot(mine, gradients[at])
                if variant == "fix":
                    mine -= product.clamp(max=0.0) / squares[at] * gradients[at]
                elif product < 0.0:  # cause: wait
                    mine -= product / squares[at] * gradients[at]
            total += mine
        return total

    def losses_of(x, which):
        y, goal = model.body(x), goals[which]
        load, wear, heat, fault = (head(y) for head in model.heads)
        return [F.mse_loss(load[:, 0], goal[:, 0]), F.mse_loss(wear[:, 0], goal[:, 1]), F.smooth_l1_loss(heat[:, 0], goal[:, 2]),
                F.cross_entropy(fault, faults[which])]

    def step():
        turn[0] += 1
        x, which = (part.to("cuda", non_blocking=True) for part in (ready[turn[0] % AHEAD] if ready else batch()))
        losses, gradients = losses_of(x, which), []
        for head, loss in zip(model.heads, losses):
            own = list(head.parameters())
            found = torch.autograd.grad(loss, shared + own, retain_graph=True)
            gradients.append(torch.cat([g.reshape(-1) for g in found[:len(shared)]]))
            for p, g in zip(own, found[len(shared):]):
                p.grad = g
        for p, part in zip(shared, without_conflicts(gradients).split(sizes)):
            p.grad = part.view_as(p)
        optimizer.step()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = torch.stack(losses).detach().tolist()

    def values():
        return seen + [p.detach().abs().mean().item() for p in model.parameters()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
