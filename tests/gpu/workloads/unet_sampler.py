# SPDX-License-Identifier: Apache-2.0
"""PyTorch: images are drawn by a small U-Net, with guidance and DDIM steps, in a thread that serves one request after the other.

Wrong: a step is more than a hundred short kernels, launched by Python.
fix: the denoiser and the update of a step are one CUDA graph (launch-bound).
useless: inference_mode instead of no_grad.
"""
import concurrent.futures

import fixable

STEPS = 25

run = fixable.Program(__doc__, steps=1500, warm_up=STEPS, multiple=STEPS)
torch = fixable.load_torch()
nn = torch.nn

SIZE, CHANNELS, WIDTHS, TIME, CLASSES, GUIDANCE = 32, 4, (64, 96, 128), 128, 10, 4.0


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, after), nn.Conv2d(after, after, 3, padding=1)
        self.when = nn.Linear(TIME, after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        self.act = nn.SiLU()

    def forward(self, x, when):
        y = self.conv1(self.act(self.norm1(x)))  # cause: launch
        y = y + self.when(self.act(when))[:, :, None, None]  # cause: launch
        y = self.conv2(self.act(self.norm2(y)))  # cause: launch
        return self.skip(x) + y  # cause: launch


class Look(nn.Module):
    """Attention over the places of the smallest level."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.parts, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        q, k, v = self.parts(self.norm(x)).flatten(2).transpose(1, 2).unsqueeze(1).chunk(3, dim=-1)  # cause: launch
        y = nn.functional.scaled_dot_product_attention(q, k, v)  # cause: launch
        return x + self.out(y.squeeze(1).transpose(1, 2).reshape(x.shape))  # cause: launch


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        first, middle, last = WIDTHS
        self.enter = nn.Conv2d(CHANNELS, first, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(64, TIME), nn.SiLU(), nn.Linear(TIME, TIME))
        self.kind = nn.Embedding(CLASSES + 1, TIME)
        self.down = nn.ModuleList([Block(first, first), Block(first, middle), Block(middle, last)])
        self.inner, self.look, self.outer = Block(last, last), Look(last), Block(last, last)
        self.up = nn.ModuleList([Block(2 * last, middle), Block(2 * middle, first), Block(2 * first, first)])
        self.leave = nn.Sequential(nn.GroupNorm(8, first), nn.SiLU(), nn.Conv2d(first, CHANNELS, 3, padding=1))
        self.register_buffer("rates", torch.exp(-torch.arange(32) / 4.0))

    def forward(self, x, when, kind):
        angles = when[:, None] * self.rates[None]  # cause: launch
        when = self.time(torch.cat([angles.sin(), angles.cos()], dim=1)) + self.kind(kind)  # cause: launch
        x = self.enter(x)  # cause: launch
        kept = []
        for block in self.down:
            x = block(x, when)
            kept.append(x)
            x = nn.functional.avg_pool2d(x, 2)  # cause: launch
        x = self.outer(self.look(self.inner(x, when)), when)
        for block in self.up:
            x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")  # cause: launch
            x = block(torch.cat([x, kept.pop()], dim=1), when)  # cause: launch
        return self.leave(x)  # cause: launch


def make(variant):
    fixable.seed(torch)
    model = UNet().cuda().eval()
    server = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="sampler")
    noises = torch.randn(4, 1, CHANNELS, SIZE, SIZE, device="cuda")
    shares = torch.cos(torch.linspace(1.5, 0.0, STEPS + 1)).square()
    table = [(float(a), float(b)) for a, b in zip(shares, shares[1:])]
    times = [1000.0 * (1.0 - number / STEPS) for number in range(STEPS)]
    kinds = torch.tensor([3, CLASSES], device="cuda")
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    turn, seen = [0], []

    def denoise(x, when, now, then):
        """x with the share `then` of the image, which had the share `now`. These are numbers, or tensors on the device."""
        plain, guided = (noise for noise in model(x.expand(2, -1, -1, -1), when, kinds).flip(0).chunk(2))
        noise = plain + GUIDANCE * (guided - plain)  # cause: launch
        image = (x - (1.0 - now) ** 0.5 * noise) / now ** 0.5  # cause: launch
        return then ** 0.5 * image.clamp(-2.0, 2.0) + (1.0 - then) ** 0.5 * noise  # cause: launch

    if variant == "fix":
        static_x, static_when = noises[0].clone(), torch.zeros(2, device="cuda")
        static_shares, tables = torch.full((2,), 0.5, device="cuda"), torch.tensor(table, device="cuda")
        with torch.no_grad():
            graph, _ = fixable.capture(torch, lambda: static_x.copy_(denoise(static_x, static_when, *static_shares.unbind())))

    def draw(number):
        with context():
            x = noises[number % 4]
            if variant == "fix":
                static_x.copy_(x)
                for at in range(STEPS):
                    static_when.fill_(times[at])
                    static_shares.copy_(tables[at])
                    graph.replay()
                x = static_x
            else:
                for (now, then), when in zip(table, times):
                    x = denoise(x, torch.full((2,), when, device="cuda"), now, then)
            return x.clamp(-1.0, 1.0).cpu()

    def loop(steps):
        for _ in range(steps // STEPS):
            turn[0] += 1
            seen[:] = [server.submit(draw, turn[0]).result()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: fixable.sample_of(torch, *seen))


run.main(make)
