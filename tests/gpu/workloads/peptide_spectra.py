# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns to tell from the spectrum of a peptide's pieces how many of each amino acid it has. A spectrum is a
list of masses and intensities; its 150 highest peaks are laid into 1600 bins, their roots are taken, and the whole is brought to
length one, 192 spectra at a time. The network is a row of linear layers with normalization.

Wrong: the spectra are laid into bins anew in each epoch, one by one with NumPy, by the thread that launches, and the GPU waits for
each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and NumPy does what it did (launch-bound).
useless: the usual loss is not read every 25 steps.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

SPECTRA, BATCH, BINS, BIN, PEAKS, NOISE, WIDE, BLOCKS, EVERY = 3072, 192, 1600, 1.0005, 150, 160, 512, 4, 25
# The masses of G A S P V T C L N D Q K E M H F R Y W, without the water that is lost.
MASSES = (57.02, 71.04, 87.03, 97.05, 99.07, 101.05, 103.01, 113.08, 114.04, 115.03, 128.06, 128.09, 129.04, 131.04, 137.06,
          147.07, 156.10, 163.06, 186.08)


def measured():
    """Spectra as (masses, intensities, how many of each amino acid): pieces from both ends of a peptide, and noise."""
    random = numpy.random.default_rng(20)
    masses, found = numpy.array(MASSES), []
    for _ in range(SPECTRA):
        acids = random.integers(0, len(MASSES), random.integers(7, 13))
        ahead = numpy.cumsum(masses[acids])[:-1] + 1.007
        behind = numpy.cumsum(masses[acids[::-1]])[:-1] + 19.018
        pieces = numpy.concatenate((ahead, behind, ahead - 17.03, behind - 18.01, ahead + 1.003, behind + 1.003))
        high = random.gamma(2.0, 400.0, len(pieces))
        where = numpy.concatenate((pieces + random.normal(0.0, 0.02, len(pieces)), random.uniform(100.0, 1590.0, NOISE)))
        much = numpy.concatenate((high, random.exponential(60.0, NOISE)))
        found.append((where.astype(numpy.float32), much.astype(numpy.float32), numpy.bincount(acids, minlength=len(MASSES))))
    return found


def laid(spectra):
    """A batch: the spectra in bins, and what is in the peptides."""
    rows = numpy.zeros((len(spectra), BINS), dtype=numpy.float32)
    counts = numpy.zeros((len(spectra), len(MASSES)), dtype=numpy.float32)
    for number, (where, much, acids) in enumerate(spectra):
        highest = numpy.argsort(much)[-PEAKS:]  # cause: loader
        strong = much[highest] / much.max()  # cause: loader
        bins = numpy.clip(numpy.round(where[highest] / BIN), 0, BINS - 1).astype(numpy.int64)  # cause: loader
        row = numpy.bincount(bins, weights=numpy.sqrt(strong), minlength=BINS)  # cause: loader
        rows[number] = row / numpy.linalg.norm(row)  # cause: loader
        counts[number] = acids  # cause: loader
    return torch.from_numpy(rows), torch.from_numpy(counts)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(WIDE), nn.Linear(WIDE, 2 * WIDE), nn.GELU(), nn.Linear(2 * WIDE, WIDE))

    def forward(self, x):
        return x + self.inner(x)


def make(variant):
    fixable.seed(torch)
    spectra = measured()
    model = nn.Sequential(nn.Linear(BINS, WIDE), *(Block() for _ in range(BLOCKS)), nn.LayerNorm(WIDE),
                          nn.Linear(WIDE, len(MASSES))).cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=2e-4, weight_decay=0.01, capturable=True)
    usual, turn, curve = torch.full((), 1.0, device="cuda"), [0], []

    def in_batches():
        for start in range(0, SPECTRA, BATCH):
            yield laid(spectra[start:start + BATCH])  # cause: loader

    def epochs():
        while True:
            yield from in_batches()  # cause: loader

    batches = itertools.cycle(list(in_batches())) if variant == "fix" else epochs()
    rows, counts = (part.cuda() for part in laid(spectra[:BATCH]))

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the spectra in `rows`, and notes the loss."""
        loss = nn.functional.poisson_nll_loss(model(rows), counts)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        batch = next(batches)  # cause: loader
        for place, part in zip((rows, counts), batch):
            place.copy_(part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % EVERY == 0 and variant != "useless":
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the last layer have become."""
        return [usual.item(), float(model[-1].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
