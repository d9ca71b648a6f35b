# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a CNN trained on images that lie in the process's memory; each batch is sliced and sent by .cuda().

Wrong: .cuda() from pageable memory holds the host up, and the GPU waits for each batch.
fix: the images are pinned once, and copied with non_blocking=True (copy-bound).
useless: the batch goes to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn

IMAGES, BATCH, SIZE = 1024, 128, 144


def make(variant):
    fixable.seed(torch)
    images, labels = torch.randn(IMAGES, 3, SIZE, SIZE), torch.randint(0, 10, (IMAGES,))
    if variant == "fix":
        images, labels = images.pin_memory(), labels.pin_memory()
    model = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
                          nn.Conv2d(64, 128, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(128, 10)).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    static_x = torch.empty(BATCH, 3, SIZE, SIZE, device="cuda")
    static_y = torch.empty(BATCH, dtype=torch.long, device="cuda")
    turn, seen = [0], []

    def step():
        first = turn[0] * BATCH % IMAGES
        turn[0] += 1
        x, y = images[first:first + BATCH], labels[first:first + BATCH]
        if variant == "useless":
            x, y = static_x.copy_(x), static_y.copy_(y)
        else:
            x, y = x.cuda(non_blocking=variant == "fix"), y.cuda(non_blocking=variant == "fix")  # cause: copy
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
