# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a DataLoader with two workers whose collate function pads and packs texts in Python loops.

Wrong: the workers cannot keep up, and the GPU waits for each batch.
fix: the texts are padded by NumPy in one go (host-bound).
useless: pin_memory=True and non_blocking copies.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10, settle=dict.fromkeys(fixable.VARIANTS, 20))
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BATCH, LENGTH, WIDTH, VOCABULARY, WORKERS = 64, 256, 128, 1000, 2


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        length = 32 + index * 37 % (LENGTH - 32)
        return (numpy.arange(length) * 7 + index) % (VOCABULARY - 1) + 1


def in_loops(texts):
    rows = []
    for text in texts:
        row = [0] * LENGTH
        for at, token in enumerate(text):
            row[at] = int(token)
        counts = {}
        for pair in zip(row, row[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        rows.append([token if counts.get((token, token), 0) < LENGTH else 0 for token in row])
    return torch.tensor(rows)


def at_once(texts):
    rows = numpy.zeros((len(texts), LENGTH), numpy.int64)
    for row, text in zip(rows, texts):
        row[:len(text)] = text
    return torch.from_numpy(rows)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.inner = nn.Linear(WIDTH, 4 * WIDTH)
        self.outer = nn.Linear(4 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(x + self.outer(nn.functional.gelu(self.inner(x))))


def make(variant):
    fixable.seed(torch)
    pinned = variant == "useless"
    loader = torch.utils.data.DataLoader(Texts(), batch_size=BATCH, num_workers=WORKERS, pin_memory=pinned,
                                         collate_fn=at_once if variant == "fix" else in_loops, persistent_workers=True)
    model = Model().cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches, seen = iter(loader), []

    def loop(steps):
        for tokens in itertools.islice(batches, steps):  # cause: loader
            tokens = tokens.to("cuda", non_blocking=pinned)  # cause: delayed
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
            optimizer.step()
        seen[:] = [loss.item()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(seen))


run.main(make)
