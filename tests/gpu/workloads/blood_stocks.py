# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a blood bank wants to know how many units grow too old and how many patients must wait. Its stock of eight groups, by
the days that units keep yet, is followed through 32768 made-up futures at once: each day the oldest units are thrown away, some
are broken, donors give new ones, and hospitals take the oldest first. A step is three weeks.

Wrong: what was thrown away and what was lacking are read for the diary each day, and the GPU has nothing to do until the next day
is launched.
fix: the diary keeps these numbers on the device, and they are not read in the loop (sync-bound).
fix2: a day is a CUDA graph; the numbers are read each day as before (launch-bound).
useless: the array of the stock before the hospitals come is made once.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
torch = fixable.load_torch()

AGES, GROUPS, FUTURES, DAYS = 42, 8, 32768, 21
SHARES, GIVEN = (0.38, 0.34, 0.09, 0.07, 0.06, 0.03, 0.02, 0.01), 400.0  # of the groups; units a day in all


def make(variant):
    fixable.seed(torch)
    usual = GIVEN * torch.tensor(SHARES, device="cuda")[:, None]
    donated = usual * (0.7 + 0.6 * torch.rand(DAYS, 1, GROUPS, FUTURES, device="cuda"))
    need = usual * (0.35 + torch.rand(DAYS, GROUPS, FUTURES, device="cuda"))
    sound = 1.0 - torch.linspace(0.004, 0.001, AGES, device="cuda").view(AGES, 1, 1)  # share that is not broken
    at_first = 0.6 * usual * torch.arange(1, AGES + 1, device="cuda").view(AGES, 1, 1).expand(AGES, GROUPS, FUTURES)
    left = at_first.clone()  # units that are as old or older, oldest first
    kept = torch.zeros(AGES, GROUPS, FUTURES, device="cuda") if variant == "useless" else None
    diary, graphs = collections.deque(maxlen=DAYS), []

    def one_day(number):
        """Goes on by a day, and gives what was thrown away and what is lacking."""
        thrown = left[0].mean()
        stock = torch.cat((left.diff(dim=0), donated[number]), out=kept)
        total = stock.mul_(sound).cumsum(dim=0)
        lacking = (need[number] - total[-1]).relu_().mean()
        torch.sub(total, need[number], out=left).relu_()
        return torch.stack((thrown, lacking))

    if variant == "fix2":
        for number in range(DAYS):
            graphs.append(fixable.capture(torch, lambda day=number: one_day(day), warm_up=1))
        left.copy_(at_first)

    def step():
        for number in range(DAYS):
            if variant == "fix2":
                graph, told = graphs[number]
                graph.replay()
            else:
                told = one_day(number)
            diary.append(told if variant == "fix" else told.tolist())  # cause: wait,copy

    def values():
        """What was thrown away and what was lacking in the last three weeks, and some units."""
        return [float(part) for told in diary for part in told] + left[:, :, 0].reshape(-1).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
