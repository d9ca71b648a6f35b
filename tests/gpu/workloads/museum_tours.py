# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a museum's app says which exhibit a visitor may like next. Visits are lists of exhibits and of seconds in front of
them; a small transformer learns from 512 of them a step what was seen next, as against an exhibit that was not seen at all.

Wrong: the DataLoader has no workers; its collate function cuts, pads and draws exhibits that were not seen, number by number
in Python, and the GPU has nothing to do meanwhile.
fix: all batches are collated once before the loop, and copied as before (host-bound).
fix2: the step of the network is one CUDA graph (launch-bound).
useless: the DataLoader pins its batches, and they are copied without a wait.
"""
import itertools
import math
import random

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10)
torch = fixable.load_torch()

HALLS, IN_HALL, BATCH, SETS, LENGTH, STAYS, WIDTH, LAYERS, LOOK = 60, 100, 512, 16, 32, 8, 64, 2, 50
EXHIBITS = HALLS * IN_HALL + 1  # 0 is none


def recorded():
    """Visits: (exhibit, seconds) one behind the other; from hall to hall, and mostly onwards within one."""
    dice, visits = random.Random(20), []
    for _ in range(BATCH * SETS):
        hall, place, visit = dice.randrange(HALLS), dice.randrange(IN_HALL), []
        for _ in range(dice.randrange(12, 60)):
            visit.append((1 + hall * IN_HALL + place, 5.0 + 60.0 * dice.random()))
            place = (place + dice.randrange(1, 4)) % IN_HALL
            if dice.random() < 0.15:
                hall, place = (hall + 1) % HALLS, dice.randrange(IN_HALL)
        visits.append(visit)
    return visits


def collate(visits):
    """What was seen, how long it was, what was seen next, and what was never seen: (4, BATCH, LENGTH)."""
    dice = random.Random(1000 * visits[0][0][0] + len(visits[0]))  # so that each batch is the same at each run
    seen, stays, wanted, unwanted = [], [], [], []
    for visit in visits:
        known, last = {exhibit for exhibit, _ in visit}, visit[-LENGTH - 1:]  # cause: loader
        padding = [0] * (LENGTH + 1 - len(last))
        exhibits = padding + [exhibit for exhibit, _ in last]
        lengths = padding + [min(STAYS - 1, 1 + int(math.log2(1.0 + seconds))) for _, seconds in last]  # cause: loader
        others = []
        while len(others) < LENGTH:
            other = dice.randrange(1, EXHIBITS)  # cause: loader
            if other not in known:
                others.append(other)
        seen.append(exhibits[:-1])
        stays.append(lengths[:-1])
        wanted.append(exhibits[1:])
        unwanted.append(others)
    return torch.tensor([seen, stays, wanted, unwanted])  # cause: loader


class Tours(torch.nn.Module):
    """Says for each moment of a visit how well exhibits go on with it."""

    def __init__(self):
        super().__init__()
        self.exhibits = torch.nn.Parameter(0.1 * torch.randn(EXHIBITS, WIDTH))
        self.stays = torch.nn.Parameter(0.1 * torch.randn(STAYS, WIDTH))
        self.places = torch.nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(
            WIDTH, 2, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True) for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.register_buffer("before", torch.nn.Transformer.generate_square_subsequent_mask(LENGTH))

    @staticmethod
    def rows(table, numbers):
        return table.index_select(0, numbers.reshape(-1)).view(*numbers.shape, WIDTH)

    def forward(self, seen, stays, wanted, unwanted):
        state = self.rows(self.exhibits, seen) + self.rows(self.stays, stays) + self.places
        for layer in self.layers:
            state = layer(state, src_mask=self.before, is_causal=True)
        state = self.norm(state)
        return (state * self.rows(self.exhibits, wanted)).sum(dim=2), (state * self.rows(self.exhibits, unwanted)).sum(dim=2)


def make(variant):
    fixable.seed(torch)
    visits = recorded()
    days = [list(range(k * BATCH, (k + 1) * BATCH)) for k in range(SETS)]
    model = Tours().cuda().train()
    if variant == "fix":
        batches = itertools.cycle([collate([visits[row] for row in rows]) for rows in days])
    else:
        batches = iter(torch.utils.data.DataLoader(visits, batch_sampler=itertools.cycle(days), collate_fn=collate,
                                                   pin_memory=variant == "useless"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True, capturable=variant == "fix2")
    batch = torch.zeros(4, BATCH, LENGTH, dtype=torch.long, device="cuda")
    usual = torch.zeros(2, device="cuda")
    turn, diary = [0], []

    def forget():
        optimizer.zero_grad(set_to_none=True)

    def update():
        """Learns from `batch`."""
        good, bad = model(*batch.unbind(0))
        counts = (batch[2] > 0).float()
        loss = ((torch.nn.functional.softplus(-good) + torch.nn.functional.softplus(bad)) * counts).sum() / counts.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        right = ((good.detach() > bad.detach()).float() * counts).sum() / counts.sum()
        usual.lerp_(torch.stack((loss.detach(), right)), 0.02)

    if variant == "fix2":
        batch.copy_(collate([visits[row] for row in days[0]]))
        begin = [weight.detach().clone() for weight in model.parameters()]
        graph, _ = fixable.capture(torch, update, forget)
        with torch.no_grad():
            for weight, first in zip(model.parameters(), begin):
                weight.copy_(first)
        for state in optimizer.state.values():
            for number in state.values():
                number.zero_()
        usual.zero_()

    def step():
        given = next(batches)  # cause: loader
        batch.copy_(given, non_blocking=variant == "useless")  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            forget()
            update()
        turn[0] += 1
        if turn[0] % LOOK == 0:
            diary.append(usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
