# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an airline's workshop learns how many flights an engine still has until it must come off the wing, from what 21 sensors
told on its last 40 flights. An engine that stood in the hangar for some days was washed or repaired, so that a cell of the network
forgets a part of its memory by the hours between two flights. It learns from 128 engines at a time, by Adam.

Wrong: a flight is some fifteen small kernels, and twice as many on the way back, each launched by itself, and the GPU is done
with one before the next one comes.
fix: forward, backward and the optimizer are one CUDA graph (launch-bound).
useless: the empty memory that a batch begins with is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=240, warm_up=8)
torch = fixable.load_torch()

BATCHES, BATCH, FLIGHTS, SENSORS, WIDE, MOST, SHOWN = 16, 128, 40, 21, 96, 125.0, 40


class Cell(torch.nn.Module):
    """An LSTM's cell, by hand, whose memory of late flights fades while the engine rests."""

    def __init__(self):
        super().__init__()
        self.late = torch.nn.Linear(WIDE, WIDE)
        self.gates = torch.nn.Linear(SENSORS + WIDE, 4 * WIDE)

    def forward(self, seen, keeps, hidden, memory):
        late = torch.tanh(self.late(memory))  # cause: launch
        memory = memory - late + late * keeps  # cause: launch
        enters, stays, shows, new = self.gates(torch.cat((seen, hidden), dim=1)).chunk(4, dim=1)  # cause: launch
        memory = torch.sigmoid(stays) * memory + torch.sigmoid(enters) * torch.tanh(new)  # cause: launch
        return torch.sigmoid(shows) * torch.tanh(memory), memory  # cause: launch


class Engine(torch.nn.Module):
    """The flights that are left, in parts of MOST."""

    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.left = torch.nn.Sequential(torch.nn.Linear(WIDE, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def forward(self, seen, keeps, hidden, memory):
        for flight in range(FLIGHTS):
            hidden, memory = self.cell(seen[flight], keeps[flight], hidden, memory)  # cause: launch
        return self.left(hidden).squeeze(1)  # cause: launch


def fleet():
    """What sensors told, (batches, flights, engines, sensors), what is kept of late memory, and the flights that are left."""
    many = BATCHES * BATCH
    life = MOST * torch.rand(many, 1, 1, device="cuda")
    ahead = life + torch.arange(FLIGHTS, 0, -1, device="cuda").view(1, FLIGHTS, 1)
    worn = torch.exp(-ahead / 40.0)
    slope = torch.randn(SENSORS, device="cuda")
    own = 0.3 * torch.randn(many, 1, SENSORS, device="cuda")
    seen = slope * worn + own + 0.1 * torch.randn(many, FLIGHTS, SENSORS, device="cuda")
    hours = 3.0 + 60.0 * torch.rand(many, FLIGHTS, 1, device="cuda").pow(6.0)
    keeps = 1.0 / torch.log(2.718 + hours / 3.0)

    def batched(kept):
        return kept.view(BATCHES, BATCH, FLIGHTS, -1).transpose(1, 2).contiguous()
    return batched(seen), batched(keeps), (life / MOST).view(BATCHES, BATCH)


def make(variant):
    fixable.seed(torch)
    all_seen, all_keeps, all_left = fleet()
    seen, keeps, left = all_seen[0].clone(), all_keeps[0].clone(), all_left[0].clone()
    model = Engine().to("cuda")
    rule = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)
    usual = torch.zeros((), device="cuda")
    empty = [torch.zeros(BATCH, WIDE, device="cuda") for _ in range(2)] if variant == "useless" else None
    turn, told = [0], []

    def learn():
        """A step of training with the batch that is in place."""
        if empty:
            hidden, memory = empty
        else:
            hidden, memory = torch.zeros(BATCH, WIDE, device="cuda"), torch.zeros(BATCH, WIDE, device="cuda")  # cause: launch
        guess = model(seen, keeps, hidden, memory)  # cause: launch
        loss = torch.nn.functional.smooth_l1_loss(guess, left, beta=0.1)  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: launch
        rule.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix":
        first = [weight.detach().clone() for weight in model.parameters()]
        graph, _ = fixable.capture(torch, learn, before=rule.zero_grad)
        with torch.no_grad():
            for weight, start in zip(model.parameters(), first):
                weight.copy_(start)
                for kept in rule.state[weight].values():
                    kept.zero_()
            usual.zero_()

    def step():
        number = turn[0] % BATCHES
        seen.copy_(all_seen[number])
        keeps.copy_(all_keeps[number])
        left.copy_(all_left[number])
        if variant == "fix":
            graph.replay()
        else:
            rule.zero_grad()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
