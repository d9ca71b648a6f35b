# SPDX-License-Identifier: Apache-2.0
"""PyTorch: gradients are clipped by a norm that is added up on the host, with .item() of each parameter's gradient.

Wrong: the host waits once for each parameter, and launches the next kernel only then.
fix: the same norms are added up on the device, and nothing is read (sync-bound).
fix2: forward, backward and norms are one CUDA graph, clipping and the optimizer another; the reads stay (launch-bound).
useless: zero_grad(set_to_none=False) keeps the gradients' memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn

LAYERS, WIDTH, BATCH = 24, 1024, 2048


def make(variant):
    fixable.seed(torch)
    blocks = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU())]
    model = nn.Sequential(*blocks, nn.Linear(WIDTH, 16)).cuda().train()
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    inputs = torch.randn(4, BATCH, WIDTH, device="cuda")
    turn, seen = [0], []

    def clip(most):
        norms = [p.grad.norm() for p in parameters]
        if variant == "fix":
            total = torch.stack(norms).square().sum().sqrt()
            share = (most / (total + 1e-6)).clamp(max=1.0)
        else:
            total = sum(n.item() ** 2 for n in norms) ** 0.5  # cause: wait
            share = min(1.0, most / (total + 1e-6))
        for p in parameters:
            p.grad.mul_(share)

    def step():
        turn[0] += 1
        optimizer.zero_grad(set_to_none=variant != "useless")
        loss = model(inputs[turn[0] % 4]).square().mean()
        loss.backward()
        clip(1.0)
        optimizer.step()
        seen[:] = [loss.detach()]

    if variant == "fix2":
        batch, share = inputs[0].clone(), torch.ones((), device="cuda")

        def gradients():
            loss = model(batch).square().mean()
            loss.backward()
            return loss.detach(), [p.grad.norm() for p in parameters]

        def update():
            for p in parameters:
                p.grad.mul_(share)
            optimizer.step()

        first, (loss, norms) = fixable.capture(torch, gradients, lambda: optimizer.zero_grad(set_to_none=True))
        second, _ = fixable.capture(torch, update)

        def captured():
            turn[0] += 1
            batch.copy_(inputs[turn[0] % 4])
            first.replay()
            total = sum(n.item() ** 2 for n in norms) ** 0.5
            share.fill_(min(1.0, 1.0 / (total + 1e-6)))
            second.replay()
            seen[:] = [loss]

        return fixable.Work(captured, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))
    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
