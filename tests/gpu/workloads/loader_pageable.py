# SPDX-License-Identifier: Apache-2.0
"""PyTorch: training on large batches from worker processes, which are copied from pageable memory, each before its step.

Wrong: the copy of a batch holds the host up, and nothing runs beside it.
fix: pin_memory=True and non_blocking=True (copy-bound).
useless: twice the workers.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=250, warm_up=15, settle=dict.fromkeys(fixable.VARIANTS, 30))
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BATCH, SIZE, WORKERS = 64, 160, 6


class Batches(torch.utils.data.Dataset):
    """Whole batches, cut from a memory of images."""

    def __init__(self):
        self.images = torch.from_numpy(numpy.random.default_rng(20).standard_normal((256, 3, SIZE, SIZE), dtype=numpy.float32))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        first = index * 37 % (len(self.images) - BATCH)
        return self.images[first:first + BATCH].clone(), torch.arange(first, first + BATCH) % 10


def make(variant):
    fixable.seed(torch)
    pinned = variant == "fix"
    loader = torch.utils.data.DataLoader(Batches(), batch_size=None, num_workers=WORKERS * (2 if variant == "useless" else 1),
                                         pin_memory=pinned, persistent_workers=True, prefetch_factor=2)
    model = nn.Sequential(nn.Conv2d(3, 32, 7, stride=4), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2),
                          nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(128, 10)).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    batches = iter(loader)
    seen = []

    def loop(steps):
        for images, labels in itertools.islice(batches, steps):
            images = images.to("cuda", non_blocking=pinned)  # cause: copy
            labels = labels.to("cuda", non_blocking=pinned)
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
        seen[:] = [loss.item()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(seen))


run.main(make)
