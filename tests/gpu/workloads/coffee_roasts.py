# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a roastery hangs 16 gas sensors above its drum, and wants to know from them how dark the coffee has become. A small
nn.TransformerEncoder reads 96 moments of a roast and tells the colour of the ground beans; it learns from 32 roasts at a time,
with AdamW, clipped gradients and a rate that LambdaLR lets rise and fall, as in the tutorials.

Wrong: model and batch are small, so that a step is some 300 kernels of a few microseconds, which Python and autograd launch one
by one, slower than they run.
fix: forward, backward, clipping and AdamW are one CUDA graph; the rate, a tensor, is set behind it as before (launch-bound).
useless: losses that are noted, one of 50, stay on the device to the end.
"""
import collections
import math

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
torch = fixable.load_torch()
nn = torch.nn

SENSORS, MOMENTS, TOGETHER, BATCHES, WIDE, HEADS, LAYERS = 16, 96, 32, 40, 128, 4, 4
RATE, RISE, ROUND, NOTED = 2e-4, 100, 4000, 50


def roasts():
    """What the sensors tell, (BATCHES, TOGETHER, MOMENTS, SENSORS), and how dark the coffee is, about zero."""
    heat = 0.7 + 0.6 * torch.rand(BATCHES, TOGETHER, 1, 1, device="cuda")
    water = 0.2 * torch.rand(BATCHES, TOGETHER, 1, 1, device="cuda")
    time = torch.linspace(0.0, 1.0, MOMENTS, device="cuda")[:, None]
    comes = 0.2 + 0.7 * torch.rand(SENSORS, device="cuda")  # when the gas of each sensor comes
    slow = 6.0 + 10.0 * torch.rand(SENSORS, device="cuda")
    told = torch.sigmoid(slow * (heat * time - water - comes))
    told = told + 0.1 * torch.randn(told.shape, device="cuda")
    dark = 4.0 * (heat - water - 0.9)[:, :, 0, 0]
    return told, dark + 0.2 * torch.randn(dark.shape, device="cuda")


class Nose(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDE, HEADS, 2 * WIDE, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.smelt = nn.Linear(SENSORS, WIDE)
        self.when = nn.Parameter(0.1 * torch.randn(MOMENTS, WIDE))
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.colour = nn.Linear(WIDE, 1)

    def forward(self, told):
        return self.colour(self.layers(self.smelt(told) + self.when).mean(dim=1))[:, 0]


def rate_at(turn):
    """Which part of the whole rate a step has."""
    return min(1.0, (turn + 1) / RISE) * 0.5 * (1.0 + math.cos(math.pi * (turn % ROUND) / ROUND))


def make(variant):
    fixable.seed(torch)
    all_told, all_dark = roasts()
    model = Nose().cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=torch.tensor(RATE, device="cuda"), weight_decay=0.01, capturable=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_at)
    told, dark = all_told[0].clone(), all_dark[0].clone()
    usual = torch.full((), 0.5, device="cuda")
    notes, turn = collections.deque(maxlen=4), [0]

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the roasts in `told` and `dark`, and notes how far it is off; the gradients are clear before."""
        loss = nn.functional.smooth_l1_loss(model(told), dark)  # cause: launch
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(weights, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        number = turn[0] % BATCHES
        told.copy_(all_told[number])
        dark.copy_(all_dark[number])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        schedule.step()
        turn[0] += 1
        if turn[0] % NOTED == 0:
            notes.append(usual.clone() if variant == "useless" else usual.item())

    def values():
        """How far off it is, and how large the weights have become."""
        with torch.no_grad():
            return [float(note) for note in notes] + [float(usual), float(model.colour.weight.abs().mean()),
                                                      float(model.when.abs().mean())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
