# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how much of a reef is covered by living corals, algae or sand is told from photos that divers take along a line: at 40
points of a photo a patch is cut out, its colours are set right for the depth of the water, and a ResNet tells what is there.

Wrong: NumPy cuts 160 patches a step and sets their colours right, then they are copied from pageable memory, 31.5 MB, for which
the host waits; the GPU has nothing to do for the most part of a step.
fix: patches of all points are ready before the loop, in pageable memory (host-bound).
fix2: NumPy writes them to pinned memory, and the host does not wait for the copies (copy-bound).
fix3: what the ResNet and the sums launch is one CUDA graph (launch-bound).
useless: the copy of the patches in bfloat16 goes to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=12)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

PHOTOS, HIGH, WIDE, AT_ONCE, POINTS, SIDE, KINDS, SETS, RING, TOLD = 16, 1536, 2048, 4, 40, 128, 8, 6, 3, 20
PATCHES = AT_ONCE * POINTS
MEAN, DEVIATION, SWALLOWED = (0.31, 0.42, 0.45), (0.21, 0.22, 0.22), (0.06, 0.02, 0.01)  # red, green, blue; per metre of water


def photos():
    """Photos, (3, HIGH, WIDE) of bytes, and for each the factors of its colours, (3, 1, 1)."""
    random = numpy.random.default_rng(20)
    for _ in range(PHOTOS):
        coarse = random.integers(20, 190, (3, HIGH // 64, WIDE // 64), dtype=numpy.uint8)
        photo = coarse.repeat(64, axis=1).repeat(64, axis=2)
        photo += random.integers(0, 50, photo.shape, dtype=numpy.uint8)
        depth = random.uniform(3.0, 12.0)
        factor = numpy.exp(depth * numpy.array(SWALLOWED)) / (255.0 * numpy.array(DEVIATION))
        yield photo, factor.astype(numpy.float32).reshape(3, 1, 1)


def points():
    """Of each set of four photos: the photo and the upper left corner of each patch."""
    random = numpy.random.default_rng(21)
    for number in range(SETS):
        which = (numpy.arange(PATCHES) // POINTS + number * AT_ONCE) % PHOTOS
        corners = random.integers(0, (HIGH - SIDE, WIDE - SIDE), (PATCHES, 2))
        yield [(photo, *corner) for photo, corner in zip(which.tolist(), corners.tolist())]


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    taken, wanted = list(photos()), list(points())
    shift = (numpy.array(MEAN) / numpy.array(DEVIATION)).astype(numpy.float32).reshape(3, 1, 1)
    net = torchvision.models.resnet18(num_classes=KINDS, zero_init_residual=True).eval()
    net = net.to("cuda").to(torch.bfloat16).to(memory_format=torch.channels_last)
    images = torch.zeros(PATCHES, 3, SIDE, SIDE, device="cuda")
    kept = torch.zeros_like(images, dtype=torch.bfloat16, memory_format=torch.channels_last) if variant == "useless" else None
    told, usual, turn = torch.zeros(KINDS, device="cuda"), [0.0] * KINDS, [0]

    def cut(number, into):
        """Writes the patches of a set."""
        for n, (photo, down, right) in enumerate(wanted[number]):
            picture, factor = taken[photo]
            patch = picture[:, down:down + SIDE, right:right + SIDE]
            numpy.multiply(patch, factor, out=into[n])  # cause: loader
            numpy.subtract(into[n], shift, out=into[n])  # cause: loader

    count = SETS if variant == "fix" else RING
    buffers = [torch.zeros(PATCHES, 3, SIDE, SIDE, pin_memory=variant == "fix2") for _ in range(count)]
    arrays, copied = [one.numpy() for one in buffers], [torch.cuda.Event() for _ in buffers]
    if variant == "fix":
        for number, one in enumerate(arrays):
            cut(number, one)

    def cover():
        """Notes which share of the reef is covered by what."""
        if kept is not None:
            small = kept.copy_(images)
        else:
            small = images.to(torch.bfloat16, memory_format=torch.channels_last)
        chances = net(small).float().softmax(dim=1)
        of_photos = chances.view(AT_ONCE, POINTS, KINDS).mean(dim=1)
        told.lerp_(of_photos.mean(dim=0), 0.05)

    tell = cover
    if variant == "fix3":
        graph, _ = fixable.capture(torch, cover)
        told.zero_()
        tell = graph.replay

    @torch.no_grad()
    def step():
        number = turn[0] % len(buffers)
        if variant != "fix":
            if variant == "fix2":
                copied[number].synchronize()
            cut(turn[0] % SETS, arrays[number])  # cause: loader
        images.copy_(buffers[number], non_blocking=variant == "fix2")  # cause: copy,wait,delayed
        if variant == "fix2":
            copied[number].record()
        tell()
        turn[0] += 1
        if turn[0] % TOLD == 0:
            usual[:] = told.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
