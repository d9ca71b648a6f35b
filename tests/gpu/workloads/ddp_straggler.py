# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on two GPUs: all long texts go to the second rank, which prepares them while the first one waits.

Wrong: the first rank waits for the second in each all-reduce, the second one's GPU waits for its host.
fix: the texts are shared out evenly (comm-bound as the first rank sees it, host-bound as the second does).
useless: small buckets, reduced beside the backward pass.
"""
import ddp
import fixable

WIDTH, LAYERS, ROWS, TEXTS = 1024, 8, 512, 32


def make(torch, rank, variant):
    import numpy
    fixable.seed(torch)
    nn = torch.nn
    random = numpy.random.default_rng(20 + rank)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers).cuda(), device_ids=[rank],
                                                bucket_cap_mb=5 if variant == "useless" else 1 << 14)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    share = TEXTS // 2 if variant == "fix" else TEXTS * rank
    x = torch.randn(ROWS, WIDTH, device="cuda")

    def prepare():
        """Cuts and sorts texts by length, some 0.25 ms each."""
        for _ in range(share):
            numpy.sort(random.integers(0, 30000, 6000))

    def step():
        prepare()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, next(model.parameters())))


if __name__ == "__main__":
    ddp.main(__doc__, make, steps=500)
