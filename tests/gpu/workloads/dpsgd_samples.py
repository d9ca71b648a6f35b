# SPDX-License-Identifier: Apache-2.0
"""PyTorch: training with differential privacy: the gradient of each sample is made, clipped and added up on its own, in a loop.

Wrong: some sixty short kernels for each sample, launched by Python.
fix: the gradients of all samples at once, by torch.func.vmap (launch-bound).
fix2: the loop, as it is, and the optimizer are one CUDA graph (launch-bound).
useless: the batch comes from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=4)
torch, func = fixable.load_torch("torch.func")
nn = torch.nn
F = nn.functional

BATCH, MOST, NOISE = 16, 1.0, 0.8


def network():
    return nn.Sequential(nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.Tanh(), nn.MaxPool2d(2, 1),
                         nn.Conv2d(16, 32, 4, stride=2), nn.Tanh(), nn.MaxPool2d(2, 1),
                         nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.Tanh(), nn.Linear(32, 10))


def make(variant):
    fixable.seed(torch)
    model = network().cuda().train()
    names, parameters = zip(*model.named_parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    images, labels = torch.randn(4, BATCH, 1, 28, 28), torch.randint(0, 10, (4, BATCH))
    if variant == "useless":
        images, labels = images.pin_memory(), labels.pin_memory()
    static_x, static_y = images[0].cuda(), labels[0].cuda()
    totals = [torch.zeros_like(p) for p in parameters]
    turn, seen = [0], []

    def one_by_one(x, y):
        """The clipped gradients of the samples, added up."""
        for total in totals:
            total.zero_()
        for i in range(BATCH):
            loss = F.cross_entropy(model(x[i:i + 1]), y[i:i + 1])  # cause: launch
            gradients = torch.autograd.grad(loss, parameters)  # cause: launch in pt_autograd
            norm = torch.stack([g.norm() for g in gradients]).norm()  # cause: launch
            share = (MOST / (norm + 1e-6)).clamp(max=1.0)  # cause: launch
            for total, g in zip(totals, gradients):
                total.add_(g * share)  # cause: launch
        return totals

    def loss_of_one(values, x, y):
        return F.cross_entropy(func.functional_call(model, values, (x[None],)), y[None])

    def together(x, y):
        values = {name: p.detach() for name, p in zip(names, parameters)}
        gradients = func.vmap(func.grad(loss_of_one), in_dims=(None, 0, 0))(values, x, y)
        gradients = [gradients[name] for name in names]
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)
        share = (MOST / (norms + 1e-6)).clamp(max=1.0)
        return [torch.tensordot(share, g, dims=1) for g in gradients]

    def train(x, y):
        sums = together(x, y) if variant == "fix" else one_by_one(x, y)
        for p, total in zip(parameters, sums):
            p.grad = (total + NOISE * MOST * torch.randn_like(total)) / BATCH
        optimizer.step()

    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: train(static_x, static_y))

    def step():
        at = turn[0] % 4
        turn[0] += 1
        x, y = images[at], labels[at]
        if variant == "fix2":
            static_x.copy_(x)
            static_y.copy_(y)
            graph.replay()
        else:
            train(x.to("cuda", non_blocking=variant == "useless"), y.to("cuda", non_blocking=variant == "useless"))
        seen[:] = parameters[:1]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, seen[0].abs()))


run.main(make)
