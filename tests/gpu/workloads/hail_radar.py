# SPDX-License-Identifier: Apache-2.0
"""PyTorch and torchvision: a season of a rain radar is gone through for hail: NumPy gives back to each sweep what the rain on the
way has taken from it, and puts sweeps from rays and gates to a square map; a network tells from the maps of five sweeps whether
hail falls. Four volumes of the radar are a batch.

Wrong: NumPy takes many milliseconds for a batch, while the GPU, which needs one or two, has nothing to do.
fix: the maps of all volumes are made before the first batch, and come from memory (host-bound).
fix2: the network's kernels are a CUDA graph (launch-bound).
useless: the maps are written to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=180, warm_up=12)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

VOLUMES, SWEEPS, RAYS, GATES, SIDE, SETS, LOOK_EVERY = 4, 5, 360, 240, 160, 6, 60
GATE, TAKEN, POWER, MOST_BACK = 0.25, 1.37e-4, 0.78, 12.0  # km; dB a km by the rain's echo (X band), and dB at most


def volumes():
    """Echoes in half dB from -32 on, (VOLUMES, SWEEPS, RAYS, GATES), with some storms in each."""
    random = numpy.random.default_rng(20)
    ray, gate = numpy.arange(RAYS, dtype=numpy.float32)[:, None], numpy.arange(GATES, dtype=numpy.float32)
    for _ in range(SETS):
        batch = numpy.empty((VOLUMES, SWEEPS, RAYS, GATES), dtype=numpy.float32)
        for volume in batch:
            rain = numpy.zeros((RAYS, GATES), dtype=numpy.float32)
            for _ in range(8):
                far, wide = random.uniform(40.0, 220.0), random.uniform(5.0, 18.0)
                turn = (ray - random.uniform(0.0, 360.0) + 180.0) % 360.0 - 180.0
                shape = -((turn * far / 57.3) ** 2 + (gate - far) ** 2) / (2.0 * wide * wide)
                rain = numpy.maximum(rain, random.uniform(30.0, 56.0) * numpy.exp(shape))
            for sweep in range(SWEEPS):
                volume[sweep] = rain * (1.0 - 0.12 * sweep) + random.normal(0.0, 1.5, rain.shape)
        yield numpy.clip((batch + 32.0) * 2.0, 0.0, 255.0).astype(numpy.uint8)


def square_map():
    """For each point of the map the four nearest places in a sweep, and how much each counts."""
    along = numpy.linspace(-1.0, 1.0, SIDE) * (GATES - 3) * 0.7
    north, east = numpy.meshgrid(along[::-1], along, indexing="ij")
    gate = numpy.minimum(numpy.hypot(north, east), GATES - 2.0).ravel()
    ray = (numpy.degrees(numpy.arctan2(east, north)) % 360.0).ravel()
    near, first = gate.astype(numpy.int64), ray.astype(numpy.int64) % RAYS
    a, b = gate - near, ray - numpy.floor(ray)
    second = (first + 1) % RAYS
    where = numpy.stack((first * GATES + near, first * GATES + near + 1, second * GATES + near, second * GATES + near + 1))
    counts = numpy.stack(((1.0 - b) * (1.0 - a), (1.0 - b) * a, b * (1.0 - a), b * a))
    return where, counts.astype(numpy.float32)


def maps_of(codes, where, counts, out):
    """Puts maps, in half dB, to `out`."""
    echo = codes.astype(numpy.float32) * numpy.float32(0.5) - numpy.float32(32.0)
    taken = numpy.exp(echo * numpy.float32(0.1 * POWER * numpy.log(10.0)))
    back = numpy.cumsum(taken, axis=-1, dtype=numpy.float32)
    back *= numpy.float32(2.0 * TAKEN * GATE)
    echo += numpy.minimum(back, numpy.float32(MOST_BACK))
    flat = echo.reshape(VOLUMES, SWEEPS, RAYS * GATES)
    found = flat.take(where[0], axis=2) * counts[0]
    for place, count in zip(where[1:], counts[1:]):
        found += flat.take(place, axis=2) * count
    codes = numpy.clip((found + numpy.float32(32.0)) * numpy.float32(2.0), 0.0, 255.0)
    out[...] = codes.reshape(VOLUMES, SWEEPS, SIDE, SIDE)


def network():
    model = torchvision.models.resnet18(weights=None, num_classes=1)
    model.conv1 = torch.nn.Conv2d(SWEEPS, 64, 7, stride=2, padding=3, bias=False)
    return model.cuda()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model, scanned = network(), list(volumes())
    where, counts = square_map()
    kind = (VOLUMES, SWEEPS, SIDE, SIDE)
    on_host = torch.empty(kind, dtype=torch.uint8, pin_memory=variant == "useless")
    incoming = torch.zeros(kind, dtype=torch.uint8, device="cuda")
    chances = torch.zeros(SETS, VOLUMES, device="cuda")
    turn, warned = [0], [0]

    def prepared(number):
        maps_of(scanned[number], where, counts, on_host.numpy())  # cause: loader
        return on_host

    def hail():
        return model(incoming.float() * (1.0 / 255.0)).sigmoid()[:, 0]

    model.train()  # the mean and the spread of what layers give, from the season's first days
    for number in list(range(SETS)) * 4:
        incoming.copy_(prepared(number))
        hail()
    model.eval()
    ready = [prepared(number).clone() for number in range(SETS)] if variant == "fix" else None
    if variant == "fix2":
        graph, told = fixable.capture(torch, hail)

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        incoming.copy_(ready[number] if ready else prepared(number))  # cause: delayed
        if variant == "fix2":
            graph.replay()
            chances[number].copy_(told)
        else:
            chances[number].copy_(hail())
        if turn[0] % LOOK_EVERY == 0:
            warned[0] = int((chances > 0.5).sum())

    return fixable.Work(step, torch.cuda.synchronize, lambda: chances.flatten().tolist())


run.main(make)
