# SPDX-License-Identifier: Apache-2.0
"""PyTorch: what the backward pass needs is kept on the host by torch.autograd.graph.save_on_cpu, "to save memory".

Wrong: all of it goes to pageable memory and back at each step, while the GPU has nothing to do.
fix: it stays on the device, where there is room (copy-bound).
fix2: it goes to pinned memory (copy-bound).
useless: set_to_none=False keeps the gradients' memory.
"""
import contextlib

import fixable

run = fixable.Program(__doc__, steps=80, warm_up=3)
torch = fixable.load_torch()
nn = torch.nn

BATCH, WIDTH, BLOCKS, CLASSES = 1024, 1024, 3, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.inner, self.outer = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(self.norm(x))))  # cause: copy


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    model = nn.Sequential(*[Block() for _ in range(BLOCKS)], nn.Linear(WIDTH, CLASSES)).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.randn(4, BATCH, WIDTH, device="cuda")
    labels = torch.randint(0, CLASSES, (4, BATCH), device="cuda")
    turn, seen = [0], []

    def keeping():
        if variant == "fix":
            return contextlib.nullcontext()
        return torch.autograd.graph.save_on_cpu(pin_memory=variant == "fix2")

    def step():
        at = turn[0] % 4
        turn[0] += 1
        optimizer.zero_grad(set_to_none=variant != "useless")
        with keeping():
            loss = nn.functional.cross_entropy(model(inputs[at]), labels[at])  # cause: copy
        loss.backward()  # cause: copy in pt_autograd
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
