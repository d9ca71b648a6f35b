# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a court's stenographer presses several keys of a machine at once, which is a stroke; a word is one to three strokes, and
nothing tells where it ends. A semi-Markov field learns to cut lines of 32 strokes into words of 40 kinds: the sum over all ways to
cut a line is found from stroke to stroke, in logarithms, and how the clerk has cut it shall be the likeliest one.

Wrong: at each stroke some fifteen small kernels, and about as many for their slopes, are launched one by one, and the GPU is done
with one before the next one comes.
fix: the step, with its backward and the optimizer, is one CUDA graph (launch-bound).
useless: the notes, which are read once in 25 steps, stay on the device.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
torch = fixable.load_torch()

LINES, STROKES, KEYS, KINDS, LONGEST, WIDE, SETS, READ = 128, 32, 22, 40, 3, 96, 8, 25


def transcripts():
    """Sets of keys (LINES, STROKES, KEYS), and where words end: places of scores, of pairs, and whether there is one."""
    habits = (torch.rand(KINDS, LONGEST, KEYS) < 0.25).float()
    for _ in range(SETS):
        length = torch.randint(1, LONGEST + 1, (LINES, STROKES))
        kind = torch.randint(0, KINDS, (LINES, STROKES))
        keys = torch.zeros(LINES, STROKES, KEYS)
        scored = torch.zeros(LINES, STROKES, dtype=torch.int64)
        paired = torch.zeros(LINES, STROKES, dtype=torch.int64)
        ends = torch.zeros(LINES, STROKES)
        for line, (lengths, kinds) in enumerate(zip(length.tolist(), kind.tolist())):
            at, before = 0, KINDS
            for long, one in zip(lengths, kinds):
                long = min(long, STROKES - at)
                if not long:
                    break
                keys[line, at:at + long] = habits[one, :long]
                at += long
                scored[line, at - 1] = ((at - 1) * LONGEST + long - 1) * KINDS + one
                paired[line, at - 1], ends[line, at - 1] = before * KINDS + one, 1.0
                before = one
        slips = (torch.rand(LINES, STROKES, KEYS) < 0.03).float()
        yield [part.to("cuda") for part in ((keys - slips).abs(), scored, paired, ends)]


def make(variant):
    fixable.seed(torch)
    heard = list(transcripts())
    now = [torch.zeros_like(part) for part in heard[0]]
    first = (0.2 * torch.randn(KEYS, WIDE, device="cuda")).requires_grad_()
    second = (0.1 * torch.randn(LONGEST, WIDE, KINDS, device="cuda")).requires_grad_()
    follows = (0.1 * torch.randn(KINDS + 1, KINDS, device="cuda")).requires_grad_()  # the last row: what begins a line
    weights = [first, second, follows]
    rule = torch.optim.Adam(weights, lr=2e-3, capturable=True, fused=True)
    usual = torch.zeros(2, device="cuda")
    notes, turn = collections.deque(maxlen=50), [0]

    def scores(keys):
        """How well the strokes that end at each place fit each kind, (LINES, STROKES, LONGEST, KINDS)."""
        seen = torch.relu(keys @ first)
        whole, fits = seen, []
        for long in range(LONGEST):
            if long:
                whole = whole + torch.nn.functional.pad(seen, (0, 0, long, 0))[:, :STROKES]  # cause: launch
            fits.append(whole @ second[long])  # cause: launch
        return torch.stack(fits, dim=2)

    def entered(ending, pairs):
        """From all words that end at a stroke to those that begin behind it."""
        top = ending.amax(dim=1, keepdim=True).detach()  # cause: launch
        return ((ending - top).exp() @ pairs).log() + top  # cause: launch

    def all_ways(fits):
        """The logarithm of the sum over all ways to cut each line."""
        pairs = follows[:KINDS].exp()
        begun, ending = [follows[KINDS].expand(LINES, KINDS)], None
        for at, fit in enumerate(fits.unbind(1)):
            if ending is not None:
                begun.append(entered(ending, pairs))  # cause: launch
            many = min(at + 1, LONGEST)
            ways = torch.stack(begun[::-1][:many], dim=1) + fit[:, :many]  # cause: launch
            ending = ways.logsumexp(dim=1)  # cause: launch
        return ending.logsumexp(dim=1)

    def learn():
        """A step of training."""
        keys, scored, paired, ends = now
        fits = scores(keys)  # cause: launch
        clerk = fits.reshape(LINES, -1).gather(1, scored) + follows.view(-1).gather(0, paired.view(-1)).view(LINES, STROKES)
        ways = all_ways(fits)  # cause: launch
        loss = (ways - (clerk * ends).sum(dim=1)).mean() / STROKES
        loss.backward()  # cause: launch
        rule.step()
        usual.lerp_(torch.stack((loss.detach(), ways.detach().mean() / STROKES)), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    def bring(given):
        for part, new in zip(now, given):
            part.copy_(new)

    if variant == "fix":
        bring(heard[0])
        begin = [one.detach().clone() for one in weights]
        graph, _ = fixable.capture(torch, learn, clear)
        for one, old in zip(weights, begin):
            one.detach().copy_(old)
            for part in rule.state[one].values():
                part.zero_()
        usual.zero_()

    def step():
        bring(heard[turn[0] % SETS])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(usual.clone() if variant == "useless" else usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist() + follows.detach().norm().view(1).tolist())


run.main(make)
