# SPDX-License-Identifier: Apache-2.0
"""PyTorch: windows of what a plant's sensors say are looked at by a transformer, which tells for each moment how likely each next
value is, by a mixture of torch.distributions; windows that were unlikely are counted.

Wrong: distributions look whether what they are given is valid, by an `if` that waits for the GPU; the host cuts the next windows
only after that.
fix: validate_args=False (sync-bound).
fix2: the windows are cut before the loop; it is still waited for (host-bound).
useless: windows are copied to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=6)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional
chances_of = torch.distributions

SENSORS, TIMES, LENGTH, BATCH, WIDTH, HEADS, LAYERS, PARTS, LOOK_EVERY = 16, 100000, 129, 128, 768, 12, 12, 4, 25


def recorded(random):
    """What the sensors said: tones of their own, and noise that is larger at times."""
    time = numpy.arange(TIMES, dtype=numpy.float32)[:, None]
    tones = random.uniform(0.005, 0.3, (2, SENSORS)).astype(numpy.float32)
    noise = random.standard_normal((TIMES, SENSORS), dtype=numpy.float32)
    noise *= numpy.where(time % 5000 < 500, 0.4, 0.2).astype(numpy.float32)
    return numpy.sin(tones[0] * time) + 0.5 * numpy.sin(tones[1] * time) + noise


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.parts(self.before(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
        x = x + self.joined(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.outer(F.gelu(self.inner(self.between(x))))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.places = nn.Linear(SENSORS, WIDTH), nn.Parameter(0.02 * torch.randn(LENGTH - 1, WIDTH))
        self.body = nn.Sequential(*(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, 3 * SENSORS * PARTS)

    def forward(self, x):
        return self.head(self.body(self.first(x) + self.places)).float().view(*x.shape, 3, PARTS).unbind(-2)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    said = recorded(random)
    model = Forecast().to("cuda", torch.bfloat16).eval()
    check = False if variant == "fix" else None
    place = torch.empty(BATCH, LENGTH, SENSORS, device="cuda") if variant == "useless" else None
    strange, usual = torch.zeros((), device="cuda"), torch.zeros((), device="cuda")
    turn, told = [0], []

    def windows():
        """Each one brought to median 0 and a mean distance of 1 from it."""
        cut = said[random.integers(0, TIMES - LENGTH, BATCH)[:, None] + numpy.arange(LENGTH)]
        cut -= numpy.median(cut, axis=1, keepdims=True)
        cut /= numpy.abs(cut).mean(axis=1, keepdims=True) + 1e-3
        return torch.from_numpy(cut).pin_memory()

    def likely(x):
        """The logarithm of how likely each value is behind those before it."""
        weights, middles, widths = model(x[:, :-1].bfloat16())
        which = chances_of.Categorical(logits=weights, validate_args=check)  # cause: wait
        each = chances_of.Normal(middles, F.softplus(widths) + 0.01, validate_args=check)  # cause: wait
        return chances_of.MixtureSameFamily(which, each, validate_args=check).log_prob(x[:, 1:])  # cause: wait

    ready = [windows() for _ in range(50)] if variant == "fix2" else None

    @torch.no_grad()
    def step():
        cut = ready[turn[0] % len(ready)] if ready else windows()
        turn[0] += 1
        x = place.copy_(cut, non_blocking=True) if variant == "useless" else cut.to("cuda", non_blocking=True)
        found = likely(x).mean(dim=(1, 2))
        usual.mul_(0.95).add_(found.mean(), alpha=0.05)
        strange.mul_(0.95).add_((found < usual - 0.3).float().mean(), alpha=0.05)
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [strange.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
