# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a deep, narrow network of 400 small parameter tensors, trained by an AdamW with foreach=False.

Wrong: the optimizer launches a dozen kernels for each tensor, each of a few microseconds.
fix: the whole step is one CUDA graph, with capturable=True (launch-bound).
fix2: fused=True, a few launches for all tensors (launch-bound).
useless: the batch comes from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=100, warm_up=4)
torch = fixable.load_torch()
nn = torch.nn

LAYERS, WIDTH, BATCH = 200, 64, 64


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = x + 0.05 * torch.tanh(layer(x))
        return x


def make(variant):
    fixable.seed(torch)
    model = Deep().cuda()
    more = {"fix": {"foreach": False, "capturable": True}, "fix2": {"fused": True}}.get(variant, {"foreach": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, **more)
    batches = [torch.randn(BATCH, WIDTH) for _ in range(8)]
    if variant == "useless":
        batches = [b.pin_memory() for b in batches]
    static_x = batches[0].cuda()
    seen = []

    def work(x):
        loss = (model(x) - x.roll(1, dims=1)).square().mean()
        loss.backward()
        optimizer.step()  # cause: launch
        return loss

    if variant == "fix":
        graph, static_loss = fixable.capture(torch, lambda: work(static_x), before=optimizer.zero_grad)

    def loop(steps):
        for number in range(steps):
            batch = batches[number % len(batches)]
            if variant == "fix":
                static_x.copy_(batch)
                graph.replay()
                loss = static_loss
            else:
                x = batch.to("cuda", non_blocking=variant == "useless")
                optimizer.zero_grad()
                loss = work(x)
        seen[:] = [loss.detach().clone()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: fixable.sample_of(torch, *seen))


run.main(make)
