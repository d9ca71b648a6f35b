# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a canal climbs over a hill by 16 locks, and its water is short in summer. How far gates are opened in each of 24 hours
is to be learned: boats should wait for little, and no pound (the water between two locks) may run dry or over. 512 made-up days of
rain and boats are followed at once from hour to hour, and the openings are moved by their slopes. A step is such a set of days.

Wrong: an hour is some 70 small kernels, forward and backward, each launched by itself, and the GPU is done with one before the next
one comes.
fix: the step, with its backward and the optimizer, is one CUDA graph (launch-bound).
useless: the memory of the first levels and queues is made once.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10)
torch = fixable.load_torch()
pad = torch.nn.functional.pad

LOCKS, DAYS, HOURS, SETS, READ = 16, 512, 24, 8, 40
LEAST, MOST, FULL, LOCKFUL = 1.2, 2.6, 2.0, 0.04  # metres of water in a pound; what a boat takes down with it


def seasons():
    """Rain and feeders, (SETS, HOURS, DAYS, LOCKS + 1), and boats that come to each lock, (SETS, HOURS, DAYS, LOCKS)."""
    for _ in range(SETS):
        dry = torch.rand(DAYS, 1, device="cuda")
        rain = 0.03 * torch.rand(HOURS, DAYS, LOCKS + 1, device="cuda") * dry
        rain[:, :, 0] += 0.05
        rain[:, :, -1] -= 0.05
        by_day = torch.sin(torch.linspace(0.0, 3.1416, HOURS, device="cuda")).view(HOURS, 1, 1)
        boats = 4.0 * by_day * torch.rand(HOURS, DAYS, LOCKS, device="cuda")
        yield rain, boats


def make(variant):
    fixable.seed(torch)
    drawn = list(seasons())
    rain = torch.zeros(HOURS, DAYS, LOCKS + 1, device="cuda")
    boats = torch.zeros(HOURS, DAYS, LOCKS, device="cuda")
    wanted = torch.zeros(HOURS, LOCKS, device="cuda", requires_grad=True)
    rule = torch.optim.Adam([wanted], lr=0.01, capturable=True, fused=True)
    usual = torch.zeros(3, device="cuda")
    notes, turn = collections.deque(maxlen=50), [0]

    def first():
        """Memory of the levels and queues in the morning."""
        return torch.empty(DAYS, LOCKS + 1, device="cuda"), torch.empty(DAYS, LOCKS, device="cuda")

    kept = first() if variant == "useless" else None

    def an_hour(hour, water, queue, gates):
        """Levels and queues an hour later, and what is bad about them."""
        here = queue + boats[hour]  # cause: launch
        passed = torch.minimum(here, gates * (water[:, :-1] - 0.5 * LEAST).clamp(min=0.0).sqrt())  # cause: launch
        down = LOCKFUL * passed  # cause: launch
        water = water - pad(down, (0, 1)) + pad(down, (1, 0)) + rain[hour]  # cause: launch
        dry, over = torch.relu(LEAST - water), torch.relu(water - MOST)  # cause: launch
        return water, here - passed, dry.square().mean() + over.square().mean()  # cause: launch

    def learn():
        """Follows the days, and moves the openings."""
        gates = 3.0 * torch.sigmoid(wanted)
        water, queue = kept or first()
        water.fill_(FULL)
        queue.fill_(0.0)
        bad, waited = 0.0, 0.0
        for hour in range(HOURS):
            water, queue, wrong = an_hour(hour, water, queue, gates[hour])  # cause: launch
            bad, waited = bad + wrong, waited + queue.mean()  # cause: launch
        cost = 20.0 * bad + 0.1 * waited
        cost.backward()  # cause: launch
        rule.step()
        usual.lerp_(torch.stack((cost.detach(), bad.detach(), waited.detach())), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    if variant == "fix":
        rain.copy_(drawn[0][0])
        boats.copy_(drawn[0][1])
        graph, _ = fixable.capture(torch, learn, clear)
        for one in (usual, wanted.detach(), *(part for part in rule.state[wanted].values() if torch.is_tensor(part))):
            one.zero_()

    def step():
        rain.copy_(drawn[turn[0] % SETS][0])
        boats.copy_(drawn[turn[0] % SETS][1])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(usual.tolist())

    def values():
        """The usual cost, how dry or full it is, how long boats wait, and the openings of two locks."""
        return usual.tolist() + torch.sigmoid(wanted.detach())[:, :2].reshape(-1).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
