# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: people who hunt mushrooms send photos, and a ResNet learns which kind each one shows, 32 photos at a
time. A data set gives a photo as transforms.v2 make it: smaller, cut to its middle, and as rich in contrast as can be; the
network normalizes the bytes on the GPU. There is no luck in these transforms.

Wrong: the photos are transformed anew in each epoch, one by one, by the DataLoader in the thread that launches, and the GPU waits
for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and the DataLoader does what it did (launch-bound).
useless: the DataLoader pins the batches.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=120, warm_up=8)
torch, models, v2 = fixable.load_torch("torchvision.models", "torchvision.transforms.v2")
nn, data = torch.nn, torch.utils.data

PHOTOS, BATCH, HIGH, WIDE, SMALL, CUT, KINDS, SHOWN = 384, 32, 300, 400, 128, 112, 24, 20


def sent_in():
    """Photos, (PHOTOS, 3, HIGH, WIDE) in bytes, and kinds: a round cap with a stem on the ground of a wood."""
    kinds = torch.arange(PHOTOS) * 7 % KINDS
    down = torch.linspace(0.0, 1.0, HIGH, device="cuda")[:, None]
    right = torch.linspace(0.0, 1.3, WIDE, device="cuda")
    colours = 0.3 + 0.6 * torch.rand(KINDS, 3, 1, 1, device="cuda")
    photos = torch.empty(PHOTOS, 3, HIGH, WIDE, dtype=torch.uint8)
    for number, kind in enumerate(kinds.tolist()):
        coarse = 0.1 + 0.4 * torch.rand(1, 3, 30, 40, device="cuda")
        ground = nn.functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        cap = ((down - 0.4).square() * (1.0 + 0.2 * kind) + (right - 0.65).square() < 0.06).float()
        stem = ((down > 0.4) & (down < 0.8) & ((right - 0.65).abs() < 0.02 + 0.002 * kind)).float()
        seen = ground + cap * (colours[kind] - ground)
        photos[number] = (200.0 * (seen + stem * (0.8 - seen))).to(torch.uint8).cpu()
    return photos, kinds


class Photos(data.Dataset):
    """Photos with their kinds, transformed when they are asked for."""

    def __init__(self, photos, kinds):
        self.photos, self.kinds = photos, kinds
        self.transform = v2.Compose([v2.Resize(SMALL, antialias=True), v2.CenterCrop(CUT), v2.RandomAutocontrast(p=1.0)])

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, number):
        return self.transform(self.photos[number]), self.kinds[number]  # cause: loader


def make(variant):
    fixable.seed(torch)
    found = Photos(*sent_in())
    model = models.resnet18(weights=None, num_classes=KINDS).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)
    loader = data.DataLoader(found, batch_size=BATCH, drop_last=True, pin_memory=variant == "useless")
    middle = torch.tensor([0.3, 0.3, 0.3], device="cuda").view(3, 1, 1)
    usual, turn, curve = torch.full((), 3.0, device="cuda"), [0], []
    photos = torch.zeros(BATCH, 3, CUT, CUT, dtype=torch.uint8, device="cuda")
    kinds = torch.zeros(BATCH, dtype=torch.int64, device="cuda")

    def epochs():
        while True:
            yield from loader  # cause: loader

    batches = itertools.cycle(list(loader)) if variant == "fix" else epochs()

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from what is in `photos`, and notes the loss."""
        loss = nn.functional.cross_entropy(model((photos.float() / 255.0 - middle) / 0.25), kinds)
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        some, their_kinds = next(batches)  # cause: loader
        photos.copy_(some, non_blocking=True)  # cause: delayed
        kinds.copy_(their_kinds, non_blocking=True)
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the kinds have become."""
        return [usual.item(), float(model.fc.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
