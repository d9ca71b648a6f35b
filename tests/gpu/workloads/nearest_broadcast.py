# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the ten nearest of 32,768 stored vectors for each query; the distances are written as (a[:, None] - b[None]) squared.

Wrong: a table of all differences is written and read three times; the GPU is never idle for long (gpu-bound).
fix: the same distances by a matrix product, without that table (gpu-bound).
useless: the queries come from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=5)
torch = fixable.load_torch()

STORED, QUERIES, WIDTH, NEAREST, SETS = 32768, 256, 128, 10, 8


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    stored = torch.randn(STORED, WIDTH, device="cuda")
    queries = torch.randn(SETS, QUERIES, WIDTH)
    if variant == "useless":
        queries = queries.pin_memory()
    lengths = stored.square().sum(dim=1)
    turn, seen = [0], []

    @torch.no_grad()
    def step():
        query = queries[turn[0] % SETS].to("cuda", non_blocking=variant == "useless")
        turn[0] += 1
        if variant == "fix":
            squared = query.square().sum(dim=1, keepdim=True) + lengths - 2.0 * query @ stored.T
        else:
            squared = (query[:, None] - stored[None]).square().sum(dim=-1)
        found = squared.topk(NEAREST, dim=1, largest=False)
        seen[:] = [found.values.cpu(), found.indices.cpu()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: seen[0].reshape(-1).tolist())


run.main(make)
