# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a click model scores tables of 26 columns of categories and 13 of numbers, each of which is an array that goes to the
GPU on its own.

Wrong: 39 copies from pageable memory a table: the host is held up in each, and the GPU has nothing.
fix: the columns lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: a table is two arrays in pinned memory, one of categories and one of numbers (copy-bound).
useless: the columns go to tensors that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

ROWS, CATEGORIES, NUMBERS, KNOWN, WIDTH, TABLES, LOOK_EVERY = 32768, 26, 13, 20000, 32, 4, 50


class ClickModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CATEGORIES * KNOWN, WIDTH)
        self.register_buffer("first", torch.arange(CATEGORIES)[:, None] * KNOWN)
        self.layers = nn.Sequential(nn.Linear(CATEGORIES * WIDTH + NUMBERS, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                    nn.Linear(512, 1))

    def forward(self, categories, numbers):
        """One row a column."""
        found = self.embed(categories + self.first).transpose(0, 1).flatten(1)
        return self.layers(torch.cat([found, torch.log1p(numbers).t()], dim=1)).sigmoid().squeeze(1)


def tables():
    """Columns by their names."""
    random = numpy.random.default_rng(20)
    return [{**{"C%d" % n: random.integers(0, KNOWN, ROWS) for n in range(CATEGORIES)},
             **{"I%d" % n: random.exponential(2.0, ROWS).astype(numpy.float32) for n in range(NUMBERS)}} for _ in range(TABLES)]


def make(variant):
    fixable.seed(torch)
    model = ClickModel().cuda().eval()
    data = [{name: torch.from_numpy(column) for name, column in table.items()} for table in tables()]
    if variant == "fix":
        data = [{name: column.pin_memory() for name, column in table.items()} for table in data]
    elif variant == "fix2":
        data = [[torch.stack([table["%s%d" % (kind, n)] for n in range(count)]).pin_memory()
                 for kind, count in (("C", CATEGORIES), ("I", NUMBERS))] for table in data]
    static = {name: torch.empty_like(column, device="cuda") for name, column in data[0].items()} if variant == "useless" else {}
    clicks = torch.zeros((), device="cuda")
    turn, seen = [0], []

    def send(table):
        """(categories, numbers) on the device."""
        if variant == "fix2":
            return [part.to("cuda", non_blocking=True) for part in table]
        if variant == "useless":
            there = {name: static[name].copy_(column) for name, column in table.items()}
        else:
            there = {name: column.to("cuda", non_blocking=variant == "fix") for name, column in table.items()}  # cause: copy
        return (torch.stack([there["C%d" % n] for n in range(CATEGORIES)]), torch.stack([there["I%d" % n] for n in range(NUMBERS)]))

    def step():
        table = data[turn[0] % TABLES]
        turn[0] += 1
        with torch.inference_mode():
            clicks.add_(model(*send(table)).mean())
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [clicks.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(seen))


run.main(make)
