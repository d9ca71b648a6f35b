# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small network learns to tell the places of a chromosome where genes are spliced (donors and acceptors) from other
places, by the 512 bases around each one; a window of the other strand is turned around and paired.

Wrong: the bases become ones and zeros one by one in a loop of Python, in the process that launches the kernels; the network waits
for each batch.
fix: the chromosome lies on the GPU as numbers, and windows are cut, turned and made ones and zeros there (host-bound).
fix2: eight workers of the DataLoader make the batches (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=480, warm_up=LOOK_EVERY, multiple=LOOK_EVERY, settle={"fix2": 2 * LOOK_EVERY})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BASES, SITES, LENGTH, BATCH, WORKERS = 4_000_000, 12288, 512, 96, 8
KINDS, WIDTH, BLOCKS = 3, 96, 4
LETTERS = "ACGT"
NUMBER, PAIR = dict(zip(LETTERS, range(4))), dict(zip(LETTERS, reversed(LETTERS)))
SIGNS = ("", "CAGGTAAGT", "TTTCTTTTGCAG")  # of no site, of a donor and of an acceptor


def paired(window):
    """Read on the other strand."""
    return "".join([PAIR[base] for base in reversed(window)])  # cause: loader


def one_hot(window):
    """A row of ones and zeros for each of the four bases."""
    rows = numpy.zeros((4, LENGTH), dtype=numpy.float32)  # cause: loader
    for at, base in enumerate(window):  # cause: loader
        rows[NUMBER[base], at] = 1.0  # cause: loader
    return rows


class Sites(torch.utils.data.Dataset):
    """Windows of a chromosome, each with a site of a known kind in its middle."""

    def __init__(self):
        random = numpy.random.default_rng(20)
        self.kinds, self.turned = random.integers(0, KINDS, SITES), random.integers(0, 2, SITES)
        self.starts = random.permutation(BASES // 256 - 4)[:SITES] * 256
        letters = numpy.array(list(LETTERS))[random.integers(0, 4, BASES)]
        for start, kind, turned in zip(self.starts.tolist(), self.kinds.tolist(), self.turned.tolist()):
            sign = paired(SIGNS[kind]) if turned else SIGNS[kind]
            for at, base in enumerate(sign, start + (LENGTH - len(sign)) // 2):
                letters[at] = base
        self.text = "".join(letters.tolist())

    def __getitem__(self, index):
        window = self.text[self.starts[index]:self.starts[index] + LENGTH]
        if self.turned[index]:
            window = paired(window)  # cause: loader
        return torch.from_numpy(one_hot(window)), int(self.kinds[index])  # cause: loader


class Order:
    """All sites in turn, in another order each time, without an end."""

    def __iter__(self):
        random = numpy.random.default_rng(21)
        while True:
            yield from random.permutation(SITES).tolist()


class Block(nn.Module):
    def __init__(self, apart):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(WIDTH, WIDTH, 7, padding=3 * apart, dilation=apart), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return x + nn.functional.relu(self.norm(self.conv(x)))


class Splicer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, WIDTH, 11, padding=5)
        self.blocks = nn.Sequential(*[Block(2 ** number) for number in range(BLOCKS)])
        self.last = nn.Linear(2 * WIDTH, KINDS)

    def forward(self, x):
        x = self.blocks(nn.functional.relu(self.first(x)))
        return self.last(torch.cat((x[:, :, LENGTH // 2 - 8:LENGTH // 2 + 8].amax(dim=2), x.mean(dim=2)), dim=1))


class Resident:
    """The chromosome on the GPU, from which batches are cut there."""

    def __init__(self, sites):
        letters = numpy.array(list(LETTERS.encode()), dtype=numpy.uint8)  # in the order of the alphabet
        text = numpy.frombuffer(sites.text.encode(), dtype=numpy.uint8)
        self.bases = torch.from_numpy(numpy.searchsorted(letters, text).astype(numpy.uint8)).cuda()
        self.known = numpy.stack((sites.starts, sites.turned, sites.kinds))
        self.along, self.rows = torch.arange(LENGTH, device="cuda"), torch.eye(4, device="cuda")

    def batch(self, chosen):
        starts, turned, kinds = torch.from_numpy(self.known[:, chosen]).cuda()
        windows = self.bases[starts[:, None] + self.along].long()
        windows = torch.where(turned[:, None] == 1, 3 - windows.flip(1), windows)
        return self.rows[windows].transpose(1, 2).contiguous(), kinds


def make(variant):
    fixable.seed(torch)
    model = Splicer().cuda().train()
    adam = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    sites, order, pinned = Sites(), Order(), variant == "useless"
    if variant == "fix":
        resident, numbers = Resident(sites), iter(order)
    else:
        workers = {"num_workers": WORKERS, "multiprocessing_context": "fork"} if variant == "fix2" else {}
        batches = iter(torch.utils.data.DataLoader(sites, batch_size=BATCH, sampler=order, pin_memory=pinned, **workers))
    turn, pending, usual = [0], [], [1.1]

    def drawn():
        """The next batch, on the GPU."""
        if variant == "fix":
            return resident.batch([next(numbers) for _ in range(BATCH)])
        windows, kinds = next(batches)  # cause: loader
        return windows.to("cuda", non_blocking=pinned), kinds.to("cuda", non_blocking=pinned)  # cause: delayed

    def step():
        windows, kinds = drawn()  # cause: loader
        turn[0] += 1
        adam.zero_grad()
        loss = nn.functional.cross_entropy(model(windows), kinds)
        loss.backward()
        adam.step()
        pending.append(loss.detach())
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.1 * (torch.stack(pending).mean().item() - usual[0])
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
