# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how many people go from each of 4608 zones of a region to each other one in the morning (a gravity model with both
ends given): trips become rarer with the minutes they take, by exp(-slope * minutes), and are balanced until as many leave each
zone as live there, and as many come as work there. The slope is made to fit (Hyman) until trips take as long as people were
found to travel by a survey. A step does so for one of six plans for the region's future.

Wrong: behind each round of balancing the host reads how far off it is, and behind each slope how long trips take, for which it
waits; then it launches a few kernels again, while the GPU has nothing to do.
fix: the slope is made to fit on the device, where the numbers stay; they are read once a step (sync-bound).
fix2: a slope's begin, a round and a slope's end are one CUDA graph each, and the numbers are read as before (launch-bound).
useless: the products of matrix and vector go to arrays that are made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch = fixable.load_torch()

ZONES, PLANS, SLOPES, ROUNDS, FIRST, ENOUGH, KM = 4608, 6, 6, 10, -0.12, 1e-9, 60.0


def region():
    """Minutes from each zone to each, which share of people starts and ends in each by each plan, and how long they travel."""
    places = KM * torch.rand(ZONES, 2, device="cuda")
    minutes = 4.0 + 1.5 * torch.cdist(places, places)
    centre = torch.exp(-(places - 0.5 * KM).square().sum(dim=1) / 400.0)
    live = 0.3 + torch.rand(PLANS, ZONES, device="cuda") + 0.5 * centre
    work = 0.1 + 0.6 * torch.rand(PLANS, ZONES, device="cuda") + 2.0 * centre
    surveyed = [22.0 + 1.2 * plan for plan in range(PLANS)]
    return minutes, live / live.sum(dim=1, keepdim=True), work / work.sum(dim=1, keepdim=True), surveyed


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    minutes, live, work, surveyed = region()
    leaving, coming = live[0].clone(), work[0].clone()
    slope, rare = torch.full((), FIRST, device="cuda"), torch.empty_like(minutes)
    rows, columns = torch.ones(ZONES, device="cuda"), torch.ones(ZONES, device="cuda")
    sent = torch.empty(ZONES, device="cuda") if variant == "useless" else None
    got = torch.empty(ZONES, device="cuda") if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0, 0.0]

    def times(matrix, vector, out):
        return torch.mv(matrix, vector) if out is None else torch.mv(matrix, vector, out=out)

    def begin():
        torch.mul(minutes, slope, out=rare).exp_()
        columns.fill_(1.0)

    def balance():
        """One round; gives how far off the factors of the columns were."""
        torch.div(leaving, times(rare, columns, sent), out=rows)
        new = coming / times(rare.t(), rows, got)
        apart = torch.linalg.vector_norm(new - columns, ord=math.inf)
        columns.copy_(new)
        return apart

    def travel():
        """How many minutes a trip takes by the mean."""
        return torch.dot(rows, torch.mv(rare * minutes, columns))

    if variant == "fix2":
        begun, _ = fixable.capture(torch, begin)
        balanced, off = fixable.capture(torch, balance)
        travelled, mean = fixable.capture(torch, travel)

        def begin():
            begun.replay()

        def balance():
            balanced.replay()
            return off

        def travel():
            travelled.replay()
            return mean

    def fitted(wanted):
        now, apart, length = FIRST, 0.0, 0.0
        for _ in range(SLOPES):
            slope.fill_(now)
            begin()
            for _ in range(ROUNDS):
                apart = balance().item()  # cause: wait,copy
                if apart < ENOUGH:
                    break
            length = travel().item()  # cause: wait,copy
            now *= length / wanted
        return now, length, apart

    def fitted_on_device(wanted):
        slope.fill_(FIRST)
        for _ in range(SLOPES):
            begin()
            for _ in range(ROUNDS):
                apart = balance()
            length = travel()
            slope.mul_(length / wanted)
        return torch.stack((slope, length, apart)).tolist()

    fit = fitted_on_device if variant == "fix" else fitted

    @torch.no_grad()
    def step():
        plan = turn[0] % PLANS
        turn[0] += 1
        leaving.copy_(live[plan])
        coming.copy_(work[plan])
        found = fit(surveyed[plan])  # cause: wait,copy
        for k, number in enumerate(found):
            usual[k] += 0.02 * (number - usual[k])

    return fixable.Work(step, torch.cuda.synchronize, lambda: [100.0 * usual[0], usual[1]])


run.main(make)
