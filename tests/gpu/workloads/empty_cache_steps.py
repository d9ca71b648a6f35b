# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an evaluation that calls torch.cuda.empty_cache() after each batch, so as not to run out of memory.

Wrong: all memory is given back to the driver at each step, which waits for the GPU, and is allocated anew.
fix: the cache is left alone (alloc-bound).
useless: inference_mode instead of no_grad.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn

BATCH, WIDTH, LAYERS = 4096, 1024, 8


def make(variant):
    fixable.seed(torch)
    parts = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
    model = nn.Sequential(*parts, nn.Linear(WIDTH, 16)).cuda().eval()
    inputs = torch.randn(2, BATCH, WIDTH, device="cuda")
    total = torch.zeros(16, device="cuda")
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    turn = [0]

    def step():
        turn[0] += 1
        with context():
            y = model(inputs[turn[0] % 2])
            total.add_(torch.softmax(y, dim=1).mean(dim=0))
        del y
        if variant != "fix":
            torch.cuda.empty_cache()  # cause: alloc

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, total))


run.main(make)
