# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a detector looks at eight cameras; boxes above a threshold are read image by image, and put in order in Python.

Wrong: boolean indexing and the reading wait for the GPU, and while Python compares boxes, the GPU has nothing.
fix: the best boxes are a fixed number, are copied to pinned memory, and looked at when the next batch is under way (sync-bound).
fix2: boxes are compared by NumPy, all at once (host-bound).
useless: inference_mode instead of no_grad.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=4)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

CAMERAS, SIZE, CELLS, MOST, OVERLAP = 8, 512, 64, 28, 0.4


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        parts, before = [], 3
        for width, stride in ((64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (256, 1), (256, 1)):
            parts += [nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            nn.init.kaiming_normal_(parts[-3].weight)
            before = width
        self.body, self.head = nn.Sequential(*parts), nn.Conv2d(before, 5, 1)
        places = (torch.arange(CELLS) + 0.5) * (SIZE / CELLS)
        self.register_buffer("middles", torch.stack(torch.meshgrid(places, places, indexing="xy"), dim=-1).view(-1, 2))

    def forward(self, images):
        found = self.head(self.body(images)).flatten(2).transpose(1, 2).float()
        middles = self.middles + 16.0 * found[..., 1:3].tanh()
        half = 20.0 * torch.exp(0.5 * found[..., 3:5].tanh())
        return found[..., 0].sigmoid(), torch.cat([middles - half, middles + half], dim=-1)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def in_python(boxes, scores, before):
    """The boxes that no better one covers, and how many of them were there in the image before."""
    kept = []
    for at in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[at], other) <= OVERLAP for other in kept):
            kept.append(boxes[at])
    return kept, sum(any(overlap(box, other) > OVERLAP for other in before) for box in kept)


def overlaps(a, b):
    width = numpy.minimum(a[:, None, 2:], b[None, :, 2:]) - numpy.maximum(a[:, None, :2], b[None, :, :2])
    both = width.clip(min=0.0).prod(axis=-1)
    sizes = [(boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) for boxes in (a, b)]
    return both / (sizes[0][:, None] + sizes[1][None] - both)


def by_numpy(boxes, scores, before):
    boxes = boxes[numpy.argsort(-scores, kind="stable")]
    covers = overlaps(boxes, boxes) > OVERLAP
    left = numpy.ones(len(boxes), bool)
    for at in range(len(boxes)):
        if left[at]:
            left[at + 1:] &= ~covers[at, at + 1:]
    kept = boxes[left]
    return kept, int((overlaps(kept, before) > OVERLAP).any(axis=1).sum()) if len(before) else 0


def make(variant):
    fixable.seed(torch)
    model = Detector().cuda().eval()
    images = torch.randn(4, CAMERAS, 3, SIZE, SIZE, device="cuda")
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    with torch.no_grad():
        levels = torch.cat([model(batch)[0].topk(MOST + 1, dim=1).values[:, -1] for batch in images])
    threshold = float(levels.max())  # no image has more boxes above it
    tracks, turn, seen, pending = [[] for _ in range(CAMERAS)], [0], [0, 0], []

    def track(camera, boxes, scores):
        if variant == "fix2":
            tracks[camera], again = by_numpy(boxes, scores, tracks[camera])
        else:
            tracks[camera], again = in_python(boxes, scores, tracks[camera])
        seen[:] = [len(tracks[camera]), again]

    def look():
        turn[0] += 1
        with context():
            return model(images[turn[0] % 4])

    def step():
        scores, boxes = look()
        for camera in range(CAMERAS):
            good = scores[camera] > threshold
            best, mine = scores[camera][good], boxes[camera][good]  # cause: wait
            if variant == "fix2":
                track(camera, mine.cpu().numpy(), best.cpu().numpy())
            else:
                track(camera, mine.tolist(), best.tolist())  # cause: wait

    if variant == "fix":
        landing = [[torch.empty(CAMERAS, MOST).pin_memory(), torch.empty(CAMERAS, MOST, 4).pin_memory(), torch.cuda.Event()]
                   for _ in range(2)]

        def step():
            scores, boxes = look()
            best, order = scores.topk(MOST, dim=1)
            mine = boxes.gather(1, order.unsqueeze(-1).expand(-1, -1, 4))
            best = best * (best > threshold)
            ready = landing[turn[0] % 2]
            ready[0].copy_(best, non_blocking=True)
            ready[1].copy_(mine, non_blocking=True)
            ready[2].record()
            if pending:
                best, mine, copied = pending.pop()
                copied.synchronize()
                for camera, (row, values) in enumerate(zip(mine.tolist(), best.tolist())):
                    count = sum(value > 0.0 for value in values)
                    track(camera, row[:count], values[:count])
            pending.append(ready)

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(v) for v in seen])


run.main(make)
