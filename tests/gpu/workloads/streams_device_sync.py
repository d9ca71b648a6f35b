# SPDX-License-Identifier: Apache-2.0
"""PyTorch: pieces go through four streams, each with its copy to the GPU, its work and its copy back; after each piece the
program waits for the whole device before it prepares the next one on the host.

Wrong: with the wait nothing runs beside anything else, in spite of the streams.
fix: a stream is waited for only when its buffers are used again (sync-bound).
useless: eight streams.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=24, multiple=8)
torch, numpy = fixable.load_torch("numpy")

ROWS, WIDTH = 2048, 1024  # 8 MiB a piece


def make(variant):
    fixable.seed(torch)
    count = 8 if variant == "useless" else 4
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / 32.0 for _ in range(3)]
    streams = [torch.cuda.Stream() for _ in range(count)]
    there = [torch.randn(ROWS, WIDTH).pin_memory() for _ in range(count)]
    back = [torch.zeros(ROWS, WIDTH).pin_memory() for _ in range(count)]
    device = [torch.empty(ROWS, WIDTH, device="cuda") for _ in range(count)]
    random = numpy.random.default_rng(20)
    turn = [0]
    torch.cuda.synchronize()

    def step():
        at = turn[0] % count
        turn[0] += 1
        if variant == "fix":
            streams[at].synchronize()
        there[at][:8, :] = torch.from_numpy(numpy.sort(random.random((8, WIDTH), dtype=numpy.float32)))
        with torch.cuda.stream(streams[at]):
            x = device[at].copy_(there[at], non_blocking=True)
            for w in weights:
                x = torch.relu(x @ w)
            back[at].copy_(x, non_blocking=True)
        if variant != "fix":
            torch.cuda.synchronize()  # cause: wait

    return fixable.Work(step, torch.cuda.synchronize, lambda: back[0].reshape(-1)[16384:20480].tolist())


run.main(make)
