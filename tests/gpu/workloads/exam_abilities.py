# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how able 65536 pupils are, and how hard and how telling each of the 192 questions of a country's exam is, are told
together from who answered what right (item response theory, two numbers a question). torch.optim.LBFGS finds the likeliest
numbers by eight iterations from zero, for one exam after the other.

Wrong: L-BFGS reads its losses, slopes and products one by one, as it makes steps and asks whether it is done, about a hundred
times an exam, and the GPU runs dry at each.
fix: an L-BFGS that keeps all of its numbers on the device, and always makes its eight iterations (sync-bound).
fix2: the loss and its slopes are one CUDA graph, and PyTorch's L-BFGS reads as before (launch-bound).
useless: what is noted, of one exam in 20, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
torch = fixable.load_torch()
F = torch.nn.functional

PUPILS, QUESTIONS, EXAMS, ITERATIONS, NOTED = 65536, 192, 4, 8, 20
SPREAD = (QUESTIONS / PUPILS) ** 0.5  # so that slopes are as steep for questions as for pupils


@torch.no_grad()
def exams():
    """Who answered what right, (PUPILS, QUESTIONS), as the forms were read."""
    for _ in range(EXAMS):
        able = torch.randn(PUPILS, 1, device="cuda")
        hard, telling = torch.randn(QUESTIONS, device="cuda"), torch.exp(0.3 * torch.randn(QUESTIONS, device="cuda"))
        yield torch.rand(PUPILS, QUESTIONS, device="cuda") < torch.sigmoid(telling * (able - hard))


class Quiet(torch.optim.LBFGS):
    """L-BFGS of which nothing comes to the host; whether it is done, by `steepest` and `moved`, can be read afterwards."""

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        first = closure()
        slope = self._gather_flat_grad()
        self.steepest = slope.abs().max()
        turns, moves, inverse, parts = [], [], [], [None] * ITERATIONS
        before = slope
        for turn in range(ITERATIONS):
            if turn == 0:
                way, length = slope.neg(), (1.0 / slope.abs().sum()).clamp(max=1.0)
            else:
                turned, moved = slope.sub(before), way.mul(length)
                product = turned.dot(moved)
                turns.append(turned)
                moves.append(moved)
                inverse.append(1.0 / product)
                scale = product / turned.dot(turned)
                way = slope.neg()
                for k in reversed(range(turn)):
                    parts[k] = moves[k].dot(way) * inverse[k]
                    way.addcmul_(turns[k], -parts[k])
                way = torch.mul(way, scale)
                for k in range(turn):
                    part = turns[k].dot(way) * inverse[k]
                    way.addcmul_(moves[k], parts[k] - part)
                length = 1.0
            before = slope.clone()
            self.down = slope.dot(way)
            at = 0
            for p in self._params:
                piece = way[at:at + p.numel()].view_as(p)
                if turn == 0:
                    p.addcmul_(piece, length)
                else:
                    p.add_(piece)
                at += p.numel()
            if turn + 1 < ITERATIONS:
                closure()
                slope = self._gather_flat_grad()
                self.steepest, self.moved = slope.abs().max(), way.mul(length).abs().max()
        return first


def make(variant):
    fixable.seed(torch)
    sheets, right = list(exams()), torch.zeros(PUPILS, QUESTIONS, device="cuda")
    able = torch.zeros(PUPILS, device="cuda", requires_grad=True)
    hard = torch.zeros(QUESTIONS, device="cuda", requires_grad=True)  # both by SPREAD; of telling the logarithm
    telling = torch.zeros(QUESTIONS, device="cuda", requires_grad=True)
    told, usual, turn = torch.zeros(3, device="cuda"), [0.0, 0.0, 0.0], [0]
    landing = torch.zeros(3, pin_memory=True) if variant == "useless" else None
    method = Quiet if variant == "fix" else torch.optim.LBFGS

    def clear():
        able.grad = hard.grad = telling.grad = None

    def missed():
        """The loss with its slopes: how unlikely the answers are, and the numbers by themselves."""
        chances = (able[:, None] - SPREAD * hard) * torch.exp(SPREAD * telling)
        unlikely = F.binary_cross_entropy_with_logits(chances, right, reduction="sum")
        apart = 0.5 * able.square().sum() + 0.5 * (SPREAD * hard).square().sum() + 2.0 * (SPREAD * telling).square().sum()
        loss = unlikely + apart
        loss.backward()
        return loss.detach()

    def by_hand():
        clear()
        return missed()

    closure = by_hand
    if variant == "fix2":
        graph, loss = fixable.capture(torch, missed, before=clear)

        def closure():
            graph.replay()
            return loss

    def note():
        if variant == "useless":
            landing.copy_(told, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.tolist()
        return told.tolist()

    def step():
        with torch.no_grad():
            right.copy_(sheets[turn[0] % EXAMS])
            for numbers in (able, hard, telling):
                numbers.zero_()
        turn[0] += 1
        optimizer = method([able, hard, telling], lr=1.0, max_iter=ITERATIONS, history_size=ITERATIONS, tolerance_grad=0.0,
                           tolerance_change=0.0)
        optimizer.step(closure)  # cause: wait,copy
        with torch.no_grad():
            told.lerp_(torch.stack((able.std(), SPREAD * hard.std(), SPREAD * telling.std())), 0.05)
        if turn[0] % NOTED == 0:
            usual[:] = note()

    return fixable.Work(step, torch.cuda.synchronize, lambda: told.tolist())


run.main(make)
