# SPDX-License-Identifier: Apache-2.0
"""PyTorch: pieces of RNA that might become a vaccine are looked through for those that fold firmly. Of 64 pieces at once all
ways to fold are added up (McCaskill's partition function, in a simple model where each pair of bases has its weight): first of
short stretches, and of longer ones by these.

Wrong: each length of a stretch is seven small kernels, which Python launches one by one, slower than the GPU runs them.
fix: all launches of a batch are one CUDA graph (launch-bound).
fix2: the tables are kept in such an order that a length is a product, a sum and two writes (launch-bound).
useless: the energies stay on the device, and are read every 20 batches.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=400, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

PIECES, LENGTH, GAP, SETS, HEAT = 64, 112, 3, 8, 0.616  # a pair has at least so many bases between; kcal / mol
BONDS = {"AU": 0.9, "CG": 1.6, "GU": 0.4}  # kcal / mol
BASES = "ACGU"


def designs():
    """Batches of pieces in pinned memory, as numbers of bases: each piece is a stem with changes, and the rest at random."""
    for _ in range(SETS):
        pieces = torch.randint(0, 4, (PIECES, LENGTH))
        stem = 10 + torch.randint(0, 30, (1,)).item()
        pieces[:, LENGTH - stem:] = 3 - pieces[:, :stem].flip(1)  # what pairs with it
        changed = torch.rand(PIECES, LENGTH) < 0.15
        yield torch.where(changed, torch.randint(0, 4, (PIECES, LENGTH)), pieces).to(torch.uint8).pin_memory()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    batches = list(designs())
    table = torch.zeros(4, 4, dtype=torch.float64)
    for (one, other), bond in BONDS.items():
        one, other = BASES.index(one), BASES.index(other)
        table[one, other] = table[other, one] = bond
    table = torch.where(table > 0.0, torch.exp(table / HEAT), 0.0).cuda()
    first, apart = torch.arange(LENGTH, device="cuda")[:, None], torch.arange(LENGTH, device="cuda")
    partner = (first + apart).clamp(max=LENGTH - 1).expand(PIECES, LENGTH, LENGTH)
    allowed = ((apart > GAP) & (first + apart < LENGTH)).double()
    turn, pending, usual = [0], [], [0.0, 0.0]

    def weights_of(letters):
        """Of the pair of a base and the one that comes so many places behind it."""
        pairs = table[letters[:, :, None], letters[:, None, :]]
        return pairs.gather(2, partner) * allowed

    def all_ways(weights):
        """Sums over the ways to fold a stretch, by its start and its length, and by its end and its length."""
        starts = torch.ones(PIECES, LENGTH + 1, LENGTH + 1, dtype=torch.float64, device="cuda")
        ends = torch.ones_like(starts)
        for long in range(GAP + 2, LENGTH + 1):
            rows = LENGTH - long + 1
            inside = starts[:, 1:rows + 1, GAP:long - 1]
            behind = ends[:, long:long + rows, :long - GAP - 1].flip(2)  # cause: launch
            closed = weights[:, :rows, GAP + 1:long] * inside * behind  # cause: launch
            whole = starts[:, 1:rows + 1, long - 1] + closed.sum(dim=2)  # cause: launch
            starts[:, :rows, long] = whole  # cause: launch
            ends[:, long:long + rows, long] = whole  # cause: launch
        return starts[:, 0, LENGTH]

    def all_ways_in_order(weights):
        """The same: what a first base and its pair come to is kept as one number, what comes behind is kept from the back, and
        that the first base has no pair is one case of the sum."""
        ready = torch.zeros_like(weights)
        ready[:, :, 0] = 1.0
        ready[:, :, GAP + 1:GAP + 3] = weights[:, :, GAP + 1:GAP + 3]
        behind = torch.ones(PIECES, LENGTH + 1, LENGTH + 1, dtype=torch.float64, device="cuda")
        for long in range(GAP + 2, LENGTH + 1):
            rows = LENGTH - long + 1
            whole = (ready[:, :rows, :long] * behind[:, long:, LENGTH - long + 1:]).sum(dim=2)
            behind[:, long:, LENGTH - long] = whole
            if long + 1 < LENGTH:
                torch.mul(weights[:, :rows - 1, long + 1], whole[:, 1:], out=ready[:, :rows - 1, long + 1])
        return behind[:, LENGTH, 0]

    def energies(letters):
        add_up = all_ways_in_order if variant == "fix2" else all_ways
        return -HEAT * torch.log(add_up(weights_of(letters.long())))  # cause: launch

    if variant == "fix":
        place = batches[0].cuda()
        graph, given = fixable.capture(torch, lambda: energies(place))

    def note(found):
        """The firmest piece of a batch, and the mean; the firmest ones would be made in the laboratory."""
        usual[0] += 0.05 * (min(found) - usual[0])
        usual[1] += 0.05 * (sum(found) / PIECES - usual[1])

    @torch.no_grad()
    def step():
        batch = batches[turn[0] % SETS]
        turn[0] += 1
        if variant == "fix":
            place.copy_(batch, non_blocking=True)
            graph.replay()
            note(given.tolist())
        elif variant == "useless":
            pending.append(energies(batch.to("cuda", non_blocking=True)))
            if turn[0] % LOOK_EVERY == 0:
                for found in torch.stack(pending).tolist():
                    note(found)
                pending.clear()
        else:
            note(energies(batch.to("cuda", non_blocking=True)).tolist())  # cause: launch

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
