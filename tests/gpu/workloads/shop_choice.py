# SPDX-License-Identifier: Apache-2.0
"""PyTorch: geographers explain where people buy their food. From each of 10240 blocks of homes, a shop is chosen by its appeal and
by how far away it is, and how much a mile matters is another number in each of six kinds of districts (Huff's model). The appeals
and these numbers are fitted to the trips of a year by conjugate gradients, three iterations a year, where the fit of the year
before is the start; of nine lengths along each direction the best is taken.

Wrong: the host decides on the length, so it reads how good each one is by .item() before it tries the next one, and the GPU has
nothing to do until more is launched; it also reads how much of the old direction is kept.
fix: what was found for all lengths stays on the device, where the best is picked; nothing is read (sync-bound).
fix2: the loss and its slopes are two CUDA graphs; the numbers are read as before (launch-bound).
useless: how much a mile matters, which is read once in 20 years, comes over pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
torch = fixable.load_torch()

HOMES, SHOPS, KINDS, YEARS, ITERATIONS, READ = 10240, 1024, 6, 8, 3, 20
SCALE, RIDGE, LEAST = 30.0, 1e-3, 1e-3
FACTORS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)  # of the length that was best before


def town():
    """Miles from homes to shops, the kind of district of each block, and the homes of a block as a part of all."""
    homes = torch.randn(HOMES, 2, device="cuda") * 4.0
    shops = torch.randn(SHOPS, 2, device="cuda") * 3.5
    away = homes.norm(dim=1)
    kinds = (away * 0.4 + 0.5 * torch.rand(HOMES, device="cuda")).long().clamp_(max=KINDS - 1)
    share = torch.rand(HOMES, device="cuda") + 0.2
    return torch.cdist(homes, shops) + 0.1, kinds, share / share.sum()


def make(variant):
    fixable.seed(torch)
    miles, kinds, share = town()
    point = torch.zeros(SHOPS + KINDS, device="cuda", requires_grad=True)  # appeals by SCALE, and what a mile matters
    sums = torch.zeros(SHOPS + KINDS, device="cuda")  # of a year: what goes to a shop, and the miles in each kind
    fitted, way, before = (torch.zeros(SHOPS + KINDS, device="cuda") for _ in range(3))
    factors = torch.tensor(FACTORS, device="cuda")
    usual = torch.full((1,), 0.5, device="cuda") if variant == "fix" else [0.5]
    landing = torch.zeros(KINDS, pin_memory=True) if variant == "useless" else None
    turn, curve = [0], []

    def worths(place):
        """How much a shop is worth to a home."""
        matters = place[SHOPS:].index_select(0, kinds)
        return torch.addcmul(SCALE * place[:SHOPS], miles, matters[:, None], value=-1.0)

    def loss():
        """How badly the year's trips are told by `point`."""
        wished = torch.logsumexp(worths(point), dim=1)
        return torch.dot(share, wished) - torch.dot(point, torch.sub(sums, point, alpha=RIDGE))

    def slopes():
        now = loss()
        return now.detach(), torch.autograd.grad(now, point)[0]

    def tried():
        with torch.no_grad():
            return loss()

    def year_of(appeal, matters):
        """The sums of a year in which shops and miles were worth so much."""
        chances = torch.softmax(worths(torch.cat((appeal / SCALE, matters))), dim=1) * share[:, None]
        far = torch.zeros(KINDS, device="cuda").index_add_(0, kinds, (chances * miles).sum(dim=1))
        return torch.cat((SCALE * chances.sum(dim=0), -far))

    appeal, matters = torch.randn(SHOPS, device="cuda"), torch.linspace(1.2, 0.5, KINDS, device="cuda")
    years = [year_of(appeal + 0.4 * torch.randn(SHOPS, device="cuda"), matters * (0.9 + 0.2 * torch.rand(KINDS, device="cuda")))
             for _ in range(YEARS)]
    if variant == "fix2":
        graph_of_slopes, given = fixable.capture(torch, slopes)
        graph_of_tried, found = fixable.capture(torch, tried)

    def look():
        """The loss and its slopes at `fitted`."""
        point.data.copy_(fitted)
        if variant == "fix2":
            graph_of_slopes.replay()
            return given
        return slopes()

    def look_ahead():
        if variant == "fix2":
            graph_of_tried.replay()
            return found
        return tried()

    def turn_to(slope, first):
        """The next direction: down, and some of the way of before."""
        if first:
            torch.neg(slope, out=way)
        else:
            kept = (torch.dot(slope, slope - before) / torch.dot(before, before)).clamp_(0.0, 5.0)
            way.mul_(kept if variant == "fix" else kept.item()).sub_(slope)  # cause: wait,copy
        before.copy_(slope)

    def go(now):
        """Tries all lengths, and goes the best one."""
        best, length = now.item(), 0.0  # cause: wait,copy
        for factor in FACTORS[1:]:
            torch.add(fitted, way, alpha=factor * usual[0], out=point.data)
            missed = look_ahead().item()  # cause: wait,copy
            if missed < best:
                best, length = missed, factor * usual[0]
        fitted.add_(way, alpha=length)
        usual[0] = max(length or 0.3 * usual[0], LEAST)

    def go_there(now):
        """The same without the host."""
        missed = [now]
        for factor in FACTORS[1:]:
            torch.addcmul(fitted, way, usual, value=factor, out=point.data)
            missed.append(look_ahead())
        length = factors.index_select(0, torch.stack(missed).argmin(dim=0, keepdim=True)) * usual
        fitted.addcmul_(way, length)
        usual.copy_(torch.where(length > 0.0, length, 0.3 * usual)).clamp_(min=LEAST)

    def step():
        sums.copy_(years[turn[0] % YEARS])
        turn[0] += 1
        for number in range(ITERATIONS):
            now, slope = look()
            turn_to(slope, number == 0)  # cause: wait,copy
            if variant == "fix":
                go_there(now)
            else:
                go(now)  # cause: wait,copy
        if turn[0] % READ == 0:
            matter = fitted[SHOPS:]
            curve.append((matter if landing is None else landing.copy_(matter)).tolist())

    def values():
        """How much a mile matters, and how different the appeals are."""
        return fitted[SHOPS:].tolist() + [float(fitted[:SHOPS].std())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
