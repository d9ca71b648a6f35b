# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on two GPUs: one bucket holds all gradients, whose all-reduce begins when the backward pass is done.

Wrong: nothing runs beside the communication.
fix: buckets of 25 MB, as by default, reduced beside the backward pass (comm-bound).
useless: gradient_as_bucket_view=True.
"""
import ddp
import fixable

WIDTH, LAYERS, ROWS = 4096, 8, 3072


def make(torch, rank, variant):
    fixable.seed(torch)
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(*layers).to("cuda", torch.bfloat16), device_ids=[rank],
        bucket_cap_mb=25 if variant == "fix" else 1 << 14, gradient_as_bucket_view=variant == "useless")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        model(x).float().square().mean().backward()
        optimizer.step()

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, next(model.parameters())))


if __name__ == "__main__":
    ddp.main(__doc__, make, steps=600)
