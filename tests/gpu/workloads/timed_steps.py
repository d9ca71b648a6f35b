# SPDX-License-Identifier: Apache-2.0
"""torchvision: ResNet-50 on large batches; each part of a step is timed with torch.cuda.synchronize() around it.

Wrong: nothing that matters: a step is so long that the waits cost next to nothing (gpu-bound).
fix: without the waits (sync-bound, if it helped).
useless: set_to_none=False keeps the gradients' memory.
"""
import time

import fixable

run = fixable.Program(__doc__, steps=50, warm_up=3)
torch, torchvision = fixable.load_torch("torchvision")

BATCH, SIZE = 160, 224


def make(variant):
    fixable.seed(torch)
    form = torch.channels_last
    model = torchvision.models.resnet50(num_classes=100).to("cuda", memory_format=form).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    images = torch.randn(BATCH, 3, SIZE, SIZE, device="cuda").contiguous(memory_format=form)
    labels = torch.randint(0, 100, (BATCH,), device="cuda")
    spent, seen = {}, []

    class Timed:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            if variant != "fix":
                torch.cuda.synchronize()
            self.start = time.perf_counter()

        def __exit__(self, *error):
            if variant != "fix":
                torch.cuda.synchronize()
            spent[self.name] = spent.get(self.name, 0.0) + time.perf_counter() - self.start

    def step():
        with Timed("forward"):
            optimizer.zero_grad(set_to_none=variant != "useless")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_of(model(images), labels)
        with Timed("backward"):
            loss.backward()
        with Timed("optimizer"):
            optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
