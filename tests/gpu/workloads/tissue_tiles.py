# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns which of eight kinds of tissue a tile of a stained slice shows (colon, after Kather); laboratories stain
in different strengths, so each tile is brought to the same strength first (after Macenko).

Wrong: the Dataset does that whenever a tile is asked for, in the main process, again in each epoch; the GPU waits for it.
fix: all tiles are brought to the same strength once, before the first epoch (host-bound).
fix2: ten workers of the DataLoader do it, which stay from epoch to epoch (host-bound).
useless: Adam is one kernel (fused=True).
"""
import fixable

BATCH, TILES = 24, 1152
EPOCH = TILES // BATCH  # steps

run = fixable.Program(__doc__, steps=5 * EPOCH, warm_up=EPOCH, multiple=EPOCH, settle={"fix2": 2 * EPOCH})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = torch.nn.functional

SIDE, KINDS, WIDTH, WORKERS, BRIGHT, LEAST = 64, 8, 64, 10, 240.0, 0.15
STAINS = numpy.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]], dtype=numpy.float32)  # hematoxylin and eosin, in red, green, blue
STRENGTHS = numpy.array([1.9, 1.0], dtype=numpy.float32)


def same_strength(tile):
    """The tile as our own laboratory would have stained it: its two stains are found, and then replaced by ours."""
    density = -numpy.log((tile.reshape(-1, 3).astype(numpy.float32) + 1.0) / BRIGHT)  # cause: loader
    stained = density[(density > LEAST).all(axis=1)]  # cause: loader
    if len(stained) < 64:
        return tile.astype(numpy.float32) / 255.0
    plane = numpy.linalg.eigh(numpy.cov(stained.T))[1][:, 1:].astype(numpy.float32)  # cause: loader
    plane *= numpy.where(plane[:1] < 0.0, -1.0, 1.0).astype(numpy.float32)  # cause: loader
    on_it = stained @ plane  # cause: loader
    angles = numpy.percentile(numpy.arctan2(on_it[:, 0], on_it[:, 1]), (1.0, 99.0))  # cause: loader
    found = (plane @ numpy.stack((numpy.sin(angles), numpy.cos(angles)))).astype(numpy.float32)  # cause: loader
    if found[0, 0] < found[0, 1]:
        found = found[:, ::-1]
    amounts = density @ numpy.linalg.pinv(found).T  # cause: loader
    most = numpy.percentile(amounts, 99.0, axis=0).astype(numpy.float32)  # cause: loader
    amounts *= STRENGTHS / numpy.maximum(most, 0.05)  # cause: loader
    light = BRIGHT * numpy.exp(-amounts @ STAINS)  # cause: loader
    return (numpy.clip(light, 0.0, 255.0) / 255.0).reshape(SIDE, SIDE, 3)  # cause: loader


class Tiles(torch.utils.data.Dataset):
    """Tiles with nuclei of several sizes and numbers, by kind, in the colors of some laboratories."""

    def __init__(self):
        random = numpy.random.default_rng(20)
        self.kinds = random.integers(0, KINDS, TILES)
        self.tiles = numpy.stack([self.drawn(random, int(kind)) for kind in self.kinds])

    @staticmethod
    def drawn(random, kind):
        y, x = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32)
        nuclei = numpy.zeros((SIDE, SIDE), dtype=numpy.float32)
        for at_y, at_x in SIDE * random.random((6 + 4 * (kind % 4), 2)):
            nuclei += numpy.exp(-((y - at_y) ** 2 + (x - at_x) ** 2) / (8.0 + 12.0 * (kind // 4)))
        fibres = 0.5 + 0.3 * numpy.sin(0.2 * (1 + kind) * x + 0.3 * y)
        amounts = numpy.stack((0.1 + nuclei.clip(0.0, 1.5), fibres + 0.1 * random.random((SIDE, SIDE))), axis=2)
        colors = STAINS * random.uniform(0.8, 1.2, (2, 3)) * random.uniform(0.6, 1.4, (2, 1))
        return (BRIGHT * numpy.exp(-amounts @ colors)).astype(numpy.uint8)

    def __len__(self):
        return TILES

    def __getitem__(self, index):
        tile = same_strength(self.tiles[index]).transpose(2, 0, 1)  # cause: loader
        return torch.from_numpy(numpy.ascontiguousarray(tile, dtype=numpy.float32)), int(self.kinds[index])  # cause: loader


class Prepared(Tiles):
    """The same, of which each is brought to one strength once only."""

    def __init__(self):
        super().__init__()
        self.ready = [super(Prepared, self).__getitem__(index) for index in range(TILES)]

    def __getitem__(self, index):
        return self.ready[index]


class Orders:
    """All tiles, again and again, each time in another order."""

    def __iter__(self):
        random = numpy.random.default_rng(21)
        while True:
            yield from random.permutation(TILES).reshape(EPOCH, BATCH).tolist()


def network():
    def block(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
    return nn.Sequential(block(3, WIDTH), block(WIDTH, WIDTH), nn.MaxPool2d(2), block(WIDTH, 2 * WIDTH), nn.MaxPool2d(2),
                         block(2 * WIDTH, 4 * WIDTH), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * WIDTH, KINDS))


def make(variant):
    fixable.seed(torch)
    model = network().cuda().train()
    adam = torch.optim.Adam(model.parameters(), lr=3e-4, fused=variant == "useless" or None)
    tiles = Prepared() if variant == "fix" else Tiles()
    workers = WORKERS if variant == "fix2" else 0
    loader = torch.utils.data.DataLoader(tiles, batch_sampler=Orders(), num_workers=workers,
                                         multiprocessing_context="fork" if workers else None)
    batches = iter(loader)
    losses, usual = [], [2.0]

    def step():
        pictures, kinds = next(batches)  # cause: loader
        pictures, kinds = pictures.to("cuda"), kinds.to("cuda")  # cause: delayed
        loss = F.cross_entropy(model(torch.rot90(pictures, len(losses) % 4, (2, 3))), kinds, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.detach())
        if len(losses) == EPOCH:
            usual[0] += 0.2 * (torch.stack(losses).mean().item() - usual[0])
            losses.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
