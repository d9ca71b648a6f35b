# SPDX-License-Identifier: Apache-2.0
"""PyTorch: spiking neurons learn to tell spoken digits apart, as 700 nerve fibres of an ear report them; what a layer does is
written for one moment, and a loop goes through the moments.

Wrong: some two thousand short kernels a training step, which Python launches slower than they run.
fix: the loop, the backward pass and the optimizer are one CUDA graph (launch-bound).
fix2: a layer's weights are applied to all moments at once, before the loop over them (launch-bound).
useless: the loss is read every 200 steps instead of every 20.
"""
import fixable

run = fixable.Program(__doc__, steps=200, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

FIBRES, WIDTH, KINDS, MOMENTS, BATCH, SETS, LEAK = 700, 256, 20, 32, 128, 6, 0.9


class Spike(torch.autograd.Function):
    """A spike where the level is above one; its slope is that of a smooth step."""

    @staticmethod
    def forward(ctx, level):
        ctx.save_for_backward(level)
        return (level > 1.0).float()  # cause: launch

    @staticmethod
    def backward(ctx, gradient):
        level, = ctx.saved_tensors
        return gradient / (1.0 + 10.0 * (level - 1.0).abs()).square()  # cause: launch


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(FIBRES, WIDTH), nn.Linear(WIDTH, WIDTH)])
        self.out = nn.Linear(WIDTH, KINDS)
        for layer in self.hidden:
            nn.init.normal_(layer.weight, std=0.1)

    def forward(self, sounds):
        levels, spikes = [[torch.zeros(BATCH, WIDTH, device="cuda") for _ in self.hidden] for _ in range(2)]
        score = total = torch.zeros(BATCH, KINDS, device="cuda")
        for x in sounds:
            for number, layer in enumerate(self.hidden):
                levels[number] = LEAK * levels[number] * (1.0 - spikes[number].detach()) + layer(x)  # cause: launch
                x = spikes[number] = Spike.apply(levels[number])
            score = LEAK * score + self.out(x)  # cause: launch
            total = total + score  # cause: launch
        return total / MOMENTS

    def by_layers(self, x):
        for layer in self.hidden:
            level, spikes = torch.zeros(BATCH, WIDTH, device="cuda"), [torch.zeros(BATCH, WIDTH, device="cuda")]
            for current in layer(x).unbind(0):
                level = LEAK * level * (1.0 - spikes[-1].detach()) + current
                spikes.append(Spike.apply(level))
            x = torch.stack(spikes[1:])
        left = LEAK ** torch.arange(MOMENTS, 0, -1, device="cuda").view(-1, 1, 1)  # how much of a moment counts in the total
        return (self.out(x) * ((1.0 - left) / (1.0 - LEAK))).sum(dim=0) / MOMENTS


def make(variant):
    fixable.seed(torch)
    words = torch.randint(0, KINDS, (SETS, BATCH), device="cuda")
    rates = 0.1 * torch.rand(KINDS, FIBRES, device="cuda")[words]
    sounds = (torch.rand(SETS, MOMENTS, BATCH, FIBRES, device="cuda") < rates.unsqueeze(1)).float()
    model = Network().cuda().train()
    forward = model.by_layers if variant == "fix2" else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=variant == "fix")
    turn, seen, look_every = [0], [], 200 if variant == "useless" else 20

    def learn(sound, word):
        loss = F.cross_entropy(forward(sound), word)
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()
        return loss.detach()

    if variant == "fix":
        start = [p.detach().clone() for p in model.parameters()]
        static = [sounds[0].clone(), words[0].clone()]
        graph, static_loss = fixable.capture(torch, lambda: learn(*static), before=optimizer.zero_grad)
        with torch.no_grad():  # what was learnt on the way is forgotten
            for p, before in zip(model.parameters(), start):
                p.copy_(before)
                for kept in optimizer.state[p].values():
                    kept.zero_()

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "fix":
            static[0].copy_(sounds[at])
            static[1].copy_(words[at])
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad()
            loss = learn(sounds[at], words[at])
        if turn[0] % look_every == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
