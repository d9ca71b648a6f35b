# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an autoencoder learns of which minerals the ground consists, from the spectra that a plane has taken of it: a pixel
has 224 bands, and is a mixture of a dozen minerals. The spectra lie in pinned memory, and the next batch is sent with
non_blocking=True before the present one is learnt from, "so that both go on at once".

Wrong: they do not, since the copy is on the stream of the kernels, which wait for it.
fix: the copies have a stream of their own (copy-bound).
fix2: the bands are kept as the 16-bit numbers that the scanner gives, and are divided on the device; same stream (copy-bound).
useless: the loss is read every 250 batches instead of every 25.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=8)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

PIXELS, BANDS, MINERALS, SETS, FULL, SMOOTH = 131072, 224, 12, 4, 10000.0, 0.01


class Unmixer(nn.Module):
    """Shares of minerals from a spectrum, and the spectrum again from the shares."""

    def __init__(self):
        super().__init__()
        self.shares = nn.Sequential(nn.Linear(BANDS, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, MINERALS))
        self.spectra = nn.Parameter(torch.rand(MINERALS, BANDS))

    def forward(self, seen):
        shares = self.shares(seen).softmax(dim=1)
        return shares @ self.spectra.abs(), shares


def flight():
    """What the scanner gave, as 16-bit numbers."""
    bands = torch.linspace(0.0, 1.0, BANDS, device="cuda")
    spectra = torch.full((MINERALS, BANDS), 0.5, device="cuda")
    for _ in range(5):
        places, widths = torch.rand(2, MINERALS, 1, device="cuda")
        spectra *= 1.0 - 0.5 * torch.exp(-((bands - places) / (0.02 + 0.1 * widths)).square())
    lines = []
    for _ in range(SETS):
        shares = (3.0 * torch.randn(PIXELS, MINERALS, device="cuda")).softmax(dim=1)
        light = 0.8 + 0.4 * torch.rand(PIXELS, 1, device="cuda")
        seen = light * (shares @ spectra) + 0.005 * torch.randn(PIXELS, BANDS, device="cuda")
        lines.append((FULL * seen.clamp(0.0, 1.5)).round().short().cpu())
    return lines


def make(variant):
    fixable.seed(torch)
    lines = flight()
    short = variant == "fix2"
    lines = [(line if short else line.float() / FULL).pin_memory() for line in lines]
    model = Unmixer().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    places = [torch.empty(PIXELS, BANDS, dtype=lines[0].dtype, device="cuda") for _ in range(2)]
    copies = torch.cuda.Stream() if variant == "fix" else torch.cuda.current_stream()
    arrived, used = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
    look_every, turn, seen = 250 if variant == "useless" else 25, [0], []

    def send(number):
        at = number % 2
        with torch.cuda.stream(copies):
            copies.wait_event(used[at])  # by the batch before the last one
            places[at].copy_(lines[number % SETS], non_blocking=True)  # cause: copy
            arrived[at].record()

    def learn(place):
        pixels = place.float() / FULL if short else place
        again, shares = model(pixels)
        alike = F.cosine_similarity(again, pixels, dim=1).clamp(max=0.99999)
        loss = alike.acos().mean() + F.mse_loss(again, pixels) - SMOOTH * shares.square().sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    copies.wait_stream(torch.cuda.current_stream())
    send(0)

    def step():
        number = turn[0]
        turn[0] += 1
        send(number + 1)  # cause: copy
        torch.cuda.current_stream().wait_event(arrived[number % 2])
        loss = learn(places[number % 2])
        used[number % 2].record()
        if turn[0] % look_every == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
