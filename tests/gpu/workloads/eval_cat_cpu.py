# SPDX-License-Identifier: Apache-2.0
"""PyTorch: ten training steps, then an evaluation of 40 batches whose answers are put together on the CPU, batch by batch.

Wrong: torch.cat copies all the answers so far at each batch, while the GPU has nothing to do.
fix: the answers stay on the device, are put together once, and come to the host once (host-bound).
useless: each answer comes by way of pinned memory.
"""
import fixable

TRAIN, EVALUATE = 10, 40

run = fixable.Program(__doc__, steps=300, warm_up=TRAIN + EVALUATE, multiple=TRAIN + EVALUATE)
torch = fixable.load_torch()
nn = torch.nn

BATCH, SIZE, CLASSES = 512, 32, 128


def make(variant):
    fixable.seed(torch)
    parts = [nn.Conv2d(3, 64, 3, stride=2, padding=1), nn.ReLU()]
    for _ in range(4):
        parts += [nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, CLASSES)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(8, BATCH, 3, SIZE, SIZE, device="cuda")
    labels = torch.randint(0, CLASSES, (8, BATCH), device="cuda")
    landing = torch.empty(BATCH, CLASSES).pin_memory()
    seen = []

    def train():
        model.train()
        for number in range(TRAIN):
            optimizer.zero_grad()
            loss_of(model(images[number % 8]), labels[number % 8]).backward()
            optimizer.step()

    @torch.no_grad()
    def evaluate():
        model.eval()
        answers, kept = torch.empty(0, CLASSES), []
        for number in range(EVALUATE):
            answer = model(images[number % 8]).softmax(dim=1)  # cause: delayed
            if variant == "fix":
                kept.append(answer)
            elif variant == "useless":
                landing.copy_(answer, non_blocking=True)
                torch.cuda.synchronize()
                answers = torch.cat([answers, landing])
            else:
                answers = torch.cat([answers, answer.cpu()])  # cause: loader
        if kept:
            answers = torch.cat(kept).cpu()
        truth = labels.cpu().repeat(EVALUATE // 8, 1).flatten()
        right = answers.gather(1, truth.unsqueeze(1)).log().mean()
        seen[:] = [float(right), float(answers[-1].max())]

    def loop(steps):
        for _ in range(steps // (TRAIN + EVALUATE)):
            train()
            evaluate()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(seen))


run.main(make)
