# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: an observatory's pictures of the Sun (white light, magnetic field, calcium light), 12 at a time, are
parted into quiet surface, spots' dark middles and their edges, bright faculae and the sky, by a network for segmentation (FCN
with a ResNet-50) in bfloat16; from that comes which share of the Sun's surface each kind has, where points near the limb,
which are seen from the side, count more.

Wrong: nothing (gpu-bound); some 200 kernels a step take several times longer on the GPU than to launch.
fix: the network and the shares are one CUDA graph (launch-bound; it gains nothing to speak of).
useless: the shares are not read every 20 steps, but at the end.
"""
import fixable

run = fixable.Program(__doc__, steps=160, warm_up=6)
torch, segmentation = fixable.load_torch("torchvision.models.segmentation")

SETS, BATCH, SIZE, KINDS, SPOTS, DISK, SHOWN = 4, 12, 512, 5, 14, 0.88, 20


def from_middle():
    """The square of each point's distance from the Sun's middle, (SIZE, SIZE), by the Sun's radius, and the two directions."""
    line = torch.linspace(-1.0, 1.0, SIZE, device="cuda") / DISK
    down, right = torch.meshgrid(line, line, indexing="ij")
    return down * down + right * right, down, right


def suns(square, down, right):
    """One batch of pictures: a disk that is darker at its limb, with spots in two belts, of two magnetic signs."""
    facing = (1.0 - square).clamp(min=0.0).sqrt()
    light = torch.where(square < 1.0, 0.4 + 0.6 * facing, torch.zeros_like(facing)).expand(BATCH, SIZE, SIZE).clone()
    field, calcium = torch.zeros_like(light), 0.7 * light
    places = torch.rand(SPOTS, 4, BATCH, 1, 1, device="cuda")
    for number, (x, y, wide, deep) in enumerate(places):
        belt = (0.15 + 0.25 * y) * (1.0 if number % 2 else -1.0)
        apart = (down - belt).square() + (right - 1.4 * (x - 0.5)).square()
        spot = torch.exp(-apart / (0.02 + 0.04 * wide).square())
        light *= 1.0 - (0.5 + 0.4 * deep) * spot
        field += spot * (1.0 if number % 4 < 2 else -1.0)
        calcium += 0.3 * torch.exp(-apart / (0.05 + 0.08 * wide).square()) * (square < 1.0)
    return torch.stack((light, field, calcium), dim=1) + 0.02 * torch.randn(BATCH, 3, SIZE, SIZE, device="cuda")


def network(pictures):
    """The network in bfloat16, whose statistics for normalisation are those of some pictures."""
    model = segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=KINDS).cuda()
    for part in model.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = None  # the mean of all that it sees
    model.train()
    for _ in range(2):
        model(pictures)
    return model.eval().to(dtype=torch.bfloat16, memory_format=torch.channels_last)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    square, down, right = from_middle()
    sets = [suns(square, down, right) for _ in range(SETS)]
    model = network(sets[0])
    sets = [pictures.to(dtype=torch.bfloat16, memory_format=torch.channels_last) for pictures in sets]
    surface = torch.where(square < 0.97, (1.0 - square).clamp(min=0.03).rsqrt(), torch.zeros_like(square))
    surface /= surface.sum()
    pictures, shares = sets[0].clone(), torch.zeros(KINDS, device="cuda")
    turn, usual = [0], [0.0] * KINDS

    def look():
        """What share of the surface is of which kind, by the last pictures' mean."""
        kinds = model(pictures)["out"].float().softmax(dim=1)
        shares.lerp_((kinds * surface).sum(dim=(2, 3)).mean(dim=0), 0.05)

    if variant == "fix":
        graph, _ = fixable.capture(torch, look)
        shares.zero_()
        see = graph.replay
    else:
        see = look

    @torch.no_grad()
    def step():
        pictures.copy_(sets[turn[0] % SETS])
        see()
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            usual[:] = shares.tolist()

    return fixable.Work(step, torch.cuda.synchronize, shares.tolist)


run.main(make)
