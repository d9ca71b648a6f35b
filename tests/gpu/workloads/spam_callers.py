# SPDX-License-Identifier: Apache-2.0
"""PyTorch and PyTorch Geometric: which telephone numbers are those of swindlers is told from whom they call, and whom these
call: GraphSAGE learns it from 480 numbers at a time, with ten calls of each, and ten of each of those, drawn by chance. What is
drawn for a batch is always the same, so that a training can be repeated.

Wrong: the calls are drawn and the numbers are counted through in Python, one by one, anew for each batch, and the GPU waits.
fix: that was done once before; batches lie in host memory, and are copied as before (host-bound).
useless: batches are copied from pinned memory.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=130, warm_up=8)
torch, numpy, functional, nn = fixable.load_torch("numpy", "torch.nn.functional", "torch_geometric.nn")

NUMBERS, SEEDS, DRAWN, BATCHES, FEATURES, HIDDEN = 100000, 480, (10, 10), 25, 64, 128


class Calls:
    """Who had calls with whom; those of number k are others[begins[k]:begins[k + 1]]."""

    def __init__(self, luck):
        self.swindlers = luck.random(NUMBERS) < 0.08
        caller = numpy.repeat(numpy.arange(NUMBERS), luck.integers(6, 30, NUMBERS))
        friend = (caller + luck.integers(1, 400, caller.size)) % NUMBERS
        stranger = luck.integers(0, NUMBERS, caller.size)
        called = numpy.where(self.swindlers[caller] | (luck.random(caller.size) < 0.1), stranger, friend)
        ends, others = numpy.concatenate((caller, called)), numpy.concatenate((called, caller))
        self.others = others[numpy.argsort(ends, kind="stable")].tolist()
        self.begins = [0] + numpy.bincount(ends, minlength=NUMBERS).cumsum().tolist()

    def around(self, batch):
        """The numbers of a batch, its seeds first, and the calls that were drawn, (2, calls), as places among these numbers."""
        luck, begins, others = random.Random(batch), self.begins, self.others
        ring = luck.sample(range(NUMBERS), SEEDS)
        places = {number: place for place, number in enumerate(ring)}
        origins, goals = [], []
        for many in DRAWN:
            further = []
            for number in ring:
                begin, goal = begins[number], places[number]
                calls = begins[number + 1] - begin
                for _ in range(many):  # cause: loader
                    other = others[begin + int(luck.random() * calls)]  # cause: loader
                    origin = places.get(other)  # cause: loader
                    if origin is None:  # cause: loader
                        origin = len(places)  # cause: loader
                        places[other] = origin  # cause: loader
                        further.append(other)  # cause: loader
                    origins.append(origin)  # cause: loader
                    goals.append(goal)  # cause: loader
            ring = further
        return numpy.array(list(places), dtype=numpy.int64), numpy.array((origins, goals), dtype=numpy.int64)  # cause: loader


def make(variant):
    fixable.seed(torch)
    luck = numpy.random.default_rng(20)
    calls = Calls(luck)
    known = luck.standard_normal((NUMBERS, FEATURES))
    known[:, :8] += 0.4 * calls.swindlers[:, None]
    known = torch.from_numpy(known.astype(numpy.float32)).cuda()
    swindlers = torch.from_numpy(calls.swindlers.astype(numpy.int64)).cuda()
    first, second = nn.SAGEConv(FEATURES, HIDDEN).cuda(), nn.SAGEConv(HIDDEN, 2).cuda()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=2e-4)
    kept = [calls.around(batch) for batch in range(BATCHES)] if variant == "fix" else None
    turn, losses = [0], torch.zeros(BATCHES, device="cuda")

    def copied(array):
        tensor = torch.from_numpy(array)
        return (tensor.pin_memory() if variant == "useless" else tensor).cuda()  # cause: delayed

    def step():
        batch = turn[0] % BATCHES
        turn[0] += 1
        numbers, drawn = kept[batch] if kept else calls.around(batch)  # cause: loader
        numbers, drawn = copied(numbers), copied(drawn)  # cause: delayed
        hidden = first(known[numbers], drawn).relu()
        guessed = second(hidden, drawn)[:SEEDS]
        loss = functional.cross_entropy(guessed, swindlers[numbers[:SEEDS]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[batch] = loss.detach()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [losses.mean().item()])


run.main(make)
