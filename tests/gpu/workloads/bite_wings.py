# SPDX-License-Identifier: Apache-2.0
"""PyTorch: dentists have outlined teeth in bitewing films, and a U-Net learns to tell enamel, dentine, pulp, filling and decay from
gums, pixel by pixel, in half precision. The six films of a step are drawn by NumPy, those that show decay more often than others;
some are mirrored, since a left jaw looks like a right one.

Wrong: nothing; convolutions of large films keep the GPU busy all the time, and the host launches far ahead of it (gpu-bound).
useless: which films a step takes is drawn for all steps before the loop.
"""
import fixable

run = fixable.Program(__doc__, steps=110, warm_up=8)
torch, numpy = fixable.load_torch("numpy")
nn, functional = torch.nn, torch.nn.functional

FILMS, SIDE, BATCH, DRAWS, TEETH, KINDS, WIDTHS, SHOWN = 96, 512, 6, 32, 5, 6, (64, 128, 256, 512), 20
GUMS, ENAMEL, DENTINE, PULP, FILLING, DECAY = range(KINDS)


def archive():
    """Films of bytes and what each pixel is, on the GPU, and how often a film is to be drawn, on the host."""
    luck = numpy.random.default_rng(20)
    down = torch.linspace(-1.0, 1.0, SIDE, device="cuda")[:, None]
    right = torch.linspace(-1.0, 1.0, SIDE, device="cuda")
    bright = torch.tensor([0.25, 0.85, 0.6, 0.35, 1.0, 0.5], device="cuda")
    films = torch.empty(FILMS, 1, SIDE, SIDE, dtype=torch.uint8, device="cuda")
    outlines = torch.empty(FILMS, SIDE, SIDE, dtype=torch.uint8, device="cuda")
    often = numpy.ones(FILMS)
    for number in range(FILMS):
        kinds = torch.full((SIDE, SIDE), GUMS, dtype=torch.int64, device="cuda")
        for tooth in range(TEETH):
            x, y = -0.8 + 0.4 * tooth + luck.uniform(-0.05, 0.05), luck.uniform(-0.2, 0.2)
            far = ((right - x) / 0.18).square() + ((down - y) / 0.7).square()
            for kind, size in ((ENAMEL, 1.0), (DENTINE, 0.7), (PULP, 0.1)):
                kinds.masked_fill_(far < size, kind)
            if luck.random() < 0.4:
                spot = DECAY if luck.random() < 0.5 else FILLING
                near = (right - x - 0.1).square() + (down - y + 0.4).square()
                kinds.masked_fill_((near < luck.uniform(0.002, 0.008)) & (far < 1.0), spot)
                often[number] += spot == DECAY
        seen = bright[kinds] + 0.08 * torch.randn(SIDE, SIDE, device="cuda")
        films[number, 0] = (255.0 * seen).clamp_(0.0, 255.0).to(torch.uint8)
        outlines[number] = kinds.to(torch.uint8)
    return films, outlines, often / often.sum()


def twice(given, wide):
    """Two convolutions, each with its norm."""
    return nn.Sequential(nn.Conv2d(given, wide, 3, padding=1, bias=False), nn.BatchNorm2d(wide), nn.ReLU(inplace=True),
                         nn.Conv2d(wide, wide, 3, padding=1, bias=False), nn.BatchNorm2d(wide), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Down to an eighth of the film's size, and up again beside what was seen on the way."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(twice(given, wide) for given, wide in zip((1, *WIDTHS), WIDTHS))
        pairs = list(zip(WIDTHS, WIDTHS[1:]))[::-1]
        self.grow = nn.ModuleList(nn.ConvTranspose2d(wide, small, 2, stride=2) for small, wide in pairs)
        self.up = nn.ModuleList(twice(2 * small, small) for small, _ in pairs)
        self.last = nn.Conv2d(WIDTHS[0], KINDS, 1)

    def forward(self, x):
        seen = []
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else functional.max_pool2d(x, 2))
            seen.append(x)
        for grow, block, beside in zip(self.grow, self.up, seen[-2::-1]):
            x = block(torch.cat((beside, grow(x)), dim=1))
        return self.last(x)


def make(variant):
    fixable.seed(torch)
    films, outlines, often = archive()
    model = UNet().to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    usual = torch.ones((), device="cuda")
    turn, told = [0], []

    def drawn(number):
        """The films of a step, and whether they are mirrored."""
        luck = numpy.random.default_rng(number % DRAWS)
        return luck.choice(FILMS, BATCH, replace=False, p=often), luck.random() < 0.5

    ready = [drawn(number) for number in range(DRAWS)] if variant == "useless" else None

    def step():
        chosen, mirrored = ready[turn[0] % DRAWS] if ready else drawn(turn[0])
        chosen = torch.from_numpy(chosen).to("cuda", non_blocking=True)
        pictures, kinds = films[chosen].float().mul_(1.0 / 255.0).sub_(0.4), outlines[chosen].long()
        if mirrored:
            pictures, kinds = pictures.flip(3), kinds.flip(2)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(pictures.contiguous(memory_format=torch.channels_last)), kinds)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.05)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
