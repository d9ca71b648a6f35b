# SPDX-License-Identifier: Apache-2.0
"""PyTorch: at the end of a filling line four cameras look at sixteen bottles each; a small network tells how full
each one is and whether its cap is on, and bottles that are not as they should be are pushed off the belt. The network is
one CUDA graph already.

Wrong: the camera's library writes to memory of its own, which is pageable: the host copies 21 MB for each round of
pictures bit by bit, and the GPU rests meanwhile.
fix: the library is given pinned memory to write to (copy-bound).
fix2: only the rows of the pictures that show necks and caps go to the GPU, from the same memory as before (copy-bound).
useless: the pictures go at once to where the graph reads them, without an array of their own.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

CAMERAS, HEIGHT, WIDTH, BOTTLES, ROUNDS, CHANNELS = 4, 2048, 2560, 16, 6, 48
TOP, BOTTOM = 640, 1280  # rows that show necks and caps
SEEN = slice(TOP, BOTTOM)


def pictures():
    """What the cameras have written, a round at a time: (CAMERAS, HEIGHT, WIDTH) bytes; bottles that are more or less full."""
    random = numpy.random.default_rng(20)
    y, x = numpy.arange(HEIGHT, dtype=numpy.float32)[:, None], numpy.arange(WIDTH, dtype=numpy.float32)
    across = numpy.abs((x % (WIDTH // BOTTLES)) - WIDTH // BOTTLES // 2)  # from the middle of a bottle
    wide = numpy.where(y < BOTTOM, 30.0, 64.0)
    noise = random.integers(0, 24, (HEIGHT, WIDTH), dtype=numpy.uint8)
    for _ in range(ROUNDS):
        written = numpy.empty((CAMERAS, HEIGHT, WIDTH), dtype=numpy.uint8)
        for camera in range(CAMERAS):
            level = random.uniform(TOP + 150, TOP + 350, BOTTLES).repeat(WIDTH // BOTTLES)
            cap = (random.random(BOTTLES) < 0.9).repeat(WIDTH // BOTTLES)
            light = numpy.where(across < wide, numpy.where(y > level, 70.0, 140.0), 210.0)
            light = numpy.where((y > TOP + 20) & (y < TOP + 80) & (across < 36.0) & cap, 30.0, light)
            written[camera] = light.astype(numpy.uint8) + numpy.roll(noise, 100 * camera, axis=1)
        yield torch.from_numpy(written)


def network():
    """For each bottle how full it is, and whether its cap is on: (CAMERAS, 2, 1, BOTTLES)."""
    parts = [nn.AvgPool2d(2)]
    for come, go, stride in ((1, CHANNELS, 2), (CHANNELS, CHANNELS, 1), (CHANNELS, 2 * CHANNELS, 2),
                             (2 * CHANNELS, 2 * CHANNELS, 1)):
        parts += [nn.Conv2d(come, go, 3, stride=stride, padding=1), nn.BatchNorm2d(go), nn.ReLU()]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d((8, BOTTLES)), nn.Conv2d(2 * CHANNELS, 2, (8, 1)))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = network().to("cuda", torch.bfloat16, memory_format=torch.channels_last).eval()
    written = list(pictures())
    if variant == "fix":
        written = [taken.pin_memory() for taken in written]
    place = torch.zeros(CAMERAS, HEIGHT, WIDTH, dtype=torch.uint8, device="cuda")
    turn, usual = [0], [0.0, 0.0]

    def look():
        necks = place[:, SEEN].unsqueeze(1).to(torch.bfloat16) / 255.0
        return model(necks)[:, :, 0].float().sigmoid()

    graph, given = fixable.capture(torch, look)

    def bring(taken):
        """The cameras' pictures come to where the graph reads them."""
        if variant == "fix2":
            for there, picture in zip(place, taken):
                there[SEEN].copy_(picture[SEEN])
        elif variant == "useless":
            place.copy_(taken)
        else:
            place.copy_(taken.to("cuda", non_blocking=variant == "fix"))  # cause: copy

    def push_off(bottles):
        """The belt would be told now; notes how full bottles are, and how many are pushed off."""
        levels, caps = bottles
        off = sum(level < 0.35 or cap < 0.35 for level, cap in zip(levels, caps))
        usual[0] += 0.02 * (sum(levels) / len(levels) - usual[0])
        usual[1] += 0.02 * (off / len(levels) - usual[1])

    @torch.no_grad()
    def step(alive=model):  # which the graph reads, and does not keep
        bring(written[turn[0] % ROUNDS])  # cause: copy
        turn[0] += 1
        graph.replay()
        push_off(given.transpose(0, 1).flatten(1).tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
