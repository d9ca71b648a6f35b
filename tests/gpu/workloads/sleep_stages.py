# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns to tell how deeply someone sleeps, from half minutes of the brain's waves (EEG) of some nights; the
workers of a DataLoader filter the waves, and bring them to one scale.

Wrong: an epoch is short, and for each one the DataLoader starts its workers anew and ends them again; none of them has a batch
ready when the epoch begins.
fix: persistent_workers=True, so that the workers stay (host-bound).
fix2: the waves are filtered once, and lie on the GPU (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import itertools

import fixable

BATCH, WINDOWS = 64, 2048
EPOCH = WINDOWS // BATCH  # steps

run = fixable.Program(__doc__, steps=12 * EPOCH, warm_up=EPOCH, multiple=EPOCH)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

CHANNELS, RATE, SECONDS, STAGES, WIDTH, BLOCKS, WORKERS = 2, 100, 30, 5, 128, 6, 12
LENGTH = RATE * SECONDS
RHYTHMS = (10.0, 6.0, 13.0, 1.5, 5.0)  # in Hz, of being awake, of light, middle and deep sleep, and of dreams


class Nights(torch.utils.data.Dataset):
    """Half minutes of the waves at two places of the head, as the amplifier's 16 bits, and the stage of each one."""

    def __init__(self):
        random = numpy.random.default_rng(20)
        time = numpy.arange(LENGTH, dtype=numpy.float32) / RATE
        self.stages = random.integers(0, STAGES, WINDOWS)
        rhythm = numpy.array(RHYTHMS)[self.stages] * random.uniform(0.9, 1.1, WINDOWS)
        angle = 2.0 * numpy.pi * (rhythm[:, None] * time + random.random((WINDOWS, 1)))
        waves = 300.0 * numpy.sin(angle).astype(numpy.float32)[:, None]
        waves = waves + 250.0 * random.standard_normal((WINDOWS, CHANNELS, LENGTH), dtype=numpy.float32)
        waves += 400.0 * numpy.sin(2.0 * numpy.pi * 50.0 * time + 0.3) + 900.0 * numpy.sin(0.2 * time)  # the mains, and sweat
        self.waves = waves.astype(numpy.int16)
        often = numpy.fft.rfftfreq(LENGTH, 1.0 / RATE)
        self.passed = ((often > 0.3) & (often < 35.0)).astype(numpy.float32)

    def __len__(self):
        return WINDOWS

    def __getitem__(self, index):
        spectrum = numpy.fft.rfft(self.waves[index].astype(numpy.float32), axis=1)
        waves = numpy.fft.irfft(spectrum * self.passed, LENGTH, axis=1)
        waves = waves / (waves.std(axis=1, keepdims=True) + 1e-3)
        return torch.from_numpy(numpy.clip(waves, -6.0, 6.0).astype(numpy.float32)), int(self.stages[index])


class Order:
    """All half minutes, in another order in each epoch."""

    def __init__(self):
        self.epochs = 0

    def __len__(self):
        return WINDOWS

    def __iter__(self):
        self.epochs += 1
        return iter(numpy.random.default_rng(self.epochs).permutation(WINDOWS).tolist())


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(WIDTH, WIDTH, 9, padding=4), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return x + nn.functional.relu(self.norm(self.conv(x)))


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(CHANNELS, WIDTH, 25, stride=3, padding=12)
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.last = nn.Linear(WIDTH, STAGES)

    def forward(self, x):
        return self.last(self.blocks(nn.functional.relu(self.first(x))).mean(dim=2))


def make(variant):
    fixable.seed(torch)
    model = Judge().cuda().train()
    adam = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    nights, order, pinned = Nights(), Order(), variant == "useless"
    loader = torch.utils.data.DataLoader(nights, batch_size=BATCH, sampler=order, num_workers=WORKERS, pin_memory=pinned,
                                         persistent_workers=variant == "fix", multiprocessing_context="fork")
    if variant == "fix2":
        kept = torch.stack([waves for waves, _ in nights]).cuda()
        known = torch.from_numpy(nights.stages).cuda()
    losses, usual = [], [1.6]

    def batches():
        """Those of an epoch, on the GPU."""
        if variant == "fix2":
            for chosen in torch.tensor(list(order)).cuda().split(BATCH):
                yield kept[chosen], known[chosen]
            return
        for waves, stages in loader:  # cause: loader
            yield waves.to("cuda", non_blocking=pinned), stages.to("cuda", non_blocking=pinned)  # cause: delayed

    def epoch(steps):
        """So many steps of an epoch, and its mean loss."""
        for waves, stages in itertools.islice(batches(), steps):  # cause: loader
            adam.zero_grad()
            loss = nn.functional.cross_entropy(model(waves), stages)
            loss.backward()
            adam.step()
            losses.append(loss.detach())
        usual[0] += 0.2 * (torch.stack(losses).mean().item() - usual[0])
        losses.clear()

    def loop(steps):
        while steps > 0:
            epoch(min(steps, EPOCH))  # cause: loader
            steps -= EPOCH

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(usual))


run.main(make)
