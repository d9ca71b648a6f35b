# SPDX-License-Identifier: Apache-2.0
"""PyTorch: some seconds of start-up, then epochs of 80 training steps and 20 evaluation steps of a small network.

Wrong: the training steps are short kernels that Python launches. (The start-up is no step's fault.)
fix: the training step is one CUDA graph; the evaluation stays eager (launch-bound).
useless: the evaluation adds its hits up on the device, and reads them once an epoch.
"""
import time

import fixable

run = fixable.Program(__doc__, steps=1500, warm_up=100, multiple=100)
torch = fixable.load_torch()
nn = torch.nn

TRAIN, EVALUATE, BATCH = 80, 20, 64


def network():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(),
                         nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()


def start_up():
    """Reads and sorts the data, and tries some sizes."""
    until = time.perf_counter() + 4.0
    size = 8
    while time.perf_counter() < until:
        data = torch.randn(200000)
        torch.sort(data)
        size = 8 + size % 64
        torch.randn(size, 3, 32, 32, device="cuda").mul_(2.0).sum().item()


def make(variant):
    if variant == run.variants[0]:
        start_up()
    fixable.seed(torch)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=variant == "fix")
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(8, BATCH, 3, 32, 32, device="cuda")
    labels = torch.randint(0, 10, (8, BATCH), device="cuda")
    static_x, static_y = images[0].clone(), labels[0].clone()
    model.train()
    hits = []

    def train(x, y):
        loss = loss_of(model(x), y)  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss

    if variant == "fix":
        graph, _ = fixable.capture(torch, lambda: train(static_x, static_y), before=optimizer.zero_grad)

    def epoch():
        model.train()
        for number in range(TRAIN):
            x, y = images[number % 8], labels[number % 8]
            if variant == "fix":
                static_x.copy_(x)
                static_y.copy_(y)
                graph.replay()
            else:
                optimizer.zero_grad()
                train(x, y)
        model.eval()
        right = 0
        with torch.inference_mode():
            for number in range(EVALUATE):
                found = (model(images[number % 8]).argmax(1) == labels[number % 8]).sum()
                right += found if variant == "useless" else found.item()
        hits[:] = [int(right)]

    def loop(steps):
        for _ in range(steps // (TRAIN + EVALUATE)):
            epoch()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: hits)


run.main(make)
