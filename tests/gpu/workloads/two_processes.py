# SPDX-License-Identifier: Apache-2.0
"""PyTorch: two processes train small networks on one GPU at the same time, as two experiments of one user.

Wrong: each launches short kernels, and keeps the GPU waiting for the next one.
fix: each captures its step into a CUDA graph (launch-bound).
useless: the second process runs at another place in the list of the system's priorities (nice).
"""
import multiprocessing
import os

import fixable

LAYERS, WIDTH, BATCH = 8, 256, 128


def training(torch, variant):
    """(step, values) of one network."""
    fixable.seed(torch)
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU()) for _ in range(LAYERS)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, y = torch.randn(BATCH, WIDTH, device="cuda"), torch.randint(0, 10, (BATCH,), device="cuda")

    def work():
        loss = nn.functional.cross_entropy(model(x), y)  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss

    def step():
        optimizer.zero_grad()
        work()

    if variant == "fix":
        graph, _ = fixable.capture(torch, work, before=optimizer.zero_grad)

        def step():
            graph.replay()
            return x, y, model  # what the graph reads and writes must live as long as it
    return step, lambda: fixable.sample_of(torch, model[-1].weight)


def second(pipe):
    """The other process: does as it is told, and answers when it is done."""
    import torch
    made = {}
    pipe.send(None)
    while True:
        variant, steps = pipe.recv()
        if steps < 0:
            return
        try:
            if variant not in made:
                if variant == "useless":
                    os.nice(1)
                made[variant] = training(torch, variant)[0]
            for _ in range(steps):
                made[variant]()
            torch.cuda.synchronize()
            pipe.send(None)
        except Exception as e:
            pipe.send(fixable.one_line(e))


def main():
    run = fixable.Program(__doc__, steps=1800)
    torch = fixable.load_torch()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    other = multiprocessing.get_context("spawn").Process(target=second, args=(theirs,), daemon=True)
    other.start()

    def answer():
        if not ours.poll(90):
            raise RuntimeError("the second process does not answer")
        said = ours.recv()
        if said:
            raise RuntimeError("in the second process: " + said)

    answer()

    def make(variant):
        step, values = training(torch, variant)

        def loop(steps):
            ours.send((variant, steps))
            for _ in range(steps):
                step()
            torch.cuda.synchronize()
            answer()

        return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=values)

    run.main(make)
    ours.send(("", -1))
    other.join(20)


if __name__ == "__main__":
    main()
