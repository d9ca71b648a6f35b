# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a search engine learns the order of the web pages that it finds: a network gives each page of a query a score by 136
numbers about it, and is taught by pairs of pages in the wrong order, which count by what it would gain to swap them (LambdaRank).

Wrong: a query has as many pages as were found, so the pairs are made for one query after the other, in a loop: some forty small
kernels for each of the 24 queries of a step, there and back.
fix: the queries of a batch are padded to the same number of pages, and a mask tells which ones there are (launch-bound).
fix2: the batches come again in each epoch; a CUDA graph for each of them (launch-bound).
useless: the losses are read behind 24 steps.
"""
import random

import fixable

LOOK_EVERY = 24

run = fixable.Program(__doc__, steps=360, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
nn, F = torch.nn, torch.nn.functional

FEATURES, WIDTH, QUERIES, SETS, FEWEST, LARGEST, GRADES, RATE = 136, 256, 24, 6, 24, 120, 5, 1e-4


class Batch:
    """Queries with their pages, one query's pages behind another's; `places` tells where a page is in the padded table."""

    def __init__(self, numbers, meaning):
        self.sizes = [numbers.randint(FEWEST, LARGEST) for _ in range(QUERIES)]
        pages = sum(self.sizes)
        self.features = torch.randn(pages, FEATURES, device="cuda")
        worth = self.features @ meaning + 0.5 * torch.randn(pages, device="cuda")
        self.grades = (1.2 * worth + 1.0).round().clamp(0, GRADES - 1)
        places = [query * LARGEST + page for query, size in enumerate(self.sizes) for page in range(size)]
        self.places = torch.tensor(places, device="cuda")
        self.there = torch.zeros(QUERIES * LARGEST, dtype=torch.bool, device="cuda")
        self.there[self.places] = True


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH),
                                    nn.ReLU(), nn.Linear(WIDTH, 1))

    def forward(self, features):
        return self.layers(features).squeeze(1)


def discount(ranks):
    """What a page at these ranks counts; the first one has the rank 0."""
    return 1.0 / torch.log2(ranks.float() + 2.0)  # cause: launch


def query_loss(scores, grades):
    """The pairs of pages of one query."""
    gains = torch.exp2(grades) - 1.0  # cause: launch
    ranks = scores.detach().argsort(descending=True).argsort()  # cause: launch
    best = gains.sort(descending=True).values  # cause: launch
    ideal = (best * discount(torch.arange(len(best), device="cuda"))).sum().clamp(min=1.0)  # cause: launch
    counts = discount(ranks)  # cause: launch
    swapped = (gains[:, None] - gains[None, :]).abs() * (counts[:, None] - counts[None, :]).abs() / ideal  # cause: launch
    swapped = swapped * (grades[:, None] > grades[None, :])  # cause: launch
    return (F.softplus(scores[None, :] - scores[:, None]) * swapped).sum()  # cause: launch


def padded_loss(scores, batch):
    """The same for all queries of a batch at once."""
    table = scores.new_full((QUERIES * LARGEST,), -1e4).index_put((batch.places,), scores).view(QUERIES, LARGEST)
    grades = scores.new_zeros(QUERIES * LARGEST).index_put((batch.places,), batch.grades).view(QUERIES, LARGEST)
    gains = torch.exp2(grades) - 1.0
    ranks = table.detach().argsort(dim=1, descending=True).argsort(dim=1)
    best = gains.sort(dim=1, descending=True).values
    ideal = (best * discount(torch.arange(LARGEST, device="cuda"))).sum(dim=1).clamp(min=1.0)
    counts = discount(ranks)
    swapped = (gains[:, :, None] - gains[:, None, :]).abs() * (counts[:, :, None] - counts[:, None, :]).abs()
    there = batch.there.view(QUERIES, LARGEST)
    counted = (grades[:, :, None] > grades[:, None, :]) & there[:, :, None] & there[:, None, :]
    swapped = swapped * counted / ideal[:, None, None]
    return (F.softplus(table[:, None, :] - table[:, :, None]) * swapped).sum()


def make(variant):
    fixable.seed(torch)
    numbers = random.Random(20)
    meaning = torch.randn(FEATURES, device="cuda") / FEATURES ** 0.5
    batches = [Batch(numbers, meaning) for _ in range(SETS)]
    model = Scorer().cuda()
    adam = torch.optim.Adam(model.parameters(), lr=RATE, capturable=variant == "fix2")
    turn, pending, usual = [0], [], [5.0]

    def loss_of(batch):
        scores = model(batch.features)
        if variant == "fix":
            return padded_loss(scores, batch) / QUERIES
        parts = zip(scores.split(batch.sizes), batch.grades.split(batch.sizes))
        losses = [query_loss(some, grades) for some, grades in parts]  # cause: launch
        return torch.stack(losses).sum() / QUERIES

    def learn(batch):
        loss = loss_of(batch)  # cause: launch
        loss.backward()  # cause: launch
        adam.step()
        return loss.detach()

    def captured():
        """A graph and its loss for each batch; what was learnt on the way there is forgotten."""
        before = {name: value.clone() for name, value in model.state_dict().items()}
        graphs = [fixable.capture(torch, lambda: learn(batch), before=adam.zero_grad) for batch in batches]
        model.load_state_dict(before)
        for state in adam.state.values():
            for value in state.values():
                value.zero_()
        return graphs

    graphs = captured() if variant == "fix2" else None

    def note(loss):
        usual[0] += 0.02 * (loss - usual[0])

    def step():
        which = turn[0] % SETS
        turn[0] += 1
        if variant == "fix2":
            graph, loss = graphs[which]
            graph.replay()
            note(loss.item())
            return
        adam.zero_grad()
        loss = learn(batches[which])  # cause: launch
        if variant != "useless":
            note(loss.item())
            return
        pending.append(loss)
        if turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(pending).tolist():
                note(one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
