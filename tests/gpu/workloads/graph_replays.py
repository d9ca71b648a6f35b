# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a large captured graph, replayed 3,000 times back to back after a start-up of some seconds.

Wrong: nothing that the host could mend; the GPU is busy throughout (gpu-bound).
useless: two steps in one graph, half the replays.
"""
import time

import fixable

run = fixable.Program(__doc__, steps=3000, warm_up=20, multiple=2)
torch = fixable.load_torch()
nn = torch.nn

DEPTH, WIDTH, BATCH = 12, 1024, 2048


def start_up():
    """What programs do before their loop: read, prepare, try out shapes."""
    until = time.perf_counter() + 2.0
    total = 0.0
    while time.perf_counter() < until:
        x = torch.randn(256, WIDTH)
        total += float((x @ x.T).trace())
        y = torch.randn(64 + int(total) % 64, WIDTH, device="cuda")
        total += float((y @ y.T).sum()) % 7.0
    return total


def make(variant):
    if variant == run.variants[0]:
        start_up()
    fixable.seed(torch)
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH)) for _ in range(DEPTH)]
    model = nn.Sequential(*blocks).cuda().eval()
    state = torch.randn(BATCH, WIDTH, device="cuda")
    each = 2 if variant == "useless" else 1

    def advance():
        with torch.inference_mode():
            for _ in range(each):
                state.copy_(model(state))

    graph, _ = fixable.capture(torch, advance)

    def loop(steps):
        for _ in range(steps // each):
            graph.replay()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: fixable.sample_of(torch, state))


run.main(make)
