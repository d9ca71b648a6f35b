# SPDX-License-Identifier: Apache-2.0
"""PyTorch: panoramas of streets are made ready for a map on the web: a small network looks at each for faces and number plates,
and the 48 tiles in which it is surest of one are blurred until nobody can be known by them.

Wrong: the panoramas lie in NumPy's (pageable) memory, and each one comes back whole by .cpu() to memory of that kind; both
copies take several times as long as the kernels, and nothing else goes on meanwhile.
fix: panoramas lie in pinned memory, and come back to a place in pinned memory (copy-bound).
fix2: only the tiles that were blurred come back, to the same kind of memory; the host has the rest (copy-bound).
useless: what is launched for a panorama is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=360, warm_up=12)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

HEIGHT, WIDTH, TILE, BLURRED, SETS, SMALLER, COARSE, PEOPLE = 2048, 4096, 64, 48, 4, 4, 16, 60
ROWS, COLUMNS = HEIGHT // TILE, WIDTH // TILE


def streets(random):
    """Panoramas as they come from the decoder, (HEIGHT, WIDTH, 3) of bytes: houses, the sky above, the road, and people."""
    y, x = numpy.arange(HEIGHT, dtype=numpy.float32)[:, None], numpy.arange(WIDTH, dtype=numpy.float32)
    for number in range(SETS):
        windows = (numpy.sin(x / 45.0 + number) > 0.3) & (numpy.sin(y / 60.0) > 0.0)
        roofs = (0.3 + 0.08 * numpy.sin(x / 300.0 + 2.0 * number)) * HEIGHT
        light = numpy.where(y < roofs, 190, numpy.where(y > 0.75 * HEIGHT, 90, numpy.where(windows, 60, 140)))
        picture = light.astype(numpy.uint8)[:, :, None] + random.integers(0, 40, (HEIGHT, WIDTH, 3), dtype=numpy.uint8)
        for _ in range(PEOPLE):
            top, left = random.integers(HEIGHT // 2, HEIGHT - TILE), random.integers(0, WIDTH - TILE)
            picture[top:top + 24, left:left + 18] = 120 + random.integers(0, 80, 3, dtype=numpy.uint8)
        yield picture


def network():
    """It tells of each 32 by 32 pixels, of which its picture has an eighth of the rows and columns, what they look like."""
    layers, before = [], 3
    for width, stride in ((24, 2), (48, 2), (64, 2), (64, 1), (64, 1)):
        layers += [nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)]
        before = width
    return nn.Sequential(*layers).cuda().half().eval().to(memory_format=torch.channels_last), nn.Conv2d(before, 1, 1).cuda()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    body, head = network()
    panoramas = [torch.from_numpy(picture) for picture in streets(numpy.random.default_rng(20))]
    if variant == "fix":
        panoramas = [panorama.pin_memory() for panorama in panoramas]
    landing = torch.empty(HEIGHT, WIDTH, 3, dtype=torch.uint8, pin_memory=True) if variant == "fix" else None
    turn, done, usual = [0], [None], [100.0, 0.5]  # who writes the files takes what is done

    def blur(photo):
        """Blurs tiles of a panorama where it lies; the numbers of these tiles, and what they have become."""
        small = F.avg_pool2d(photo.permute(2, 0, 1).unsqueeze(0).half(), SMALLER) / 255.0
        sure = F.max_pool2d(head(body(small).float()), 2)
        which = sure.flatten().topk(BLURRED).indices
        rows, columns = which // COLUMNS, which % COLUMNS
        tiles = photo.view(ROWS, TILE, COLUMNS, TILE, 3)
        known = tiles[rows, :, columns].permute(0, 3, 1, 2).float()
        unknown = F.interpolate(F.avg_pool2d(known, COARSE), size=(TILE, TILE), mode="bilinear")
        blurred = unknown.round().byte().permute(0, 2, 3, 1).contiguous()
        tiles[rows, :, columns] = blurred
        return which, blurred

    if variant == "useless":
        place = panoramas[0].cuda()
        graph, given = fixable.capture(torch, lambda: blur(place))

    def note(which):
        """How bright the surest tile is now, and how far down in the picture."""
        row, column = which[0] // COLUMNS, which[0] % COLUMNS
        picture = done[0].numpy()
        if variant == "fix2":
            tile = picture[0]
        else:
            tile = picture.reshape(ROWS, TILE, COLUMNS, TILE, 3)[row, :, column]
        usual[0] += 0.05 * (float(tile.mean()) - usual[0])
        usual[1] += 0.05 * (row / ROWS - usual[1])

    @torch.no_grad()
    def step():
        panorama = panoramas[turn[0] % SETS]
        turn[0] += 1
        if variant == "useless":
            photo = place.copy_(panorama)
            graph.replay()
            which, blurred = given
        else:
            photo = panorama.to("cuda", non_blocking=variant == "fix")  # cause: copy
            which, blurred = blur(photo)
        if variant == "fix":
            done[0] = landing.copy_(photo, non_blocking=True)
        elif variant == "fix2":
            done[0] = blurred.cpu()
        else:
            done[0] = photo.cpu()  # cause: copy
        note(which.tolist())  # in the fix the panorama is there when this is, which comes behind it on the same stream

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
