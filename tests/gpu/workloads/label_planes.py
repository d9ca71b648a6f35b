# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small network marks each pixel of street scenes with one of 20 classes; its loss wants a plane of zeros and ones for
each class, and so these are what is stored, in pinned memory, from where they are copied with non_blocking=True.

Wrong: the planes are 80 bytes a pixel; the copies take longer than the training step, which waits for them.
fix: a pixel's class is stored as one byte, and the planes are made on the device (copy-bound).
fix2: the next pictures and planes are copied on a second stream, while these are computed (copy-bound).
useless: pictures and planes go to tensors that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=430, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn

BATCH, CLASSES, SIZE, WIDTH, BLOCKS, SETS, LOOK_EVERY = 8, 20, 512, 64, 2, 3, 25


def network():
    parts = [nn.Conv2d(3, WIDTH, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
    for _ in range(BLOCKS):
        parts += [nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts, nn.Conv2d(WIDTH, 4 * CLASSES, 1), nn.PixelShuffle(2))


def scenes():
    """Pictures and the classes of their pixels, in patches of 8 times 8."""
    chance = torch.Generator().manual_seed(20)
    patches = torch.randint(0, CLASSES, (SETS, BATCH, SIZE // 8, SIZE // 8), generator=chance)
    classes = patches.repeat_interleave(8, dim=2).repeat_interleave(8, dim=3)
    pictures = torch.randn(SETS, BATCH, 3, SIZE, SIZE, generator=chance) + classes.unsqueeze(2) / CLASSES
    return pictures, classes


def make(variant):
    fixable.seed(torch)
    model = network().to("cuda", memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    pictures, classes = scenes()
    if variant == "fix":
        marks = [each.to(torch.uint8).unsqueeze(1) for each in classes]
    else:
        marks = [torch.zeros(BATCH, CLASSES, SIZE, SIZE).scatter_(1, each.unsqueeze(1), 1.0) for each in classes]
    data = [(picture.pin_memory(), mark.pin_memory()) for picture, mark in zip(pictures, marks)]
    numbers = torch.arange(CLASSES, dtype=torch.uint8, device="cuda").view(1, CLASSES, 1, 1)
    places = [[torch.empty_like(part, device="cuda") for part in data[0]] for _ in range({"useless": 1, "fix2": 2}.get(variant, 0))]
    turn, seen = [0], []

    if variant == "fix2":
        copies, arrived, used = torch.cuda.Stream(), [torch.cuda.Event() for _ in range(2)], [torch.cuda.Event() for _ in range(2)]
        copies.wait_stream(torch.cuda.current_stream())

        def send(number):
            at = number % 2
            with torch.cuda.stream(copies):
                copies.wait_event(used[at])  # by the step before the last one
                for place, part in zip(places[at], data[number % SETS]):
                    place.copy_(part, non_blocking=True)
                arrived[at].record()

        send(0)

    def batch(number):
        if variant == "fix2":
            send(number + 1)
            torch.cuda.current_stream().wait_event(arrived[number % 2])
            return places[number % 2]
        if variant == "useless":
            return [place.copy_(part, non_blocking=True) for place, part in zip(places[0], data[number % SETS])]
        picture, mark = (part.to("cuda", non_blocking=True) for part in data[number % SETS])  # cause: copy
        return picture, (mark == numbers).float() if variant == "fix" else mark

    def step():
        number = turn[0]
        turn[0] += 1
        picture, planes = batch(number)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            scores = model(picture.contiguous(memory_format=torch.channels_last))
        chances = scores.contiguous().float().softmax(dim=1)
        both = (chances * planes).sum(dim=(0, 2, 3))
        each = chances.sum(dim=(0, 2, 3)) + planes.sum(dim=(0, 2, 3))
        loss = 1.0 - ((2.0 * both + 1.0) / (each + 1.0)).mean()
        loss.backward()
        if variant == "fix2":
            used[number % 2].record()
        optimizer.step()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
