# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a physics-informed network learns Burgers' equation; the first and second derivatives come from autograd.grad.

Wrong: derivatives of derivatives are some hundreds of short kernels a step, which Python launches slower than they run.
fix: forward, derivatives, backward and optimizer are one CUDA graph; the loss is still read at each step (launch-bound).
useless: the loss is read every 100 steps instead of at each one.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=15)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

INSIDE, EDGE, WIDTH, DEPTH, SETS, VISCOSITY, LOOK_EVERY = 2048, 256, 64, 5, 16, 0.01 / numpy.pi, 100


def network():
    parts, before = [], 2
    for _ in range(DEPTH):
        parts += [nn.Linear(before, WIDTH), nn.Tanh()]
        before = WIDTH
    return nn.Sequential(*parts, nn.Linear(before, 1))


def derivative(of, by):
    return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]  # cause: launch


def make(variant):
    fixable.seed(torch)
    model = network().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=variant == "fix")
    inside = torch.rand(SETS, INSIDE, 2, device="cuda") * torch.tensor([1.0, 2.0], device="cuda") - torch.tensor(
        [0.0, 1.0], device="cuda")
    edge = torch.rand(SETS, EDGE, 2, device="cuda") * 2.0 - 1.0
    edge[:, :EDGE // 2, 0] = 0.0  # at the start; the rest at the walls
    edge[:, EDGE // 2:, 0].abs_()
    edge[:, EDGE // 2:, 1].sign_()
    wanted = torch.where(edge[:, :, :1] == 0.0, -torch.sin(numpy.pi * edge[:, :, 1:]), torch.zeros((), device="cuda"))
    turn, history = [0], []

    def work(points, at_edge, value):
        t = points[:, :1].detach().requires_grad_()
        x = points[:, 1:].detach().requires_grad_()
        u = model(torch.cat([t, x], dim=1))  # cause: launch
        u_t, u_x = derivative(u, t), derivative(u, x)
        u_xx = derivative(u_x, x)
        residual = u_t + u * u_x - VISCOSITY * u_xx  # cause: launch
        loss = residual.square().mean() + (model(at_edge) - value).square().mean()  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss.detach()

    if variant == "fix":
        static = [inside[0].clone(), edge[0].clone(), wanted[0].clone()]
        graph, static_loss = fixable.capture(torch, lambda: work(*static), before=optimizer.zero_grad)

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "fix":
            for place, now in zip(static, (inside[at], edge[at], wanted[at])):
                place.copy_(now)
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad()
            loss = work(inside[at], edge[at], wanted[at])
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            history[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(history))


run.main(make)
