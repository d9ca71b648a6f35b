# SPDX-License-Identifier: Apache-2.0
"""PyTorch: satellites measure the height of the sea along their tracks; a map of it, which tells the currents, is the smooth
one that comes nearest to what was measured on a day. It is found by L-BFGS with a memory of ten steps, in 30 iterations a day.

Wrong: each of the 21 products of two vectors in an iteration is read by .item(), and only then the next vector is added; costs,
slope and curvature are read one by one as well.
fix: the products stay on the device, where vectors are multiplied by them; what tells how far to go is read once (sync-bound).
fix2: all products of the remembered vectors are one matrix product, which is read once; the rest is numbers (sync-bound).
fix3: what a map costs, some thirty kernels, is a CUDA graph for each day; all is read as before (launch-bound).
useless: the direction is computed in a vector that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=110, warm_up=6)
torch, numpy = fixable.load_torch("numpy")
F = torch.nn.functional

HEIGHT, WIDTH, DAYS, ITERATIONS, MEMORY, PARTS = 768, 1024, 3, 30, 10, 192
BEND, STRETCH, FIRST, ENOUGH = 0.5, 0.05, 0.02, 1e-4  # the costs are convex
PLACES = HEIGHT * WIDTH


def days():
    """What was measured, and where: tracks that cross each other, over whirls of the sea; some numbers are far off."""
    y, x = torch.arange(HEIGHT, device="cuda").float()[:, None], torch.arange(WIDTH, device="cuda").float()
    for _ in range(DAYS):
        sea = torch.zeros(HEIGHT, WIDTH, device="cuda")
        for down, right, wide, high in torch.rand(60, 4).tolist():
            far = (y - down * HEIGHT).square() + (x - right * WIDTH).square()
            sea += (4.0 * high - 2.0) * torch.exp(-far / (20.0 + 50.0 * wide) ** 2)
        up, over = (x + 0.4 * y + 90.0 * torch.rand(1, device="cuda")) % 90.0, (x - 0.4 * y) % 70.0
        there = ((up < 2.0) | (over < 2.0)).float()
        sea += 0.1 * torch.randn_like(sea) + 5.0 * (torch.rand_like(sea) < 0.01).float()
        yield sea * there, there


def curvature(field):
    wide = F.pad(field[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return torch.sub(around, field, alpha=4.0)


def costs_of(flat, day):
    field, (measured, there) = flat.view(HEIGHT, WIDTH), day
    off, bent = field - measured, curvature(field)
    root = (off.square() + 1.0).sqrt()
    costs = (there * (root - 1.0)).sum() + 0.5 * BEND * bent.square().sum() - 0.5 * STRETCH * (field * bent).sum()
    gradient = there * off / root + BEND * curvature(bent) - STRETCH * bent
    return costs, gradient.view(-1)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    measured, turn, usual, once = list(days()), [0], [0.0, 0.0], variant in ("fix", "fix2")
    room = torch.empty(PLACES, device="cuda") if variant == "useless" else None
    rows = torch.zeros(2 * MEMORY + 1, PLACES, device="cuda") if variant == "fix2" else None
    asked = torch.zeros(PLACES, device="cuda")
    graphs = [fixable.capture(torch, lambda day=day: costs_of(asked, day)) for day in measured] if variant == "fix3" else None

    def product(one, other):
        both = torch.dot(one, other)
        return both if variant == "fix" else both.item()  # cause: wait,copy

    def add(way, vector, share, sign):
        return way.addcmul_(vector, share, value=sign) if variant == "fix" else way.add_(vector, alpha=sign * share)

    def two_loops(gradient, past):
        """Each of `past` is a step, the change of the gradient, and one by their product."""
        way, shares = gradient.clone() if room is None else room.copy_(gradient), []
        for step, change, inverse in reversed(past):
            shares.append(inverse * product(step, way))  # cause: wait,copy
            add(way, change, shares[-1], -1.0)
        _, change, inverse = past[-1]
        way.mul_(1.0 / (inverse * product(change, change)))  # cause: wait,copy
        for (step, change, inverse), share in zip(past, reversed(shares)):
            add(way, step, share - inverse * product(change, way), 1.0)  # cause: wait,copy
        return way.neg_()

    def by_one_product(gradient, past):
        """Row by row: the steps, the changes of the gradient, the gradient; the loops find what each row counts for."""
        rows[-1] = gradient
        parts = rows.view(2 * MEMORY + 1, PARTS, PLACES // PARTS).transpose(0, 1)
        table = torch.matmul(parts, parts.mT).sum(dim=0).cpu().numpy().astype(numpy.float64)
        counts, shares, order = numpy.eye(2 * MEMORY + 1)[-1], {}, [at for at, _, _ in past]
        for at in reversed(order):
            shares[at] = table[at] @ counts / table[at, MEMORY + at]
            counts[MEMORY + at] -= shares[at]
        counts *= table[order[-1], MEMORY + order[-1]] / table[MEMORY + order[-1], MEMORY + order[-1]]
        for at in order:
            counts[at] += shares[at] - table[MEMORY + at] @ counts / table[at, MEMORY + at]
        return torch.from_numpy(-counts.astype(numpy.float32)).cuda() @ rows

    direction = by_one_product if variant == "fix2" else two_loops

    def remember(past, number, step, change):
        if variant == "fix2":
            at = number % MEMORY
            rows[at], rows[MEMORY + at] = step, change
            past.append((at, None, None))
        else:
            past.append((step, change, 1.0 / product(step, change)))  # cause: wait,copy
        del past[:-MEMORY]

    def costs_and_gradient(field, number):
        if not graphs:
            return costs_of(field, measured[number])
        graph, (costs, gradient) = graphs[number]
        asked.copy_(field)
        graph.replay()
        return costs, gradient.clone()

    def analysed(day):
        """A day's map, and what it costs."""
        field, past = torch.zeros(PLACES, device="cuda"), []
        costs, gradient = costs_and_gradient(field, day)
        now = costs.item()
        for number in range(ITERATIONS):
            way = direction(gradient, past) if past else -FIRST * gradient  # cause: wait,copy
            slope = torch.dot(gradient, way)
            for length in (1.0, 0.3, 0.1):
                trial = torch.add(field, way, alpha=length)
                costs, there = costs_and_gradient(trial, day)
                new, fall = torch.stack((costs, slope)).tolist() if once else (costs.item(), slope.item())  # cause: wait,copy
                if new <= now + ENOUGH * length * fall:
                    break
            remember(past, number, trial - field, there - gradient)  # cause: wait,copy
            field, gradient, now = trial, there, new
        return field, now

    @torch.no_grad()
    def step():
        field, now = analysed(turn[0] % DAYS)  # cause: wait,copy
        turn[0] += 1
        usual[0] += 0.05 * (now / 1000.0 - usual[0])
        usual[1] += 0.05 * (field.square().mean().item() - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
