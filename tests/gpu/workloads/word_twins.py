# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which words of two languages mean the same is found without a dictionary: words are vectors of 300 numbers, and a
turn of all vectors of one language is sought that brings them onto those of the other one. For 5120 words of each, as frequent
ones, the algorithm of Sinkhorn says how much of each word belongs to which other one (entropic optimal transport, 30 rounds),
and the turn is made a bit better by that.

Wrong: each round looks whether it is done and whether any number has become zero or NaN, as libraries for that do; the host waits
four times a round, for two of the kernels that take long and ten short ones, and only then launches more.
fix: what the rounds tell stays on the device, and is read once behind the last one (sync-bound).
fix2: a round is one CUDA graph, behind which its four numbers are read together (launch-bound).
useless: the products go to arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=450, warm_up=8)
torch = fixable.load_torch()

WORDS, DIM, SETS, ROUNDS, BLUR, DONE, RATE = 5120, 300, 8, 30, 0.08, 1e-9, 0.1


def languages():
    """Vectors of all words of both languages by how frequent they are, and a turn that is about right."""
    def long_as_one(vectors):
        return vectors / vectors.norm(dim=1, keepdim=True)
    one = long_as_one(torch.randn(SETS * WORDS, DIM, device="cuda"))
    right = torch.linalg.qr(torch.randn(DIM, DIM, device="cuda"))[0]
    other = long_as_one(one @ right + 0.6 / DIM ** 0.5 * torch.randn_like(one))
    begin = right + 0.4 / DIM ** 0.5 * torch.randn_like(right)
    mixed = [k * WORDS + torch.randperm(WORDS, device="cuda") for k in range(SETS)]
    return one, other[torch.cat(mixed)].contiguous(), begin


def check(misses, bad):
    if any(bad) or any(miss != miss for miss in misses):
        raise ArithmeticError("the words cannot be told apart: BLUR is too small")


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    one, other, turned = languages()
    near = torch.ones(WORDS, WORDS, device="cuda")
    share = torch.full((WORDS,), 1.0 / WORDS, device="cuda")
    close = torch.zeros((), device="cuda")
    made_once = [torch.empty_like(share) for _ in range(2)] if variant == "useless" else [None, None]
    turn, usual = [0], [0.0]

    def times(matrix, vector, place):
        return torch.mv(matrix, vector) if place is None else torch.mv(matrix, vector, out=place)

    def read_each():
        left, right, miss = share.clone(), share.clone(), 0.0
        for _ in range(ROUNDS):
            across = times(near, right, made_once[0])
            miss = (left * across - share).abs().sum().item()  # cause: wait,copy
            if miss < DONE:
                break
            left = share / across
            down = times(near.t(), left, made_once[1])
            right = share / down
            if (down == 0.0).any() or left.isnan().any() or right.isnan().any():  # cause: wait,copy
                check([miss], [True])
        return left, right, miss

    def read_once():
        left, right, misses, bad = share.clone(), share.clone(), [], []
        for _ in range(ROUNDS):
            across = torch.mv(near, right)
            misses.append((left * across - share).abs().sum())
            left = share / across
            down = torch.mv(near.t(), left)
            right = share / down
            bad += [(down == 0.0).any(), left.isnan().any(), right.isnan().any()]
        misses, bad = torch.stack(misses).tolist(), torch.stack(bad).tolist()
        check(misses, bad)
        return left, right, misses[-1]

    now_left, now_right, told = share.clone(), share.clone(), torch.zeros(4, device="cuda")

    def one_round():
        """A round in place, with what it tells in `told`."""
        across = torch.mv(near, now_right)
        told[0].copy_((now_left * across - share).abs().sum())
        torch.div(share, across, out=now_left)
        down = torch.mv(near.t(), now_left)
        torch.div(share, down, out=now_right)
        told[1:].copy_(torch.stack(((down == 0.0).any(), now_left.isnan().any(), now_right.isnan().any())))

    if variant == "fix2":
        graph, _ = fixable.capture(torch, one_round)

    def replayed():
        now_left.copy_(share)
        now_right.copy_(share)
        miss = 0.0
        for _ in range(ROUNDS):
            graph.replay()
            miss, *bad = told.tolist()
            check([miss], bad)
            if miss < DONE:
                break
        return now_left, now_right, miss

    balance = {"fix": read_once, "fix2": replayed}.get(variant, read_each)

    @torch.no_grad()
    def step():
        part = slice(turn[0] % SETS * WORDS, (turn[0] % SETS + 1) * WORDS)
        turn[0] += 1
        torch.mm(one[part] @ turned, other[part].t(), out=near)
        near.sub_(1.0).mul_(1.0 / BLUR).exp_()
        left, right, miss = balance()  # cause: wait,copy
        usual[0] += 0.02 * (miss - usual[0])
        meet = (one[part] * left[:, None]).t() @ (near @ (other[part] * right[:, None]))
        close.mul_(0.98).add_((meet * turned).sum(), alpha=0.02)
        turned.add_(meet, alpha=RATE * DIM)
        turned.copy_(1.5 * turned - 0.5 * (turned @ turned.t()) @ turned)  # a turn again, nearly

    def values():
        """How like the words are that belong together, the size of the turn, and what is amiss behind the last round."""
        return [close.item(), turned.norm().item() / DIM ** 0.5, usual[0]]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
