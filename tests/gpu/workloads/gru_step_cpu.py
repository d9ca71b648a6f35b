# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a stack of GRU cells on a stream of samples, batch of one; each output goes to the host by .cpu().

Wrong: a sample is some dozens of short kernels, launched by Python, and then a wait.
fix: a sample's kernels are one CUDA graph; each output is still read (launch-bound).
fix2: outputs stay on the device, and 50 are read at a time (sync-bound).
useless: the output comes by way of pinned memory, and is waited for all the same.
"""
import fixable

run = fixable.Program(__doc__, steps=5000, warm_up=50, multiple=50)
torch = fixable.load_torch()
nn = torch.nn

WIDTH, LAYERS, OUTPUTS, TOGETHER = 512, 4, 8, 50


def make(variant):
    fixable.seed(torch)
    cells = [nn.GRUCell(WIDTH, WIDTH).cuda() for _ in range(LAYERS)]
    head = nn.Linear(WIDTH, OUTPUTS).cuda()
    samples = torch.randn(64, 1, WIDTH, device="cuda")
    states = [torch.zeros(1, WIDTH, device="cuda") for _ in range(LAYERS)]
    static_x = samples[0].clone()
    landing, landed = torch.zeros(1, OUTPUTS).pin_memory(), torch.cuda.Event()
    turn, sums, kept = [0], [0.0] * OUTPUTS, []

    def advance(x):
        with torch.no_grad():
            for cell, state in zip(cells, states):
                state.copy_(cell(x, state))  # cause: launch
                x = state
            return torch.tanh(head(x))  # cause: launch

    if variant == "fix":
        graph, static_y = fixable.capture(torch, lambda: advance(static_x))
        for state in states:
            state.zero_()

    def count(outputs):
        for row in outputs.tolist():
            for i, value in enumerate(row):
                sums[i] += value

    def step():
        x = samples[turn[0] % len(samples)]
        turn[0] += 1
        if variant == "fix":
            static_x.copy_(x)
            graph.replay()
            count(static_y.cpu())
        elif variant == "fix2":
            kept.append(advance(x))
            if len(kept) == TOGETHER:
                count(torch.cat(kept).cpu())
                kept.clear()
        elif variant == "useless":
            landing.copy_(advance(x), non_blocking=True)
            landed.record()
            landed.synchronize()
            count(landing)
        else:
            count(advance(x).cpu())

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(sums))


run.main(make)
