# SPDX-License-Identifier: Apache-2.0
"""PyTorch: REINFORCE on 256 cart-poles; the policy is on the GPU, each pole is an object of its own that Python moves.

Wrong: the GPU waits while Python goes from one pole to the next.
fix: all poles are moved at once by NumPy (host-bound).
useless: what is seen of the poles goes to the GPU by way of pinned memory.
"""
import math

import fixable

LENGTH = 32

run = fixable.Program(__doc__, steps=1600, warm_up=LENGTH, multiple=LENGTH)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

POLES, WIDTH, TICK, GRAVITY, MASS, POLE_MASS, HALF, PUSH = 256, 256, 0.02, 9.8, 1.1, 0.1, 0.5, 10.0
FAR, STEEP, DISCOUNT = 2.4, 0.21, 0.98


class Pole:
    def __init__(self, random):
        self.random = random
        self.begin()

    def begin(self):
        self.place, self.speed, self.angle, self.turning = (self.random.random(4) * 0.1 - 0.05).tolist()

    def seen(self):
        return [self.place, self.speed, self.angle, self.turning]

    def move(self, action):
        """(what is seen then, the reward, whether it fell)"""
        force = PUSH if action else -PUSH
        sine, cosine = math.sin(self.angle), math.cos(self.angle)
        part = (force + POLE_MASS * HALF * self.turning ** 2 * sine) / MASS
        bend = (GRAVITY * sine - cosine * part) / (HALF * (4.0 / 3.0 - POLE_MASS * cosine ** 2 / MASS))
        pull = part - POLE_MASS * HALF * bend * cosine / MASS
        self.place += TICK * self.speed
        self.speed += TICK * pull
        self.angle += TICK * self.turning
        self.turning += TICK * bend
        fell = abs(self.place) > FAR or abs(self.angle) > STEEP
        if fell:
            self.begin()
        return self.seen(), 0.0 if fell else 1.0, fell


class PolesInTurn:
    def __init__(self, random):
        self.each = [Pole(random) for _ in range(POLES)]

    def seen(self):
        return numpy.array([pole.seen() for pole in self.each], numpy.float32)

    def move(self, actions):
        told = [pole.move(action) for pole, action in zip(self.each, actions.tolist())]  # cause: loader
        seen, rewards, fell = zip(*told)  # cause: loader
        return numpy.array(seen, numpy.float32), numpy.array(rewards, numpy.float32), numpy.array(fell)  # cause: loader


class PolesAtOnce:
    def __init__(self, random):
        self.random, self.state = random, random.random((POLES, 4)) * 0.1 - 0.05

    def seen(self):
        return self.state.astype(numpy.float32)

    def move(self, actions):
        _, speed, angle, turning = self.state.T
        force = numpy.where(actions > 0, PUSH, -PUSH)
        sine, cosine = numpy.sin(angle), numpy.cos(angle)
        part = (force + POLE_MASS * HALF * turning ** 2 * sine) / MASS
        bend = (GRAVITY * sine - cosine * part) / (HALF * (4.0 / 3.0 - POLE_MASS * cosine ** 2 / MASS))
        pull = part - POLE_MASS * HALF * bend * cosine / MASS
        self.state += TICK * numpy.stack([speed, pull, turning, bend], axis=1)
        fell = (numpy.abs(self.state[:, 0]) > FAR) | (numpy.abs(self.state[:, 2]) > STEEP)
        self.state[fell] = self.random.random((int(fell.sum()), 4)) * 0.1 - 0.05
        return self.seen(), 1.0 - fell.astype(numpy.float32), fell


def make(variant):
    fixable.seed(torch)
    policy = nn.Sequential(nn.Linear(4, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2)).cuda()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3, fused=True)
    poles = (PolesAtOnce if variant == "fix" else PolesInTurn)(numpy.random.default_rng(20))
    landing = torch.empty(POLES, 4).pin_memory() if variant == "useless" else None
    last = [poles.seen()]

    def on_gpu(seen):
        if variant == "useless":
            landing.copy_(torch.from_numpy(seen))
            return landing.to("cuda", non_blocking=True)
        return torch.from_numpy(seen).cuda()  # cause: delayed

    def play():
        """One step of all poles: (what was seen, what was done, what came of it, who fell)."""
        seen = on_gpu(last[0])
        with torch.no_grad():
            actions = torch.multinomial(policy(seen).softmax(dim=1), 1).view(-1)
        last[0], rewards, fell = poles.move(actions.cpu().numpy())
        return seen, actions, rewards, fell

    def learn(steps):
        returns, after = [], numpy.zeros(POLES, numpy.float32)
        for _, _, rewards, fell in reversed(steps):
            after = rewards + DISCOUNT * after * ~fell
            returns.append(after)
        worth = torch.from_numpy(numpy.concatenate(returns[::-1])).cuda()
        scores = policy(torch.cat([s[0] for s in steps])).log_softmax(dim=1)
        chosen = scores.gather(1, torch.cat([s[1] for s in steps]).view(-1, 1)).view(-1)
        optimizer.zero_grad()
        (-(worth - worth.mean()) * chosen).mean().backward()
        optimizer.step()

    def loop(steps):
        for _ in range(steps // LENGTH):
            learn([play() for _ in range(LENGTH)])

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize,
                        values=lambda: [p.detach().abs().mean().item() for p in policy.parameters()])


run.main(make)
