# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: ComplEx learns a graph of knowledge; for each fact some false ones are made in Python, which draws again where
one of them is in the set of all that is known.

Wrong: a false fact after the other takes Python longer than the whole training step, and the GPU waits for them.
fix: false facts are drawn on the device, and looked for there among the known ones (host-bound).
fix2: NumPy draws them all at once, and looks for them in a sorted array (host-bound).
useless: the facts are pinned, and copied with non_blocking=True.
"""
import random as chance

import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
torch, numpy, gnn = fixable.load_torch("numpy", "torch_geometric.nn")
F = torch.nn.functional

ENTITIES, RELATIONS, FACTS, WIDTH, BATCH, FALSE = 100000, 40, 300000, 256, 512, 8


def key(head, relation, tail):
    return (head * RELATIONS + relation) * ENTITIES + tail


def make(variant):
    fixable.seed(torch)
    random, dice = numpy.random.default_rng(20), chance.Random(20)
    facts = numpy.stack([random.integers(0, most, FACTS) for most in (ENTITIES, RELATIONS, ENTITIES)], axis=1)
    in_order = numpy.sort(key(*facts.T))
    known = set(map(tuple, facts.tolist()))
    there, order_there = torch.from_numpy(facts).cuda(), torch.from_numpy(in_order).cuda()
    model = gnn.ComplEx(ENTITIES, RELATIONS, WIDTH).cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    seen = []

    def one_by_one(true):
        """For each fact some that are not known; their head or their tail is another one."""
        found = []
        for head, relation, tail in true.tolist():  # cause: loader
            for _ in range(FALSE):  # cause: loader
                while True:
                    other = dice.randrange(ENTITIES)  # cause: loader
                    fact = (other, relation, tail) if dice.random() < 0.5 else (head, relation, other)  # cause: loader
                    if fact not in known:  # cause: loader
                        break
                found.append(fact)  # cause: loader
        return numpy.array(found)  # cause: loader

    def at_once(true):
        head, relation, tail = numpy.repeat(true, FALSE, axis=0).T
        other, at_head = random.integers(0, ENTITIES, len(head)), random.random(len(head)) < 0.5
        while True:
            found = numpy.stack([numpy.where(at_head, other, head), relation, numpy.where(at_head, tail, other)], axis=1)
            wanted = key(*found.T)
            again = in_order[numpy.minimum(numpy.searchsorted(in_order, wanted), FACTS - 1)] == wanted
            if not again.any():
                return found
            other[again] = random.integers(0, ENTITIES, int(again.sum()))

    def on_device():
        true = there[torch.randint(0, FACTS, (BATCH,), device="cuda")]
        head, relation, tail = true.unsqueeze(1).expand(BATCH, FALSE, 3).reshape(-1, 3).unbind(1)
        other, at_head = torch.randint_like(head, ENTITIES), torch.rand(BATCH * FALSE, device="cuda") < 0.5
        wanted = key(torch.where(at_head, other, head), relation, torch.where(at_head, tail, other))
        again = order_there[torch.searchsorted(order_there, wanted).clamp_(max=FACTS - 1)] == wanted
        other = torch.where(again, (other + 1) % ENTITIES, other)  # hardly ever: its neighbour instead
        found = torch.stack([torch.where(at_head, other, head), relation, torch.where(at_head, tail, other)], dim=1)
        return torch.cat([true, found])

    def batch():
        """Facts, and behind them the false ones."""
        if variant == "fix":
            return on_device()
        true = facts[random.integers(0, FACTS, BATCH)]
        false = at_once(true) if variant == "fix2" else one_by_one(true)  # cause: loader
        both = torch.from_numpy(numpy.concatenate([true, false]))
        if variant == "useless":
            return both.pin_memory().to("cuda", non_blocking=True)
        return both.cuda()  # cause: delayed

    def step():
        head, relation, tail = batch().unbind(1)
        optimizer.zero_grad()
        scores = model(head, relation, tail)
        loss = F.softplus(-scores[:BATCH]).mean() + F.softplus(scores[BATCH:]).mean()
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
