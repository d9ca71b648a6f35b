# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a robot pulls weeds; for each pixel of four photographs of its field at once a network says which of eight plants, or
soil, it shows. The network looks at the photographs at a quarter of their size, and its answer is enlarged again.

Wrong: 128 features are enlarged, and only then the last layer (1 x 1) makes nine scores of them; the GPU is at work throughout.
fix: the last layer comes first, and nine scores are enlarged, which is the same (gpu-bound).
useless: all that is done with four photographs is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=8)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

PHOTOS, SIZE, CHANNELS, BLOCKS, KINDS, SETS, LOOK_EVERY = 4, 1024, 128, 3, 9, 6, 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS), nn.ReLU())
        self.two = nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS))

    def forward(self, x):
        return F.relu(x + self.two(self.one(x)))


class Marker(nn.Module):
    def __init__(self, small_head):
        super().__init__()
        self.small_head = small_head
        self.stem = nn.Sequential(nn.Conv2d(3, CHANNELS, 7, stride=4, padding=3, bias=False), nn.BatchNorm2d(CHANNELS), nn.ReLU())
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.last = nn.Conv2d(CHANNELS, KINDS, 1)
        nn.init.normal_(self.last.weight, std=0.5)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        if self.small_head:
            return F.interpolate(self.last(x), scale_factor=4.0, mode="bilinear", align_corners=False)
        return self.last(F.interpolate(x, scale_factor=4.0, mode="bilinear", align_corners=False))


def field():
    """Photographs: soil, rows of a crop, and round weeds at any place."""
    y, x = torch.meshgrid(torch.arange(SIZE, device="cuda"), torch.arange(SIZE, device="cuda"), indexing="ij")
    for number in range(SETS):
        photos = torch.empty(PHOTOS, 3, SIZE, SIZE, device="cuda")
        photos[:, 0], photos[:, 1], photos[:, 2] = 110.0, 85.0 + 2.0 * number, 60.0
        photos[:, 1] += 70.0 * (torch.sin(x / 24.0 + number) > 0.8)
        for photo in photos:
            for row, column, size in (torch.rand(12, 3) * torch.tensor([SIZE, SIZE, SIZE / 12.0])).tolist():
                photo[1] += 50.0 * ((y - row).square() + (x - column).square() < size ** 2)
        yield (photos + 12.0 * torch.randn_like(photos)).clamp(0.0, 255.0).byte()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Marker(variant == "fix").cuda().half().eval()
    photos = list(field())
    middle = torch.tensor([105.0, 100.0, 65.0], device="cuda").view(1, 3, 1, 1)
    counts, shares = torch.zeros(KINDS, device="cuda"), torch.zeros(KINDS, device="cuda")
    kinds = torch.arange(KINDS, device="cuda", dtype=torch.uint8).view(KINDS, 1)
    taken = photos[0].clone()
    turn, told = [0], []

    def mark(batch):
        """The kind of each pixel, and how much there is of each."""
        plants = model(((batch.float() - middle) / 60.0).half()).argmax(dim=1).byte()
        torch.sum(plants.view(1, -1) == kinds, dim=1, dtype=torch.float32, out=counts)
        shares.lerp_(counts / plants.numel(), 0.05)

    if variant == "useless":
        graph, _ = fixable.capture(torch, lambda: mark(taken))
        shares.zero_()

    @torch.no_grad()
    def step():
        batch = photos[turn[0] % SETS]
        turn[0] += 1
        if variant == "useless":
            taken.copy_(batch)
            graph.replay()
        else:
            mark(batch)
        if turn[0] % LOOK_EVERY == 0:
            told[:] = shares.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: shares.tolist())


run.main(make)
