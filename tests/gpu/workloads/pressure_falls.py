# SPDX-License-Identifier: Apache-2.0
"""PyTorch: will the blood pressure of a patient fall in the next five minutes of an operation? The monitor writes a line a minute,
with the time, the pulse, the pressure as systolic over diastolic, the oxygen and the carbon dioxide, and dashes where a sensor has
slipped. A network of convolutions over time learns from an hour of each of 48 patients at a time.

Wrong: the lines are taken apart, gaps are filled and values are put in scale in Python for each batch anew, in each epoch, by the
thread that launches, and the GPU waits for each batch.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and the lines are taken apart as before (launch-bound).
useless: the batches go over pinned memory.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=280, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn

PATIENTS, BATCH, MINUTES, SIGNALS, WIDE, SHOWN, LOW = 960, 48, 64, 5, 96, 25, 72.0
USUAL = ((75.0, 15.0), (115.0, 20.0), (65.0, 12.0), (97.0, 2.0), (36.0, 4.0))  # mean and spread of each signal


def operations():
    """What the monitors wrote in an hour, and whether the pressure fell afterwards."""
    luck = random.Random(20)
    found = []
    for _ in range(PATIENTS):
        pulse, upper, drift = luck.gauss(75.0, 12.0), luck.gauss(115.0, 10.0), luck.gauss(-0.15, 0.3)
        lines, clock = [], luck.randint(7 * 60, 15 * 60)
        for minute in range(MINUTES):
            pulse += luck.gauss(-0.2 * drift, 1.5)
            upper += drift + luck.gauss(0.0, 1.0)
            lower = 0.55 * upper + luck.gauss(0.0, 2.0)
            shown = ["%.0f" % pulse, "%.0f/%.0f" % (upper, lower), "%.1f" % min(100.0, luck.gauss(97.0, 1.2)),
                     "%.1f" % luck.gauss(36.0, 2.0)]
            if luck.random() < 0.1:
                place = luck.randrange(4)
                shown[place] = "---/---" if place == 1 else "---"
            now = clock + minute
            lines.append("%02d:%02d; HR %s; NIBP %s mmHg; SpO2 %s %%; etCO2 %s mmHg" % (now // 60, now % 60, *shown))
        mean = (upper + 2.0 * 0.55 * upper) / 3.0 + 5.0 * drift
        found.append(("\n".join(lines), float(mean < LOW)))
    return found


def read_lines(text):
    """A row of numbers for each minute; where one is missing it is as in the minute before."""
    rows, last = [], [mean for mean, _ in USUAL]
    for line in text.splitlines():
        shown = [part.strip().split() for part in line.split(";")[1:]]
        upper, lower = shown[1][1].split("/")
        row = []
        for place, word in enumerate((shown[0][1], upper, lower, shown[2][1], shown[3][1])):
            if not word.startswith("-"):
                last[place] = float(word)
            mean, spread = USUAL[place]
            row.append((last[place] - mean) / spread)
        rows.append(row)
    return rows


class Block(nn.Module):
    def __init__(self, far):
        super().__init__()
        self.look = nn.Conv1d(WIDE, WIDE, 3, padding=far, dilation=far)
        self.norm = nn.GroupNorm(8, WIDE)

    def forward(self, x):
        return x + nn.functional.gelu(self.norm(self.look(x)))


class Foresight(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin = nn.Conv1d(SIGNALS, WIDE, 1)
        self.blocks = nn.Sequential(*(Block(far) for far in (1, 2, 4, 8, 16)))
        self.end = nn.Linear(WIDE, 1)

    def forward(self, x):
        return self.end(self.blocks(self.begin(x))[:, :, -1]).squeeze(1)


def make(variant):
    fixable.seed(torch)
    records = operations()
    model = Foresight().cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=3e-4, weight_decay=0.01, capturable=True)
    usual, turn, curve = torch.full((), 0.7, device="cuda"), [0], []

    def batch_of(number):
        """Signals by minute of some patients, and whether their pressure fell."""
        some = records[number * BATCH:(number + 1) * BATCH]
        read = [read_lines(text) for text, _ in some]  # cause: loader
        signals = torch.tensor(read).transpose(1, 2).contiguous()  # cause: loader
        return signals, torch.tensor([fell for _, fell in some])

    batches = PATIENTS // BATCH
    ready = [batch_of(number) for number in range(batches)] if variant == "fix" else None
    seen, fell = (part.cuda() for part in batch_of(0))

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the signals in `seen`, and notes the loss."""
        loss = nn.functional.binary_cross_entropy_with_logits(model(seen), fell)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        number = turn[0] % batches
        batch = ready[number] if ready else batch_of(number)  # cause: loader
        for place, part in zip((seen, fell), batch):
            place.copy_(part.pin_memory() if variant == "useless" else part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the end have become."""
        return [usual.item(), float(model.end.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
