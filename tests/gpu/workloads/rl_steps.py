# SPDX-License-Identifier: Apache-2.0
"""PyTorch, a policy on the GPU that plays a game on the host: at each step some tiny kernels, and .item() for the action.

Wrong: the dozen launches of one decision take many times what they run.
fix: the decision is one CUDA graph, the game's step and the read of the action stay as they are (launch-bound).
fix2: 16 games at once, one decision for all of them; a step is still one game's step (launch-bound).
useless: the observation goes through pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=16000, warm_up=160, multiple=16)
torch = fixable.load_torch()
nn = torch.nn

GAMES = 16


class CartPole:
    """The well-known one, in plain Python."""

    def __init__(self, start):
        self.start = start
        self.reset()

    def reset(self):
        self.x, self.v, self.angle, self.turn = 0.01 * self.start, 0.0, 0.02 - 0.002 * self.start, 0.0

    def step(self, action):
        force = 10.0 if action else -10.0
        sine, cosine = math.sin(self.angle), math.cos(self.angle)
        part = (force + 0.05 * self.turn * self.turn * sine) / 1.1
        spin = (9.8 * sine - cosine * part) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
        push = part - 0.05 * spin * cosine / 1.1
        self.x, self.v = self.x + 0.02 * self.v, self.v + 0.02 * push
        self.angle, self.turn = self.angle + 0.02 * self.turn, self.turn + 0.02 * spin
        if abs(self.x) > 2.4 or abs(self.angle) > 0.21:
            self.reset()

    def seen(self):
        return [self.x, self.v, self.angle, self.turn]


def make(variant):
    fixable.seed(torch)
    policy = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 2)).cuda().eval()
    games = [CartPole(number) for number in range(GAMES)]
    rows = GAMES if variant == "fix2" else 1
    waiting = torch.zeros(rows, 4).pin_memory() if variant == "useless" else None
    static_seen = torch.zeros(rows, 4, device="cuda")
    scores = []

    def decide(seen):
        with torch.inference_mode():
            chances = torch.softmax(policy(seen), dim=-1)  # cause: launch
            best = torch.argmax(chances, dim=-1)  # cause: launch
            return torch.where(chances.max(dim=-1).values > 0.52, best, (seen[:, 2] > 0).long())  # cause: launch

    if variant == "fix":
        graph, static_action = fixable.capture(torch, lambda: decide(static_seen))

    def action_of(seen):
        if variant == "fix":
            static_seen.copy_(torch.tensor([seen]))
            graph.replay()
            return static_action.item()
        if variant == "useless":
            waiting.copy_(torch.tensor([seen]))
            return decide(waiting.to("cuda", non_blocking=True)).item()
        return decide(torch.tensor([seen], device="cuda")).item()

    def loop(steps):
        if variant == "fix2":
            for _ in range(steps // GAMES):
                actions = decide(torch.tensor([g.seen() for g in games], device="cuda")).tolist()
                for game, action in zip(games, actions):
                    game.step(action)
        else:
            for number in range(steps):
                game = games[number % GAMES]
                game.step(action_of(game.seen()))
        scores[:] = [g.x for g in games]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: scores)


run.main(make)
