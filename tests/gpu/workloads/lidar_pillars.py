# SPDX-License-Identifier: Apache-2.0
"""PyTorch: points that a car's laser scanner has met, ten turns of it a scene, are put into the cells of a map seen from above
("pillars"), in which a small network looks for cars.

Wrong: the points lie in pageable memory; .cuda() holds the host up, and takes longer than what is computed.
fix: they lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: they are kept as the scanner gives them, in 16 bits a number, and become float32 on the device (copy-bound).
useless: what was found is read every 250 steps instead of every 25.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=9)
torch = fixable.load_torch()
nn = torch.nn

SCENES, POINTS, SEEN, SETS, CELLS, FAR, UNIT, WIDTH, KINDS = 4, 300000, 5, 3, 256, 102.4, 0.005, 16, 10
NOWHERE = SCENES * CELLS * CELLS  # a cell for the points that are too far away


def scanned():
    """x, y, z, how bright, how old; in units of 5 mm, and of the same size for the last two."""
    chance = torch.Generator().manual_seed(20)
    spread = torch.tensor([8000.0, 8000.0, 300.0, 100.0, 50.0])
    return [(torch.randn(SCENES, POINTS, SEEN, generator=chance) * spread).clamp(-32767.0, 32767.0).to(torch.int16)
            for _ in range(SETS)]


class Pillars(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(SEEN, WIDTH)
        parts, before = [], WIDTH
        for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (128, 1)):
            parts += [nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)]
            before = width
        self.body = nn.Sequential(*parts, nn.Conv2d(before, KINDS, 1))
        self.register_buffer("scene", torch.arange(SCENES).view(-1, 1) * CELLS)

    def cells(self, points):
        """The number of the cell of each point."""
        column, row = ((points[..., :2] + FAR) * (CELLS / (2.0 * FAR))).floor().long().unbind(-1)
        inside = (column >= 0) & (column < CELLS) & (row >= 0) & (row < CELLS)
        return torch.where(inside, (self.scene + row) * CELLS + column, NOWHERE).view(-1)

    def forward(self, points):
        cell, features = self.cells(points), torch.relu(self.first(points)).view(-1, WIDTH)
        sums = features.new_zeros(NOWHERE + 1, WIDTH).index_add_(0, cell, features)
        counts = features.new_zeros(NOWHERE + 1).index_add_(0, cell, torch.ones_like(features[:, 0]))
        means = (sums / counts.clamp(min=1.0).unsqueeze(1))[:-1].view(SCENES, CELLS, CELLS, WIDTH).permute(0, 3, 1, 2)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.body(means)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    scenes = scanned()
    if variant != "fix2":
        scenes = [part.float() * UNIT for part in scenes]
    if variant == "fix":
        scenes = [part.pin_memory() for part in scenes]
    model = Pillars().to("cuda", memory_format=torch.channels_last).eval()
    shares = torch.zeros(KINDS, device="cuda")
    turn, told, look_every = [0], [], 250 if variant == "useless" else 25

    @torch.no_grad()
    def step():
        scene = scenes[turn[0] % SETS]
        turn[0] += 1
        if variant == "fix":
            points = scene.to("cuda", non_blocking=True)
        elif variant == "fix2":
            points = scene.cuda().float() * UNIT
        else:
            points = scene.cuda()  # cause: copy
        shares.mul_(0.9).add_(model(points).float().softmax(dim=1).mean(dim=(0, 2, 3)), alpha=0.1)
        if turn[0] % look_every == 0:
            told[:] = shares.tolist()

    return fixable.Work(step, torch.cuda.synchronize, shares.tolist)


run.main(make)
