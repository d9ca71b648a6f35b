# SPDX-License-Identifier: Apache-2.0
"""torchaudio: boxes in a forest record sounds at dawn, and a network learns which of forty birds sings. An example is two
seconds of a recording, with wind, rain and another bird added from other ones, as a mel spectrogram.

Wrong: two workers of the DataLoader make the spectrograms, which takes each of them much longer than the network needs for a
step; it waits for each batch.
fix: twelve workers, as the machine has processors for them (host-bound).
fix2: the workers add the noise only, and the GPU makes the spectrograms of a whole batch (host-bound).
useless: pin_memory=True and copies with non_blocking=True.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=140, warm_up=LOOK_EVERY, multiple=LOOK_EVERY,
                      settle={"fix": 2 * LOOK_EVERY, "fix2": 2 * LOOK_EVERY})
torch, torchaudio, numpy = fixable.load_torch("torchaudio", "numpy")
nn = torch.nn
F = nn.functional

BIRDS, RATE, SECONDS, LONG, WEATHERS, BATCH, WORKERS = 40, 24000, 2, 20, 8, 24, 2
MELS, WINDOW, HOP, WIDTH, LENGTH = 64, 1024, 240, 48, RATE * SECONDS


def dawn():
    """A recording of each bird, which sings now and then, and some of wind and rain: 16 bits."""
    random = numpy.random.default_rng(20)
    time = numpy.arange(RATE * LONG, dtype=numpy.float32) / RATE
    for bird in range(BIRDS):
        pitch = 1500.0 + 150.0 * bird + 300.0 * numpy.sin((6.0 + bird % 7) * time + random.uniform(0.0, 6.0))
        song = numpy.sin(2.0 * numpy.pi * numpy.cumsum(pitch, dtype=numpy.float64) / RATE)
        song *= numpy.sin((3.0 + bird % 5) * time) > 0.2
        yield (6000.0 * song + 600.0 * random.standard_normal(len(time))).astype(numpy.int16)
    for _ in range(WEATHERS):
        gusts = numpy.cumsum(random.standard_normal(len(time))) - numpy.linspace(0.0, 1.0, len(time))
        yield (4000.0 * numpy.sin(0.02 * gusts) + 2000.0 * random.standard_normal(len(time))).astype(numpy.int16)


def spectrograms():
    return torchaudio.transforms.MelSpectrogram(sample_rate=RATE, n_fft=WINDOW, hop_length=HOP, f_min=200.0, n_mels=MELS)


def in_decibels(mels):
    """On one scale for the network."""
    return 0.1 * (10.0 * torch.log10(mels + 1e-5) + 10.0)


class Songs(torch.utils.data.Dataset):
    def __init__(self, whole):
        self.recordings, self.whole, self.mels = list(dawn()), whole, spectrograms()

    def piece(self, random, recording):
        start = int(random.integers(0, len(recording) - LENGTH))
        return recording[start:start + LENGTH].astype(numpy.float32) / 32768.0

    def __getitem__(self, index):
        random, bird = numpy.random.default_rng(index), index % BIRDS
        sound = random.uniform(0.5, 1.5) * self.piece(random, self.recordings[bird])
        sound += random.random() * self.piece(random, self.recordings[BIRDS + int(random.integers(0, WEATHERS))])
        sound += 0.3 * random.random() * self.piece(random, self.recordings[int(random.integers(0, BIRDS))])
        sound = torch.from_numpy(sound)
        return (in_decibels(self.mels(sound)) if self.whole else sound), bird


class Order:
    """Ever new numbers of examples."""

    def __iter__(self):
        random = numpy.random.default_rng(21)
        while True:
            yield from random.integers(0, 1 << 30, 4096).tolist()


def network():
    def block(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    parts, before = [], 1
    for number in range(4):
        wide = WIDTH * 2 ** number
        parts += block(before, wide) + block(wide, wide) + [nn.MaxPool2d(2)]
        before = wide
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, BIRDS))


def make(variant):
    fixable.seed(torch)
    model = network().to("cuda", memory_format=torch.channels_last).train()
    adam = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)
    pinned, workers = variant == "useless", 12 if variant == "fix" else WORKERS
    loader = torch.utils.data.DataLoader(Songs(variant != "fix2"), batch_size=BATCH, sampler=Order(), num_workers=workers,
                                         pin_memory=pinned, multiprocessing_context="fork")
    mels, batches, pending, usual = spectrograms().cuda(), iter(loader), [], [3.7]

    def step():
        sounds, birds = next(batches)  # cause: loader
        sounds, birds = sounds.to("cuda", non_blocking=pinned), birds.to("cuda", non_blocking=pinned)  # cause: delayed
        if variant == "fix2":
            sounds = in_decibels(mels(sounds))
        pictures = sounds.unsqueeze(1).to(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            scores = model(pictures)
        loss = F.cross_entropy(scores.float(), birds, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        pending.append(loss.detach())
        if len(pending) == LOOK_EVERY:
            usual[0] += 0.1 * (torch.stack(pending).mean().item() - usual[0])
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
