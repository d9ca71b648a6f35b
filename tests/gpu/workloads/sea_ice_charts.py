# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how much of the Arctic sea is covered with ice in the next month is forecast from the six months before. A U-Net learns
it from charts of 448 by 304 cells of 25 km, with the ice and the warmth of the water; cells on land do not count. It learns in
bfloat16, from eight months at a time; all charts are on the GPU, which gathers the months of a batch.

Wrong: nothing; the convolutions keep the GPU busy, and the host is ahead of it (gpu-bound).
useless: a step of training is one CUDA graph.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=120, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn

MONTHS, BEFORE, BATCH, HIGH, WIDE, LEVELS, FIRST, BATCHES, SHOWN = 240, 6, 8, 448, 304, 4, 64, 60, 20


def charts():
    """Ice (0 to 1) and warmth of each month, (MONTHS, 2, HIGH, WIDE), and where there is sea."""
    down = torch.linspace(-1.0, 1.0, HIGH, device="cuda")[:, None]
    right = torch.linspace(-0.7, 0.7, WIDE, device="cuda")
    away = (down.square() + right.square()).sqrt()
    maps = torch.empty(MONTHS, 2, HIGH, WIDE, device="cuda")
    weather = torch.zeros(1, 2, 28, 19, device="cuda")
    for month in range(MONTHS):
        weather = 0.7 * weather + 0.5 * torch.randn(1, 2, 28, 19, device="cuda")
        seen = nn.functional.interpolate(weather, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        season = math.cos(2.0 * math.pi * month / 12.0)
        maps[month, 0] = torch.sigmoid(12.0 * (0.55 + 0.2 * season - away) + seen[0])
        maps[month, 1] = away - 0.3 * season + 0.2 * seen[1]
    land = nn.functional.interpolate(torch.randn(1, 1, 14, 10, device="cuda"), size=(HIGH, WIDE), mode="bilinear",
                                     align_corners=False)[0, 0]
    return maps, ((land < 0.6) | (away < 0.3)).float()


def twice(ins, outs):
    """Two convolutions, each with its normalization."""
    return nn.Sequential(nn.Conv2d(ins, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(inplace=True),
                         nn.Conv2d(outs, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(inplace=True))


class Forecast(nn.Module):
    """A U-Net: down by means of two by two cells, and up again beside what was there before."""

    def __init__(self):
        super().__init__()
        wide = [FIRST << level for level in range(LEVELS + 1)]
        self.downs = nn.ModuleList(twice(a, b) for a, b in zip([2 * BEFORE] + wide, wide))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in wide[:-1])
        self.joins = nn.ModuleList(twice(2 * w, w) for w in wide[:-1])
        self.told = nn.Conv2d(FIRST, 1, 1)

    def forward(self, x):
        kept = []
        for level, down in enumerate(self.downs):
            x = down(nn.functional.avg_pool2d(x, 2) if level else x)
            kept.append(x)
        for level in reversed(range(LEVELS)):
            x = self.joins[level](torch.cat((kept[level], self.ups[level](x)), 1))
        return self.told(x)


def make(variant):
    fixable.seed(torch)
    maps, sea = charts()
    cells = BATCH * sea.sum()
    starts = torch.randint(0, MONTHS - BEFORE, (BATCHES, BATCH), device="cuda")
    months, months_before = starts[0].clone(), torch.arange(BEFORE, device="cuda")
    model = Forecast().cuda().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01, capturable=True)
    usual, turn, curve = torch.full((), 0.5, device="cuda"), [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the months whose numbers are in `months`, and notes the loss."""
        seen = maps[months[:, None] + months_before].flatten(1, 2).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(seen)
        loss_there = nn.functional.binary_cross_entropy_with_logits(told[:, 0].float(), maps[months + BEFORE, 0], reduction="none")
        loss = (loss_there * sea).sum() / cells
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.05)

    if variant == "useless":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        months.copy_(starts[turn[0] % BATCHES])
        if variant == "useless":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the first layer have become."""
        return [usual.item(), float(model.downs[0][0].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
