# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a neural differential equation learns from measured courses how four quantities change; it is solved by the classical
method of Runge and Kutta, and the gradients come from all its steps.

Wrong: more than a thousand short kernels a training step, which Python launches slower than they run.
fix: the solution, the backward pass and the optimizer are one CUDA graph (launch-bound).
useless: fused=True for the optimizer.
"""
import fixable

run = fixable.Program(__doc__, steps=280, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

QUANTITIES, WIDTH, COURSES, TIMES, TICK, SETS, LOOK_EVERY = 4, 64, 512, 12, 0.1, 8, 20


def solved(slope, y):
    """The course from y on, at each of the times."""
    course = []
    for _ in range(TIMES):
        first = slope(y)
        second = slope(y + (0.5 * TICK) * first)  # cause: launch
        third = slope(y + (0.5 * TICK) * second)  # cause: launch
        fourth = slope(y + TICK * third)  # cause: launch
        y = y + (TICK / 6.0) * (first + 2.0 * second + 2.0 * third + fourth)  # cause: launch
        course.append(y)
    return torch.stack(course)  # cause: launch


class Slope(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(QUANTITIES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                                 nn.Linear(WIDTH, QUANTITIES))

    def forward(self, y):
        return self.net(y)  # cause: launch


@torch.no_grad()
def measured():
    """Where courses begin, and how they go on: two pendulums that pull at each other, seen through noise."""
    begin = torch.rand(SETS, COURSES, QUANTITIES, device="cuda") * 2.0 - 1.0

    def truth(y):
        a, b, speed_a, speed_b = y.unbind(1)
        pull = 0.5 * (b - a)
        return torch.stack([speed_a, speed_b, pull - torch.sin(a) - 0.1 * speed_a, -pull - torch.sin(b) - 0.1 * speed_b], dim=1)

    courses = torch.stack([solved(truth, y) for y in begin])
    return begin, courses + 0.02 * torch.randn_like(courses)


def make(variant):
    fixable.seed(torch)
    begin, courses = measured()
    model = Slope().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=variant == "fix",
                                 fused=True if variant == "useless" else None)
    turn, seen = [0], []

    def work(y, course):
        loss = F.mse_loss(solved(model, y), course)  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss.detach()

    if variant == "fix":
        static = [begin[0].clone(), courses[0].clone()]
        graph, static_loss = fixable.capture(torch, lambda: work(*static), before=optimizer.zero_grad)

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "fix":
            static[0].copy_(begin[at])
            static[1].copy_(courses[at])
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad()
            loss = work(begin[at], courses[at])
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    def values():
        return seen + [p.detach().abs().mean().item() for p in model.parameters()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
