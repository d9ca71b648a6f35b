# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an orchestra of 96 players looks for new places on its 96 chairs. Who plays with whom should hear one another, loud
players should sit behind, and nobody wants to be far from the desk of old. 6144 seatings are tried at once: each is a table of how
likely a player is on a chair, rows and columns made to sum to one in turns (Sinkhorn), and it follows its slopes by Adam.

Wrong: nothing; the GPU has some 150 passes over tables of 226 MB in a step, and they are launched long before (gpu-bound).
useless: the step, with its backward and the optimizer, is one CUDA graph.
"""
import collections
import math

import fixable

run = fixable.Program(__doc__, steps=220, warm_up=6)
torch = fixable.load_torch()

PLAYERS, SEATINGS, ROUNDS, READ, WARMTH = 96, 6144, 4, 20, 0.5
DESKS, ROWS = 16, 6  # chairs in a row, rows


def hall():
    """How far each chair is from each other, and how far it is behind, (PLAYERS, PLAYERS) and (PLAYERS,)."""
    chairs = torch.arange(PLAYERS, device="cuda")
    row, turned = (chairs // DESKS).float(), (chairs % DESKS).float() / (DESKS - 1) * math.pi
    round_desk = 2.0 + 1.2 * row
    across, behind = round_desk * torch.cos(turned), round_desk * torch.sin(turned)
    apart = torch.hypot(across[:, None] - across, behind[:, None] - behind)
    return apart / apart.mean(), row / ROWS


def players():
    """How much players want to hear each other, how loud they are, and where they have sat, (PLAYERS, PLAYERS)."""
    section = torch.arange(PLAYERS, device="cuda") // 8
    together = (section[:, None] == section).float() + 0.3 * torch.rand(PLAYERS, PLAYERS, device="cuda")
    loud = torch.rand(PLAYERS, device="cuda")
    usual_chair = torch.randperm(PLAYERS, device="cuda")
    return (together + together.t()) / PLAYERS, loud, usual_chair


def make(variant):
    fixable.seed(torch)
    apart, behind = hall()
    together, loud, usual_chair = players()
    unlike = apart[usual_chair] * 0.2 - loud[:, None] * behind  # what it costs to put a player on a chair
    start = torch.randn(SEATINGS, PLAYERS, PLAYERS, device="cuda")
    liked = start.clone().requires_grad_()
    rule = torch.optim.Adam([liked], lr=0.02, capturable=True, fused=True)
    usual = torch.zeros(3, device="cuda")
    notes, turn = collections.deque(maxlen=20), [0]

    def seated():
        """The logarithm of how likely each player is on each chair."""
        likely = liked / WARMTH
        for _ in range(ROUNDS):
            likely = likely - torch.logsumexp(likely, dim=2, keepdim=True)
            likely = likely - torch.logsumexp(likely, dim=1, keepdim=True)
        return likely

    def learn():
        """Tells what the seatings cost, and moves them."""
        likely = seated()
        seat = likely.exp()
        heard = torch.bmm(seat @ apart, seat.transpose(1, 2))  # how far each player is from each other
        hearing = (heard * together).sum(dim=(1, 2))
        place = (seat * unlike).sum(dim=(1, 2))
        doubt = -(seat * likely).sum(dim=(1, 2)) / PLAYERS
        cost = hearing + place + 0.5 * doubt
        cost.sum().backward()
        rule.step()
        usual.lerp_(torch.stack((cost.detach().mean(), cost.detach().amin(), doubt.detach().mean())), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    if variant == "useless":
        graph, _ = fixable.capture(torch, learn, clear)
        for one in (usual, *(part for part in rule.state[liked].values() if torch.is_tensor(part))):
            one.zero_()
        with torch.no_grad():
            liked.copy_(start)

    def step():
        if variant == "useless":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(usual.tolist())

    def values():
        """The usual cost, the best one, the doubt, and what the first seating likes."""
        return usual.tolist() + fixable.sample_of(torch, liked, most=256)

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
