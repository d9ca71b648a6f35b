# SPDX-License-Identifier: Apache-2.0
"""timm: a network learns where in pictures of sea water small animals are, of which kind and how large (as CenterNet does); a
thread turns pictures over by chance, and draws the map of what is to be found: a round spot for each animal.

Wrong: the thread draws the spots one after the other, by Python and NumPy; this takes longer than learning, and Python's lock
lets the one or the other go on.
fix: the maps of all batches are drawn before the loop, and the thread hands them over in turns (host-bound).
fix2: what is learnt from a batch is one CUDA graph (launch-bound).
useless: the maps are copied to a tensor that is made once.
"""
import math
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10)
torch, numpy, timm = fixable.load_torch("numpy", "timm")
nn, F = torch.nn, torch.nn.functional

BATCH, SIDE, SHRUNK, KINDS, ANIMALS, WIDTH, SETS, AHEAD, LOOK_EVERY = 16, 256, 4, 6, 48, 64, 8, 2, 20
GRID, OVERLAP = SIDE // SHRUNK, 0.7


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = timm.create_model("resnet18", pretrained=False, features_only=True, in_chans=1, out_indices=(1, 2, 3))
        self.sides = nn.ModuleList(nn.Conv2d(channels, WIDTH, 1) for channels in self.body.feature_info.channels())
        self.join = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.head = nn.Conv2d(WIDTH, KINDS + 2, 1)
        nn.init.constant_(self.head.bias, -2.2)

    def forward(self, pictures):
        fine, middle, coarse = [side(x) for side, x in zip(self.sides, self.body(pictures))]
        middle = middle + F.interpolate(coarse, scale_factor=2.0)
        fine = fine + F.interpolate(middle, scale_factor=2.0)
        return self.head(F.relu(self.join(fine))).float()


def loss_of(found, maps):
    """The focal loss of the places, and how far off the sizes are."""
    spots, sizes, here = maps[:, :KINDS], maps[:, KINDS:-1], maps[:, -1:]
    sure = torch.sigmoid(found[:, :KINDS]).clamp(1e-4, 1.0 - 1e-4)
    hit = (spots == 1.0).float()
    right = hit * torch.log(sure) * (1.0 - sure).square()
    wrong = (1.0 - hit) * torch.log(1.0 - sure) * sure.square() * (1.0 - spots).pow(4)
    off = (here * (found[:, KINDS:] - sizes).abs()).sum()
    return (0.1 * off - (right + wrong).sum()) / hit.sum().clamp(min=1.0)


def radius_of(height, width):
    """How far a corner may be moved so that the boxes still overlap; the formula of CornerNet, which all others copy."""
    b1 = height + width
    c1 = width * height * (1.0 - OVERLAP) / (1.0 + OVERLAP)
    b2 = 2.0 * (height + width)
    c2 = (1.0 - OVERLAP) * width * height
    b3 = -2.0 * OVERLAP * (height + width)
    c3 = (OVERLAP - 1.0) * width * height
    return min((b1 - math.sqrt(b1 * b1 - 4.0 * c1)) / 2.0, (b2 - math.sqrt(b2 * b2 - 16.0 * c2)) / 8.0,
               (b3 + math.sqrt(b3 * b3 - 16.0 * OVERLAP * c3)) / (8.0 * OVERLAP))


def draw(spots, x, y, radius):
    """A spot that is 1 in its middle; where it meets another one the larger value stays."""
    rows, columns = numpy.ogrid[-radius:radius + 1, -radius:radius + 1]  # cause: loader
    spot = numpy.exp(-(rows * rows + columns * columns) / (2.0 * ((2 * radius + 1) / 6.0) ** 2))  # cause: loader
    spot[spot < 1e-7 * spot.max()] = 0.0  # cause: loader
    left, right, top, bottom = min(x, radius), min(GRID - x, radius + 1), min(y, radius), min(GRID - y, radius + 1)
    part = spots[y - top:y + bottom, x - left:x + right]  # cause: loader
    numpy.maximum(part, spot[radius - top:radius + bottom, radius - left:radius + right], out=part)  # cause: loader


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    middles = random.uniform(8.0, SIDE - 8.0, (SETS, BATCH, ANIMALS, 2))
    spans = random.uniform(12.0, 56.0, (SETS, BATCH, ANIMALS, 2))
    kinds = random.integers(0, KINDS, (SETS, BATCH, ANIMALS)).tolist()
    water = torch.rand(SETS, BATCH, 1, SIDE, SIDE, device="cuda")
    model = Finder().cuda().train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=variant == "fix2")
    ready, failed = queue.Queue(maxsize=AHEAD), []
    turn, last, seen = [0], [], []

    def batch(number):
        """Which pictures are turned over, and the maps: spots for each kind, the two sizes, and where these are known."""
        turned = numpy.random.default_rng(number).random(BATCH) < 0.5
        maps = numpy.zeros((BATCH, KINDS + 3, GRID, GRID), dtype=numpy.float32)  # cause: loader
        for at in range(BATCH):  # cause: loader
            boxes = zip(middles[number][at].tolist(), spans[number][at].tolist(), kinds[number][at])  # cause: loader
            for (x, y), (width, height), kind in boxes:  # cause: loader
                x = SIDE - x if turned[at] else x
                x, y, width, height = int(x / SHRUNK), int(y / SHRUNK), width / SHRUNK, height / SHRUNK
                draw(maps[at, kind], x, y, max(0, int(radius_of(math.ceil(height), math.ceil(width)))))  # cause: loader
                maps[at, KINDS:, y, x] = math.log(width), math.log(height), 1.0  # cause: loader
        return torch.from_numpy(turned), torch.from_numpy(maps)

    drawn = [batch(number) for number in range(SETS)] if variant == "fix" else None
    room = torch.zeros(BATCH, KINDS + 3, GRID, GRID, device="cuda") if variant == "useless" else None

    def fill():
        number = 0
        while not failed:
            try:
                ready.put(drawn[number] if drawn else batch(number))  # cause: loader
            except Exception as e:
                failed.append(e)
                ready.put((None, None))
            number = (number + 1) % SETS

    threading.Thread(target=fill, name="maps", daemon=True).start()

    def learn(pictures, turned, maps):
        pictures = torch.where(turned.view(-1, 1, 1, 1), pictures.flip(3), pictures)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = model(pictures.contiguous(memory_format=torch.channels_last))
        loss = loss_of(found, maps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if variant == "fix2":
        first = batch(0)
        places = [water[0].clone(), first[0].cuda(), first[1].cuda()]
        graph, learnt = fixable.capture(torch, lambda: learn(*places))

    def step():
        pictures = water[turn[0] % SETS]
        turn[0] += 1
        turned, maps = ready.get()  # cause: loader
        if failed:
            raise failed[0]
        if variant == "fix2":
            for place, new in zip(places, (pictures, turned, maps)):
                place.copy_(new)
            graph.replay()
            last[:] = [learnt]
        else:
            turned, maps = turned.cuda(), room.copy_(maps) if room is not None else maps.cuda()  # cause: delayed
            last[:] = [learn(pictures, turned, maps)]
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(last[0])]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *last))


run.main(make)
