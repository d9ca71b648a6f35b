# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a laboratory calls genotypes from sequenced DNA. Around each site that may differ from the reference, the 24 reads that
cover it are laid over each other by their CIGAR strings: a picture of bases, qualities, strands and mismatches, 81 columns wide.
A small network of convolutions learns from 64 such pictures at a time whether no, one or both copies of the gene differ.

Wrong: the pictures of a batch are laid out anew in each epoch, read by read, by the thread that launches, and the GPU waits.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and the pictures are made as before (launch-bound).
useless: the pictures go over pinned memory.
"""
import itertools
import random
import re

import fixable

run = fixable.Program(__doc__, steps=220, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

SITES, BATCH, READS, LENGTH, WIDE, CHANNELS, SHOWN = 640, 64, 24, 120, 81, 4, 25
CIGAR = re.compile(r"(\d+)([MIDS])")
INK = numpy.zeros(256, dtype=numpy.uint8)
for place, letter in enumerate(b"ACGT"):
    INK[letter] = 60 * (place + 1)


def sequenced():
    """Sites: the reference around them, the genotype, and reads: first column, bases, qualities, CIGAR string, strand."""
    luck, noise, found = random.Random(20), numpy.random.default_rng(20), []
    for _ in range(SITES):
        around = "".join(luck.choices("ACGT", k=WIDE + 2 * LENGTH))
        genotype = luck.choices((0, 1, 2), weights=(5, 3, 2))[0]
        middle = LENGTH + WIDE // 2
        other = luck.choice([letter for letter in "ACGT" if letter != around[middle]])
        reads = []
        for _ in range(READS):
            start = luck.randint(middle - LENGTH + 20, middle - 20)
            bases = list(around[start:start + LENGTH + 3])
            if luck.random() < genotype / 2:
                bases[middle - start] = other
            soft = luck.randint(1, 12)
            cut = luck.randint(10, LENGTH - soft - 12)
            kind = luck.choices("MID", weights=(4, 3, 3))[0]
            cigar = "%dS%dM" % (soft, LENGTH - soft)
            if kind == "I":
                bases[soft + cut:soft + cut] = luck.choices("ACGT", k=2)
                cigar = "%dS%dM2I%dM" % (soft, cut, LENGTH - soft - cut - 2)
            elif kind == "D":
                del bases[soft + cut:soft + cut + 3]
                cigar = "%dS%dM3D%dM" % (soft, cut, LENGTH - soft - cut)
            for at in luck.sample(range(LENGTH), 3):
                bases[at] = luck.choice("ACGT")
            qualities = noise.integers(20, 41, LENGTH, dtype=numpy.uint8)
            reads.append((start + soft - LENGTH, "".join(bases[:LENGTH]).encode(), qualities, cigar, luck.random() < 0.5))
        found.append((around[LENGTH:LENGTH + WIDE].encode(), genotype, reads))
    return found


def laid(picture, reference, reads):
    """Lays the reads of a site over each other."""
    for row, (column, bases, qualities, cigar, forward) in enumerate(reads):
        inks, at = INK[numpy.frombuffer(bases, dtype=numpy.uint8)], 0
        for count, kind in CIGAR.findall(cigar):
            count = int(count)
            if kind == "M":
                first, last = max(column, 0), min(column + count, WIDE)
                if first < last:
                    off = at + first - column
                    own = inks[off:off + last - first]
                    picture[0, row, first:last] = own
                    picture[1, row, first:last] = 6 * qualities[off:off + last - first]
                    picture[2, row, first:last] = 240 if forward else 120
                    picture[3, row, first:last] = 200 * (own != reference[first:last])
                column += count
                at += count
            elif kind == "D":
                column += count
            else:
                at += count


def batch_of(sites):
    """Pictures as bytes, and genotypes."""
    pictures = numpy.zeros((len(sites), CHANNELS, READS, WIDE), dtype=numpy.uint8)
    for picture, (reference, _, reads) in zip(pictures, sites):
        laid(picture, INK[numpy.frombuffer(reference, dtype=numpy.uint8)], reads)  # cause: loader
    return torch.from_numpy(pictures), torch.tensor([genotype for _, genotype, _ in sites])


def network():
    layers, before = [], CHANNELS
    for wide, stride in ((32, 1), (48, 2), (64, 1), (96, 2), (96, 1), (128, 2)):
        layers += [nn.Conv2d(before, wide, 3, stride, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU()]
        before = wide
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 3))


def make(variant):
    fixable.seed(torch)
    sites = sequenced()
    model = network().cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, capturable=True)
    usual, turn, curve = torch.ones((), device="cuda"), [0], []

    def epochs():
        while True:
            for first in range(0, SITES, BATCH):
                yield batch_of(sites[first:first + BATCH])  # cause: loader

    batches = itertools.cycle(list(itertools.islice(epochs(), SITES // BATCH))) if variant == "fix" else epochs()
    pictures, genotypes = (part.cuda() for part in batch_of(sites[:BATCH]))

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the batch in `pictures`, and notes the loss."""
        told = model(pictures.float().mul_(1.0 / 255.0))
        loss = nn.functional.cross_entropy(told, genotypes, label_smoothing=0.2)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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
        for place, part in zip((pictures, genotypes), batch):
            place.copy_(part.pin_memory() if variant == "useless" else part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item(), float(model[-1].weight.detach().norm())])


run.main(make)
