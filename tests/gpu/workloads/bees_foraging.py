# SPDX-License-Identifier: Apache-2.0
"""PyTorch: fruit growers want to know where to put hives of bees, so that each tree is visited: two million bees of four thousand
hives fly about an orchard, from blossoms to better ones near by, drink, and bring home what they have; some never come home.

Wrong: it is written with masks as indices, as in NumPy, and with bincount(); how many bees a mask takes, and how many bins there
are, the host has to know before it can go on, so it waits for the GPU more than a dozen times a tick.
fix: all bees go through each line, and where() and a factor of 0 leave those as they were who are not meant (sync-bound).
fix2: that, as one CUDA graph (launch-bound).
useless: the random numbers come to a tensor that is made once.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=2000, warm_up=2 * LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

BEES, HIVES, SIDE, NEAR = 2_000_000, 4096, 512, 8  # the orchard has SIDE by SIDE places with blossoms
PLACES = SIDE * SIDE
FULL, SIP, MOST, GROWS, LOST = 1.0, 0.08, 1.0, 0.15, 0.002


def orchard():
    """Places near each place, (PLACES, NEAR); the place of each hive, and the hive of each bee."""
    down, right = torch.arange(PLACES, device="cuda") // SIDE, torch.arange(PLACES, device="cuda") % SIDE
    away = torch.tensor([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)], device="cuda") * 3
    near = (down[:, None] + away[:, 0]) % SIDE * SIDE + (right[:, None] + away[:, 1]) % SIDE
    return near.contiguous(), torch.randint(0, PLACES, (HIVES,), device="cuda"), torch.randint(0, HIVES, (BEES,), device="cuda")


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    near, hive_at, hive_of = orchard()
    at = torch.randint(0, PLACES, (BEES,), device="cuda")
    home_at = hive_at[hive_of]
    load = torch.rand(BEES, device="cuda") * FULL
    nectar = torch.rand(PLACES, device="cuda") * MOST
    honey, gone = torch.zeros(HIVES, device="cuda"), torch.zeros((), device="cuda")
    room = torch.empty(2, BEES, device="cuda") if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    def chances():
        return torch.rand(2, BEES, device="cuda") if room is None else torch.rand(2, BEES, out=room)

    def with_masks():
        """A tick, by those that are meant."""
        chance = chances()
        nectar.add_((MOST - nectar) * GROWS)

        full = load >= FULL
        home = hive_of[full]  # cause: wait,copy
        honey.add_(torch.bincount(home, weights=load[full], minlength=HIVES))  # cause: wait,copy
        load[full] = 0.0
        at[full] = hive_at[home]  # cause: wait,copy

        out = ~full
        here = at[out]  # cause: wait,copy
        there = near[here, (chance[0][out] * NEAR).long().clamp_(max=NEAR - 1)]  # cause: wait,copy
        here = torch.where(nectar[there] > nectar[here], there, here)
        at[out] = here  # cause: wait,copy

        crowd = torch.bincount(here, minlength=PLACES)  # cause: wait,copy
        share = (nectar / crowd.clamp(min=1)).clamp(max=SIP)
        load[out] += share[here]  # cause: wait,copy
        nectar.sub_(share * crowd)

        lost = chance[1] < LOST
        gone.add_(load[lost].sum())  # cause: wait,copy
        load[lost] = 0.0
        at[lost] = hive_at[hive_of[lost]]  # cause: wait,copy

    def with_all():
        """The same tick, by all bees."""
        chance = chances()
        nectar.add_((MOST - nectar) * GROWS)

        full = load >= FULL
        out = (~full).float()
        honey.index_add_(0, hive_of, load * full)
        load.mul_(out)
        at.copy_(torch.where(full, home_at, at))

        there = near.view(-1)[at * NEAR + (chance[0] * NEAR).long().clamp_(max=NEAR - 1)]
        better = (nectar[there] > nectar[at]) & ~full
        at.copy_(torch.where(better, there, at))

        crowd = torch.zeros(PLACES, device="cuda").index_add_(0, at, out)
        share = (nectar / crowd.clamp(min=1.0)).clamp(max=SIP)
        load.addcmul_(share[at], out)
        nectar.sub_(share * crowd)

        lost = chance[1] < LOST
        gone.add_((load * lost).sum())
        load.masked_fill_(lost, 0.0)
        at.copy_(torch.where(lost, home_at, at))

    tick = with_all if variant in ("fix", "fix2") else with_masks
    if variant == "fix2":
        graph, _ = fixable.capture(torch, tick)
        tick = graph.replay

    @torch.no_grad()
    def step():
        tick()  # cause: wait,copy
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            brought, missing = torch.stack((honey.sum(), gone)).tolist()
            usual[0] += 0.1 * (brought / LOOK_EVERY / HIVES - usual[0])
            usual[1] += 0.1 * (missing / LOOK_EVERY / HIVES - usual[1])
            honey.zero_()
            gone.zero_()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
