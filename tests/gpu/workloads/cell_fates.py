# SPDX-License-Identifier: Apache-2.0
"""PyTorch: what the cells of an embryo will become: those of one day are matched with those of the next one by optimal transport
(Sinkhorn, unbalanced), again and again with other weights of the cells (bootstrap), which tells how sure the fates are.

Wrong: each round asks by an `if` whether something is no longer a number, and whether little changes; the GPU has nothing to do
until Python has launched something new. (The tolerance is not reached before the last round.)
fix: both are computed as before, kept on the device, and read every 20 rounds (sync-bound).
fix2: what is between two reads is a CUDA graph; both are read in each round as before (launch-bound).
useless: the scalings are written to vectors that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=6)
torch = fixable.load_torch()

CELLS, GENES, TYPES, DAYS, WEIGHTS, ROUNDS, LOOK_EVERY = 5120, 30, 8, 3, 12, 40, 20
BLUR, TOLERANCE = 0.1, 1e-9
FROM, TO = 1.0 / (1.0 + BLUR), 50.0 / (50.0 + BLUR)  # growth may differ a lot from what is estimated, the next day hardly


def embryo():
    """Kernels of three pairs of days, and the types of the later cells."""
    kinds = torch.randn(TYPES, GENES, device="cuda")
    kernels, types = [], []
    for _ in range(DAYS):
        early, late = (torch.randint(0, TYPES, (CELLS,), device="cuda") for _ in range(2))
        first = 0.6 * kinds[early] + torch.randn(CELLS, GENES, device="cuda")
        second = kinds[late] + torch.randn(CELLS, GENES, device="cuda")
        cost = torch.cdist(first, second).square()
        kernels.append(torch.exp(cost / (-BLUR * cost.mean())))
        types.append(torch.nn.functional.one_hot(late, TYPES).float())
    return kernels, types


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    kernels, types = embryo()
    # How often each cell was drawn: its growth by the next day, and its weight then.
    grown = [torch.poisson(torch.full((2, CELLS), 1.0, device="cuda")) + 0.1 for _ in range(WEIGHTS)]
    fates = torch.zeros(DAYS, CELLS, TYPES, device="cuda")
    spread = torch.zeros_like(fates)
    u, v, changed = (torch.empty(CELLS, device="cuda") for _ in range(3))
    turn = [0]

    def one_by_one(kernel, growth, weight):
        left, right = torch.ones_like(growth), torch.ones_like(weight)
        for _ in range(ROUNDS):
            new = (growth / (kernel @ right)).pow_(FROM)
            if torch.isnan(new).any():  # cause: wait
                raise ArithmeticError("not a number; the kernel is too sharp")
            change = torch.dist(new, left, p=float("inf"))
            left = new
            right = (weight / (kernel.t() @ left)).pow_(TO)
            if change.item() < TOLERANCE:  # cause: wait
                break
        return left, right

    def seldom(kernel, growth, weight):
        left, right = torch.ones_like(growth), torch.ones_like(weight)
        wrong = torch.zeros((), dtype=torch.bool, device="cuda")
        for number in range(1, ROUNDS + 1):
            new = (growth / (kernel @ right)).pow_(FROM)
            wrong.logical_or_(torch.isnan(new).any())
            change = torch.dist(new, left, p=float("inf"))
            left = new
            right = (weight / (kernel.t() @ left)).pow_(TO)
            if number % LOOK_EVERY == 0:
                if wrong:
                    raise ArithmeticError("not a number; the kernel is too sharp")
                if change.item() < TOLERANCE:
                    break
        return left, right

    def in_place(kernel, growth, weight):
        left, right = torch.ones_like(growth), v.fill_(1.0)
        for _ in range(ROUNDS):
            torch.mv(kernel, right, out=u)
            torch.div(growth, u, out=u).pow_(FROM)
            if torch.isnan(u).any():
                raise ArithmeticError("not a number; the kernel is too sharp")
            torch.sub(u, left, out=changed)
            change = torch.linalg.vector_norm(changed, float("inf"))
            left.copy_(u)
            torch.mv(kernel.t(), left, out=v)
            torch.div(weight, v, out=v).pow_(TO)
            if change.item() < TOLERANCE:
                break
        return left, right

    graphs = {}  # of each kernel: two, and what each is read by
    if variant == "fix2":
        growth_at, weight_at, left_at, right_at, new_at = (torch.ones(CELLS, device="cuda") for _ in range(5))
        for kernel in kernels:
            def to_new():
                new_at.copy_((growth_at / (kernel @ right_at)).pow_(FROM))
                return torch.isnan(new_at).any()

            def to_right():
                change = torch.dist(new_at, left_at, p=float("inf"))
                left_at.copy_(new_at)
                right_at.copy_((weight_at / (kernel.t() @ left_at)).pow_(TO))
                return change

            graphs[id(kernel)] = (*fixable.capture(torch, to_new), *fixable.capture(torch, to_right))

    def in_graphs(kernel, growth, weight):
        first, wrong, second, change = graphs[id(kernel)]
        growth_at.copy_(growth)
        weight_at.copy_(weight)
        left_at.fill_(1.0)
        right_at.fill_(1.0)
        for _ in range(ROUNDS):
            first.replay()
            if wrong:
                raise ArithmeticError("not a number; the kernel is too sharp")
            second.replay()
            if change.item() < TOLERANCE:
                break
        return left_at, right_at

    match = {"fix": seldom, "fix2": in_graphs, "useless": in_place}.get(variant, one_by_one)

    @torch.no_grad()
    def step():
        day, weights = turn[0] % DAYS, grown[turn[0] % WEIGHTS]
        turn[0] += 1
        left, right = match(kernels[day], *weights)  # cause: wait
        fate = left.unsqueeze(1) * (kernels[day] @ (right.unsqueeze(1) * types[day]))
        fate /= fate.sum(dim=1, keepdim=True)
        off = fate - fates[day]
        fates[day] += 0.05 * off
        spread[day].mul_(0.95).add_(off.square_(), alpha=0.05)

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, fates, spread))


run.main(make)
