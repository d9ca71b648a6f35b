# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns to tell spoken words apart; a DataLoader with eight workers hands over lists of clips, as they are.

Wrong: the clips are brought to one scale, masked and filled up by the main process, one after the other, while the GPU waits.
fix: the same function is the DataLoader's collate_fn, and runs in the workers (host-bound).
useless: the batch is pinned, and copied with non_blocking=True.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=180, warm_up=10, settle=dict.fromkeys(fixable.VARIANTS, 20))
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BATCH, LONGEST, BANDS, AROUND, WIDTH, BLOCKS, WORDS, WORKERS = 64, 400, 80, 75, 256, 5, 35, 8


class Clips(torch.utils.data.Dataset):
    """Cuts clips out of long recordings, whose spectrograms lie in memory."""

    def __init__(self):
        self.recorded = numpy.random.default_rng(20).gamma(2.0, 1.0, (48, 1000, BANDS)).astype(numpy.float32)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        length = 150 + index * 37 % (LONGEST - 150)
        start = index * 101 % (1000 - LONGEST)
        return numpy.log(self.recorded[index % 48, start:start + length] + 1e-3), index % WORDS, index


def prepared(clips):
    """Brings clips to one scale, masks some of their bands and times, and fills them up.

    The mean of a band is taken over the times around each one, the deviation over the whole clip.
    """
    filled = numpy.zeros((len(clips), LONGEST, BANDS), numpy.float32)
    lengths, words = [], []
    for row, (clip, word, index) in zip(filled, clips):
        random = numpy.random.default_rng(index)
        at = numpy.arange(len(clip))
        first, last = numpy.maximum(at - AROUND, 0), numpy.minimum(at + AROUND, len(clip))
        sums = numpy.concatenate([numpy.zeros((1, BANDS), numpy.float32), clip.cumsum(axis=0)])
        scaled = clip - (sums[last] - sums[first]) / (last - first).astype(numpy.float32)[:, None]
        scaled /= clip.std(axis=0) + 1e-3
        for _ in range(2):
            band, time = random.integers(0, BANDS - 12), random.integers(0, len(clip) - 30)
            scaled[:, band:band + random.integers(1, 13)] = 0.0
            scaled[time:time + random.integers(1, 31)] = 0.0
        row[:len(clip)] = scaled
        lengths.append(len(clip))
        words.append(word)
    return torch.from_numpy(filled), torch.tensor(lengths), torch.tensor(words)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(WIDTH, WIDTH, 9, padding=4), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return x + nn.functional.relu(self.norm(self.conv(x)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(BANDS, WIDTH, 5, stride=2, padding=2)
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.head = nn.Linear(WIDTH, WORDS)
        self.register_buffer("times", torch.arange(LONGEST // 2) * 2)

    def forward(self, x, lengths):
        x = self.blocks(self.first(x.transpose(1, 2)))
        there = (self.times < lengths[:, None]).unsqueeze(1)
        return self.head((x * there).sum(dim=2) / there.sum(dim=2))


def make(variant):
    fixable.seed(torch)
    in_workers, pinned = variant == "fix", variant == "useless"
    loader = torch.utils.data.DataLoader(Clips(), batch_size=BATCH, num_workers=WORKERS, persistent_workers=True,
                                         collate_fn=prepared if in_workers else list)
    model = Network().cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    batches, seen = iter(loader), []

    def loop(steps):
        for batch in itertools.islice(batches, steps):  # cause: loader
            if not in_workers:
                batch = prepared(batch)  # cause: loader
            if pinned:
                batch = [part.pin_memory() for part in batch]
            x, lengths, words = [part.to("cuda", non_blocking=pinned) for part in batch]  # cause: delayed
            optimizer.zero_grad()
            loss = loss_of(model(x, lengths), words)
            loss.backward()
            optimizer.step()
        seen[:] = [loss.item()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(seen))


run.main(make)
