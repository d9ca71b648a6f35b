# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a rally car is steered by trying out: 2048 ways to go on are driven in a model with four tyres for the next 12
moments, and what is done is the mean of them, by how well they went (model predictive path integral). The car moves as it says.

Wrong: the model is made of tiny kernels, wheel by wheel and moment by moment; the GPU waits for nearly each of them.
fix: all that is launched for a decision is one CUDA graph (launch-bound).
fix2: the four wheels are rows of one tensor, which takes less than half of the kernels (launch-bound).
useless: what was decided is read once in 20 decisions.
"""
import math

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=360, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
F = torch.nn.functional

SAMPLES, AHEAD, TICK, SIZE, WIDE, HEAT = 2048, 12, 0.05, 512, 80.0, 0.5
MASS, INERTIA, LOAD, FRICTION, SHAPE, STIFF, DRAG = 1200.0, 1800.0, 2943.0, 0.9, 1.4, 9.0, 0.02
WHEELS = ((1.2, 0.8, 1.0), (1.2, -0.8, 1.0), (-1.4, 0.8, 0.0), (-1.4, -0.8, 0.0))  # ahead, to the left, is steered
SHARPEST, STRONGEST, SPREAD = 0.5, 6000.0, (0.15, 2000.0)


def course():
    """How bad each place is, by how far it is from the middle of the road: (1, 1, SIZE, SIZE)."""
    y, x = torch.meshgrid(*2 * [torch.linspace(-WIDE, WIDE, SIZE, device="cuda")], indexing="ij")
    around = torch.atan2(y, x)
    middle = 50.0 + 6.0 * torch.sin(3.0 * around) + 3.0 * torch.cos(5.0 * around)
    off = (x.square() + y.square()).sqrt() - middle
    return (off / 4.0).square().view(1, 1, SIZE, SIZE)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    road = course()
    spread = torch.tensor(SPREAD, device="cuda").view(1, 2, 1)
    ahead, left, steered = torch.tensor(WHEELS, device="cuda").t().unsqueeze(2)
    car = torch.tensor([53.0, 0.0, math.pi / 2.0, 8.0, 0.0, 0.0], device="cuda")  # x, y, heading, speeds, how fast it turns
    plan = torch.zeros(AHEAD, 2, device="cuda")
    turn, decided, pending = [0], [], []

    def of_wheel(speeds, steer, pull, ahead, left, steered):
        """What a wheel does to the car: forces along and across, and the moment."""
        forward, sideward, turning = speeds
        rolls = (forward - turning * left).clamp(min=1.0)  # cause: launch
        angle = steer * steered  # cause: launch
        slip = torch.atan2(sideward + turning * ahead, rolls) - angle  # cause: launch
        grip = FRICTION * (LOAD - pull * ahead * 0.1)  # cause: launch
        drive = pull * 0.25  # cause: launch
        rest = (1.0 - (drive / grip).square()).clamp(min=0.05).sqrt()  # cause: launch
        side = -grip * rest * torch.sin(SHAPE * torch.atan(STIFF * slip))  # cause: launch
        sine, cosine = torch.sin(angle), torch.cos(angle)  # cause: launch
        along = drive * cosine - side * sine  # cause: launch
        across = drive * sine + side * cosine  # cause: launch
        return along, across, across * ahead - along * left  # cause: launch

    def forces(speeds, steer, pull):
        if variant == "fix2":
            return [part.sum(dim=0) for part in of_wheel(speeds, steer, pull, ahead, left, steered)]
        total = [0.0, 0.0, 0.0]
        for wheel in WHEELS:
            total = [t + part for t, part in zip(total, of_wheel(speeds, steer, pull, *wheel))]  # cause: launch
        return total

    def moved(state, steer, pull):
        x, y, heading, forward, sideward, turning = state
        along, across, moment = forces(state[3:], steer, pull)  # cause: launch
        faster = along / MASS - DRAG * forward + turning * sideward  # cause: launch
        slides = across / MASS - DRAG * sideward - turning * forward  # cause: launch
        forward = (forward + TICK * faster).clamp(0.5, 30.0)  # cause: launch
        sideward = (sideward + TICK * slides).clamp(-10.0, 10.0)  # cause: launch
        turning = (turning + (TICK / INERTIA) * moment).clamp(-3.0, 3.0)  # cause: launch
        heading = heading + TICK * turning  # cause: launch
        sine, cosine = torch.sin(heading), torch.cos(heading)  # cause: launch
        x = x + TICK * (forward * cosine - sideward * sine)  # cause: launch
        y = y + TICK * (forward * sine + sideward * cosine)  # cause: launch
        return x, y, heading, forward, sideward, turning

    def badness(state, before):
        """Away from the road, across it, or not onwards."""
        place = torch.stack(state[:2], dim=1).view(1, 1, SAMPLES, 2) / WIDE  # cause: launch
        off = F.grid_sample(road, place, padding_mode="border", align_corners=True).view(SAMPLES)  # cause: launch
        onwards = before[0] * state[1] - before[1] * state[0]  # cause: launch
        return off + 0.05 * state[4].square() - 0.02 * onwards  # cause: launch

    def decide():
        tried = plan.unsqueeze(2) + spread * torch.randn(AHEAD, 2, SAMPLES, device="cuda")
        steers, pulls = tried[:, 0].clamp(-SHARPEST, SHARPEST), tried[:, 1].clamp(-STRONGEST, STRONGEST)
        state, cost = tuple(car.view(6, 1).expand(6, SAMPLES)), torch.zeros(SAMPLES, device="cuda")
        for steer, pull in zip(steers, pulls):
            before, state = state, moved(state, steer, pull)  # cause: launch
            cost = cost + badness(state, before)  # cause: launch
        share = torch.softmax(-cost / HEAT, dim=0)
        best = (torch.stack((steers, pulls), dim=1) * share).sum(dim=2)
        done = best[0].clone()
        car.copy_(torch.cat(moved(tuple(car.view(6, 1)), done[:1], done[1:])))
        plan.copy_(best.roll(-1, dims=0))
        return done

    if variant == "fix":
        at_first = car.clone()
        graph, output = fixable.capture(torch, decide)
        car.copy_(at_first)
        plan.zero_()

    @torch.no_grad()
    def step():
        if variant == "fix":
            graph.replay()
            done = output
        else:
            done = decide()  # cause: launch
        turn[0] += 1
        if variant != "useless":
            decided[:] = done.tolist()  # the car's motors would take it
            return
        pending.append(done)
        if turn[0] % LOOK_EVERY == 0:
            decided[:] = torch.stack(pending).tolist()[-1]
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [math.hypot(*car[:2].tolist()), float(car[3])])


run.main(make)
