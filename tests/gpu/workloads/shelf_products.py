# SPDX-License-Identifier: Apache-2.0
"""torchvision: cameras over the shelves of a shop look what is sold out: a small network (ResNet-18 with a pyramid of features)
finds the products in four pictures, and of boxes that lie upon each other the best one is kept.

Wrong: the boxes are compared by NumPy, box after box and picture after picture, and the GPU waits until the last one is done.
fix: torchvision.ops.batched_nms does it on the GPU for all four pictures (host-bound).
fix2: the network, up to the boxes that are to be compared, is one CUDA graph (launch-bound).
fix3: the boxes of the pictures before are read and compared while the GPU is at work on these (sync-bound).
useless: the boxes come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")
nn = torch.nn

PICTURES, SIZE, SETS, CHANNELS, DEPTH, BEST, OVERLAP = 4, 640, 4, 128, 2, 300, 0.5
LEVELS = (("layer2", 8), ("layer3", 16), ("layer4", 32))
SHAPES = ((3.0, 6.0), (4.0, 5.0), (5.0, 7.0))  # of boxes, by the distance of two pixels of a level


class Finder(nn.Module):
    """The scores of products and their boxes, for all places of a level."""

    def __init__(self):
        super().__init__()
        body = torchvision.models.resnet18(weights=None)
        self.body = torchvision.models._utils.IntermediateLayerGetter(body, {name: name for name, _ in LEVELS})
        self.pyramid = torchvision.ops.FeaturePyramidNetwork([128, 256, 512], CHANNELS)
        layers = []
        for _ in range(DEPTH):
            layers += [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU()]
        self.tower, self.last = nn.Sequential(*layers), nn.Conv2d(CHANNELS, 5 * len(SHAPES), 3, padding=1)
        nn.init.normal_(self.last.weight, std=0.02)

    def forward(self, pictures):
        levels = self.pyramid(self.body(pictures)).values()  # cause: delayed
        return [self.last(self.tower(level)) for level in levels]


def anchors():
    """Left, top, width and height of all boxes that are thought of, in the order in which the network tells them."""
    for _, apart in LEVELS:
        at = (torch.arange(SIZE // apart, device="cuda") + 0.5) * apart
        y, x = torch.meshgrid(at, at, indexing="ij")
        middle = torch.stack((x, y), dim=2).view(-1, 1, 2)
        size = apart * torch.tensor(SHAPES, device="cuda").expand(len(middle), -1, -1)
        yield torch.cat((middle.expand(-1, len(SHAPES), -1), size), dim=2).view(-1, 4)


def shelves():
    """Pictures of boards, with packages next to each other."""
    y, x = torch.meshgrid(torch.arange(SIZE, device="cuda").float(), torch.arange(SIZE, device="cuda").float(), indexing="ij")
    for number in range(SETS * PICTURES):
        wide, high = 30.0 + 3.0 * number, 60.0 + 5.0 * (number % 7)
        column, row = (x / wide).floor(), (y / high).floor()
        colors = [((column * 12.9 + row * 78.2 + 37.7 * k + number).sin() * 43758.5).frac() for k in range(3)]
        edge = ((x % wide < 3.0) | (y % high < 6.0)).float()
        yield torch.stack(colors) * (1.0 - edge) + 0.1 * torch.randn(3, SIZE, SIZE, device="cuda")


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Finder().cuda().half().eval().to(memory_format=torch.channels_last)
    pictures = torch.stack(list(shelves())).half().view(SETS, PICTURES, 3, SIZE, SIZE)
    pictures = [four.contiguous(memory_format=torch.channels_last) for four in pictures]
    places = torch.cat(list(anchors()))
    numbers = torch.arange(PICTURES, device="cuda").repeat_interleave(BEST)
    landing = [torch.zeros(PICTURES, BEST, 5, pin_memory=True) for _ in range(2)] if variant in ("fix3", "useless") else None
    turn, mean, before = [0], [0.0, 0.0], []

    def look(four):
        """The best boxes of each picture: (PICTURES, BEST, 5), their scores at last, the best one first."""
        parts = [p.permute(0, 2, 3, 1).reshape(PICTURES, -1, 5) for p in model(four)]  # cause: delayed
        parts = torch.cat(parts, dim=1).float()
        scores, which = parts[:, :, 4].sigmoid().topk(BEST, dim=1)
        moved = parts.gather(1, which.unsqueeze(2).expand(-1, -1, 5))[:, :, :4].tanh()
        base = places[which]
        middle = base[:, :, :2] + 0.5 * moved[:, :, :2] * base[:, :, 2:]
        half = 0.5 * base[:, :, 2:] * (0.4 * moved[:, :, 2:]).exp()
        return torch.cat((middle - half, middle + half, scores.unsqueeze(2)), dim=2)

    if variant == "fix2":
        place = pictures[0].clone()
        graph, given = fixable.capture(torch, lambda: look(place))

    def compared(boxes):
        """Which boxes of one picture are kept."""
        left, top, right, bottom, _ = boxes.T
        areas = (right - left) * (bottom - top)  # cause: loader
        order, good = numpy.arange(len(boxes)), []
        while order.size:
            first, rest = order[0], order[1:]  # cause: loader
            good.append(first)
            wide = numpy.minimum(right[first], right[rest]) - numpy.maximum(left[first], left[rest])  # cause: loader
            high = numpy.minimum(bottom[first], bottom[rest]) - numpy.maximum(top[first], top[rest])  # cause: loader
            common = numpy.maximum(0.0, wide) * numpy.maximum(0.0, high)  # cause: loader
            order = rest[common / (areas[first] + areas[rest] - common) <= OVERLAP]  # cause: loader
        return boxes[good]

    def note(count, score):
        mean[0] += 0.05 * (count - mean[0])
        mean[1] += 0.05 * (float(score) - mean[1])

    def compare_all(found):
        good = [compared(boxes) for boxes in found.numpy()]  # cause: loader
        note(sum(len(boxes) for boxes in good), sum(boxes[:, 4].sum() for boxes in good))

    def read(found):
        if variant == "useless":
            landing[0].copy_(found, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing[0]
        return found.cpu()

    @torch.no_grad()
    def step():
        four = pictures[turn[0] % SETS]
        turn[0] += 1
        if variant == "fix2":
            place.copy_(four)
            graph.replay()
            found = given
        else:
            found = look(four)  # cause: delayed
        if variant == "fix":
            flat = found.view(-1, 5)
            good = flat[torchvision.ops.batched_nms(flat[:, :4], flat[:, 4], numbers, OVERLAP)].cpu()
            note(len(good), good[:, 4].sum())
        elif variant == "fix3":
            here = landing[turn[0] % 2]
            here.copy_(found, non_blocking=True)
            before.append((torch.cuda.current_stream().record_event(), here))
            if len(before) == 2:
                landed, there = before.pop(0)
                landed.synchronize()
                compare_all(there)
        else:
            compare_all(read(found))  # cause: loader

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
