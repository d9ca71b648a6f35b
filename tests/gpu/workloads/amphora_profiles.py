# SPDX-License-Identifier: Apache-2.0
"""PyTorch: diggers find rims of amphorae, and want to know how odd each one's outline is, and what the rest of it may have looked
like. A flow of 24 invertible layers (affine couplings, as in RealNVP) learns the outlines of 20 thousand whole ones, each of
which is 64 radii; behind ten steps some new outlines are drawn by running the flow backwards, for the diggers to laugh at.

Wrong: each layer is a dozen tiny kernels, and more than twice that in the backward pass: Python launches over a thousand for a
step, slower than they run.
fix: the training step is one CUDA graph, with Adam's capturable=True, and the drawing is another one (launch-bound).
useless: the loss is read behind ten steps, and not behind each.
"""
import math

import fixable

DRAW_EVERY = 10

run = fixable.Program(__doc__, steps=300, warm_up=DRAW_EVERY, multiple=DRAW_EVERY)
torch = fixable.load_torch()
nn = torch.nn

POTS, RADII, BATCH, WIDTH, LAYERS, DRAWN = 20000, 64, 512, 128, 24, 256
HALF = RADII // 2


class Coupling(nn.Module):
    """Half of the numbers tell how the other half is stretched and shifted."""

    def __init__(self, order):
        super().__init__()
        self.register_buffer("order", order)
        self.register_buffer("back", order.argsort())
        self.middle = nn.Parameter(torch.zeros(RADII))
        self.size = nn.Parameter(torch.zeros(RADII))
        self.inner = nn.Sequential(nn.Linear(HALF, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(),
                                   nn.Linear(WIDTH, RADII))
        nn.init.zeros_(self.inner[-1].weight)
        nn.init.zeros_(self.inner[-1].bias)

    def told(self, kept):
        stretch, shift = self.inner(kept).chunk(2, dim=1)  # cause: launch
        return torch.tanh(stretch), shift  # cause: launch

    def forward(self, x):
        x = (x - self.middle) * self.size.exp()  # cause: launch
        kept, other = x.index_select(1, self.order).chunk(2, dim=1)  # cause: launch
        stretch, shift = self.told(kept)  # cause: launch
        y = torch.cat((kept, other * stretch.exp() + shift), dim=1)  # cause: launch
        return y, stretch.sum(dim=1) + self.size.sum()  # cause: launch

    def backwards(self, y):
        kept, other = y.chunk(2, dim=1)
        stretch, shift = self.told(kept)  # cause: launch
        x = torch.cat((kept, (other - shift) * (-stretch).exp()), dim=1).index_select(1, self.back)  # cause: launch
        return x * (-self.size).exp() + self.middle  # cause: launch


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(torch.randperm(RADII)) for _ in range(LAYERS))

    def forward(self, x):
        """How unlikely outlines are, per radius."""
        volume = 0.0
        for layer in self.layers:
            x, more = layer(x)  # cause: launch
            volume = volume + more  # cause: launch
        return (0.5 * x.square().sum(dim=1) - volume) / RADII + 0.5 * math.log(2.0 * math.pi)

    def drawn(self):
        y = torch.randn(DRAWN, RADII, device="cuda")
        for layer in reversed(self.layers):
            y = layer.backwards(y)  # cause: launch
        return y


def outlines():
    """Radii from the rim to the foot: a neck, a belly, a foot, and the potter's hand."""
    down = torch.linspace(0.0, 1.0, RADII, device="cuda")
    neck, belly, place, wide = torch.rand(4, POTS, 1, device="cuda")
    radius = 0.3 + 0.3 * neck + (0.6 + 0.8 * belly) * torch.exp(-((down - 0.4 - 0.2 * place) / (0.15 + 0.15 * wide)).square())
    radius = radius * (1.0 - down ** 6) + 0.03 * torch.sin(25.0 * down + 6.0 * wide)
    return (radius - radius.mean()) / radius.std()


def make(variant):
    fixable.seed(torch)
    radii, flow = outlines(), Flow().cuda()
    weights = list(flow.parameters())
    adam = torch.optim.Adam(weights, lr=3e-4, capturable=variant == "fix")
    turn, pending, usual = [0], [], [1.0, 1.0]

    def learn():
        which = torch.randint(POTS, (BATCH,), device="cuda")
        x = radii[which] + 0.02 * torch.randn(BATCH, RADII, device="cuda")
        loss = flow(x).mean()  # cause: launch
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(weights, 5.0)
        adam.step()  # cause: launch
        return loss.detach()

    @torch.no_grad()
    def draw():
        """How wide the bellies of new amphorae are."""
        return flow.drawn().clamp(-5.0, 5.0).amax(dim=1).mean()  # cause: launch

    if variant == "fix":
        train, loss_there = fixable.capture(torch, learn, adam.zero_grad)
        new, belly_there = fixable.capture(torch, draw)

    def trained():
        if variant == "fix":
            train.replay()
            return loss_there
        adam.zero_grad()
        return learn()  # cause: launch

    def bellies():
        if variant == "fix":
            new.replay()
            return belly_there
        return draw()  # cause: launch

    def note(loss):
        if not math.isfinite(loss):
            raise ValueError("the flow has come apart")
        usual[0] += 0.01 * (loss - usual[0])

    def step():
        loss = trained()  # cause: launch
        turn[0] += 1
        if variant == "useless":
            pending.append(loss)
        else:
            note(loss.item())
        if turn[0] % DRAW_EVERY == 0:
            usual[1] += 0.05 * (bellies().item() - usual[1])  # cause: launch
            if pending:
                for one in torch.stack(pending).tolist():
                    note(one)
                pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
