# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns which payments by card are frauds, from some hours of payments that are gone through again and
again. It is also told what the same card has paid in this hour before: how often, how much, how long ago, and where.

Wrong: Python goes through the payments of an hour one by one, with a dictionary of the cards, while the GPU waits.
fix: an hour's table is made when it is seen for the first time, and kept (host-bound).
fix2: the loss is read behind 20 hours, so that the GPU learns while the next table is made (sync-bound).
fix3: NumPy makes the table: payments are sorted by card, and added up within each card (host-bound).
useless: a table goes to the GPU by way of pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

PAYMENTS, CARDS, SHOPS, COUNTRIES, HOURS, TOLD, WIDTH, LAYERS, HOUR_S = 4096, 2000, 400, 30, 8, 7, 1024, 4, 3600.0


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.shops = nn.Embedding(SHOPS, 32)
        layers, size = [], TOLD + 32
        for _ in range(LAYERS):
            layers += [nn.Linear(size, WIDTH), nn.ReLU()]
            size = WIDTH
        self.layers = nn.Sequential(*layers, nn.Linear(WIDTH, 1))

    def forward(self, table, shops):
        return self.layers(torch.cat((table, self.shops(shops)), dim=1)).squeeze(1)


def hours():
    """Payments in the order of time: card, second, amount, country, shop, and whether it was a fraud."""
    random = numpy.random.default_rng(20)
    for _ in range(HOURS):
        card, second = random.integers(0, CARDS, PAYMENTS), numpy.sort(random.random(PAYMENTS) * HOUR_S)
        amount, country = numpy.exp(random.normal(3.0, 1.0, PAYMENTS)), random.integers(0, COUNTRIES, PAYMENTS)
        fraud = (amount * (country > 24) + random.normal(0.0, 10.0, PAYMENTS) > 30.0).astype(numpy.float32)
        yield card, second, amount, country, random.integers(0, SHOPS, PAYMENTS), fraud


def one_by_one(card, second, amount, country):
    table, cards = numpy.zeros((PAYMENTS, TOLD), dtype=numpy.float32), {}
    payments = zip(card.tolist(), second.tolist(), amount.tolist(), country.tolist())  # cause: loader
    for number, (which, when, much, where) in enumerate(payments):  # cause: loader
        count, total, last, place = cards.get(which, (0, 0.0, when - HOUR_S, where))  # cause: loader
        usual = total / count if count else much  # cause: loader
        table[number] = (much / 50.0, count, total / 50.0, much / usual, (when - last) / HOUR_S,  # cause: loader
                         place != where, when / HOUR_S)  # cause: loader
        cards[which] = count + 1, total + much, when, where  # cause: loader
    return table


def all_at_once(card, second, amount, country):
    order = numpy.argsort(card, kind="stable")
    which, when, much, where = card[order], second[order], amount[order], country[order]
    number = numpy.arange(PAYMENTS)
    new = numpy.concatenate(([True], which[1:] != which[:-1]))
    first = numpy.maximum.accumulate(numpy.where(new, number, 0))
    count = number - first
    before = numpy.cumsum(much) - much
    total = numpy.where(new, 0.0, before - before[first])
    usual = numpy.where(new, much, total / numpy.maximum(count, 1))
    last = numpy.where(new, when - HOUR_S, numpy.roll(when, 1))
    moved = ~new & (numpy.roll(where, 1) != where)
    table = numpy.empty((PAYMENTS, TOLD), dtype=numpy.float32)
    columns = (much / 50.0, count, total / 50.0, much / usual, (when - last) / HOUR_S, moved, when / HOUR_S)
    table[order] = numpy.stack(columns, axis=1)
    return table


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    model = Judge().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    past = list(hours())
    shops = [torch.from_numpy(hour[4]).cuda() for hour in past]
    frauds = [torch.from_numpy(hour[5]).cuda() for hour in past]
    pinned = torch.zeros(PAYMENTS, TOLD, pin_memory=True) if variant == "useless" else None
    turn, kept, pending, mean = [0], {}, [], [0.7]

    def table_of(number):
        if variant == "fix3":
            return torch.from_numpy(all_at_once(*past[number][:4]))
        if variant != "fix":
            return torch.from_numpy(one_by_one(*past[number][:4]))  # cause: loader
        if number not in kept:
            kept[number] = torch.from_numpy(one_by_one(*past[number][:4]))
        return kept[number]

    def note(loss):
        mean[0] += 0.02 * (loss - mean[0])

    def step():
        number = turn[0] % HOURS
        turn[0] += 1
        table = table_of(number)  # cause: loader
        if variant == "useless":
            table = pinned.copy_(table).to("cuda", non_blocking=True)
        else:
            table = table.to("cuda")  # cause: delayed
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(table, shops[number]), frauds[number])  # cause: delayed
        loss.backward()
        optimizer.step()
        if variant == "fix2":
            pending.append(loss.detach())
            if turn[0] % LOOK_EVERY == 0:
                for one in torch.stack(pending).tolist():
                    note(one)
                pending.clear()
        else:
            note(loss.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
