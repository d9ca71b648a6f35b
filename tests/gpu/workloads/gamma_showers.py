# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a telescope looks for gamma rays by the flashes that they make high in the air; a network learns to tell from the
camera's 1764 pixels how much energy a ray had. A flash is stored as 40 moments of 12 bits for each pixel, packed and deflated.

Wrong: the program inflates a flash, takes the numbers apart and sums up the light, one flash after the other; the GPU has a
batch's work done in a fraction of that time.
fix: eight threads do that for the next batches, while the network learns; zlib and NumPy let go of the interpreter (host-bound).
fix2: the host inflates only; the GPU takes the numbers of a whole batch apart and sums them up (host-bound).
useless: batches go to the GPU from pinned memory.
"""
import collections
import concurrent.futures
import zlib

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=120, warm_up=LOOK_EVERY, multiple=LOOK_EVERY, settle={"fix": LOOK_EVERY})
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

SIDE, MOMENTS, STORED, BATCH, WINDOW, DARK, WIDTH, THREADS, AHEAD = 42, 40, 128, 32, 6, 300, 48, 8, 4
PIXELS = SIDE * SIDE


def flashes():
    """Stored flashes, and the logarithm of each one's energy."""
    random = numpy.random.default_rng(20)
    y, x = numpy.mgrid[:SIDE, :SIDE].astype(numpy.float32)
    time = numpy.arange(MOMENTS, dtype=numpy.float32)[:, None, None]
    for _ in range(STORED):
        energy, turned = random.uniform(0.0, 2.0), random.uniform(0.0, 2.0 * numpy.pi)
        middle_x, middle_y = random.uniform(12.0, 30.0, 2)
        along = (x - middle_x) * numpy.cos(turned) + (y - middle_y) * numpy.sin(turned)
        across = (y - middle_y) * numpy.cos(turned) - (x - middle_x) * numpy.sin(turned)
        light = 60.0 * 4.0 ** energy * numpy.exp(-along ** 2 / 50.0 - across ** 2 / 8.0)
        wave = DARK + light * numpy.exp(-((time - 18.0 - 0.5 * along) / 2.0) ** 2)
        wave += 6.0 * random.standard_normal(wave.shape, dtype=numpy.float32)
        yield zlib.compress(packed(wave.clip(0.0, 4095.0).astype(numpy.uint16)), 1), energy


def packed(wave):
    """Two numbers of 12 bits in three bytes."""
    pairs = wave.reshape(-1, 2)
    one, other = pairs[:, 0], pairs[:, 1]
    return numpy.stack((one >> 4, (one & 15) << 4 | other >> 8, other & 255), axis=1).astype(numpy.uint8).tobytes()


def network():
    def block(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    parts, before = [], 2
    for wide in (WIDTH, 2 * WIDTH, 4 * WIDTH):
        parts += block(before, wide) + block(wide, wide) + [nn.MaxPool2d(2)]
        before = wide
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1))


def make(variant):
    fixable.seed(torch)
    stored, energies = zip(*flashes())
    gains = numpy.random.default_rng(21).uniform(0.8, 1.2, PIXELS).astype(numpy.float32)
    early = numpy.arange(MOMENTS - WINDOW, dtype=numpy.int32)[:, None]  # of moments that are alike, the first one counts
    early_there = torch.from_numpy(early).cuda()
    order, turn, pending, usual = numpy.random.default_rng(22), [0], [], [1.0]
    energies, gains_there = torch.tensor(energies, dtype=torch.float32, device="cuda"), torch.from_numpy(gains).cuda()
    model = network().to("cuda", memory_format=torch.channels_last).train()
    adam = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)
    threads, coming = concurrent.futures.ThreadPoolExecutor(THREADS), collections.deque()

    def light_of(number):
        """How much light each pixel saw in its brightest moments, and when: (2, SIDE, SIDE)."""
        data = numpy.frombuffer(zlib.decompress(stored[number]), dtype=numpy.uint8).reshape(-1, 3).astype(numpy.uint16)
        wave = numpy.empty((len(data), 2), dtype=numpy.int32)
        wave[:, 0] = data[:, 0] << 4 | data[:, 1] >> 4
        wave[:, 1] = (data[:, 1] & 15) << 8 | data[:, 2]
        sums = numpy.cumsum(wave.reshape(MOMENTS, PIXELS) - DARK, axis=0, dtype=numpy.int32)
        windows = (sums[WINDOW:] - sums[:-WINDOW]) * 64 - early
        when = windows.argmax(axis=0)
        most = (windows.max(axis=0) + when) // 64 * gains
        found = numpy.empty((2, PIXELS), dtype=numpy.float32)
        found[0] = numpy.log1p(most.clip(0.0)) * 0.2
        found[1] = when * (1.0 / MOMENTS)
        return found.reshape(2, SIDE, SIDE)

    def light_there(data):
        """The same for a batch of packed flashes that are on the GPU."""
        data = data.view(BATCH, -1, 3).int()
        one = data[:, :, 0] << 4 | data[:, :, 1] >> 4
        other = (data[:, :, 1] & 15) << 8 | data[:, :, 2]
        wave = torch.stack((one, other), dim=2).view(BATCH, MOMENTS, PIXELS)
        sums = torch.cumsum(wave - DARK, dim=1, dtype=torch.int32)
        most, when = ((sums[:, WINDOW:] - sums[:, :-WINDOW]) * 64 - early_there).max(dim=1)
        most = (most + when) // 64 * gains_there
        found = torch.stack((torch.log1p(most.clamp(min=0.0)) * 0.2, when * (1.0 / MOMENTS)), dim=1)
        return found.view(BATCH, 2, SIDE, SIDE)

    def drawn():
        return order.integers(0, STORED, BATCH).tolist()

    def ahead():
        """A batch whose flashes were given to the threads some steps ago."""
        while len(coming) < AHEAD:
            which = drawn()
            coming.append((which, [threads.submit(light_of, number) for number in which]))
        which, parts = coming.popleft()
        return which, numpy.stack([part.result() for part in parts])

    def batch():
        """The next flashes on the GPU, and which they are."""
        if variant == "fix2":
            which = drawn()
            data = numpy.stack([numpy.frombuffer(zlib.decompress(stored[number]), dtype=numpy.uint8) for number in which])
            return which, light_there(torch.from_numpy(data).cuda())
        if variant == "fix":
            which, pictures = ahead()
        else:
            which = drawn()
            pictures = numpy.stack([light_of(number) for number in which])  # cause: loader
        pictures = torch.from_numpy(pictures)
        if variant == "useless":
            return which, pictures.pin_memory().to("cuda", non_blocking=True)
        return which, pictures.cuda()  # cause: delayed

    def step():
        which, pictures = batch()  # cause: loader
        wanted = energies[torch.tensor(which).cuda()]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(pictures.contiguous(memory_format=torch.channels_last))
        loss = F.smooth_l1_loss(told.float().squeeze(1), wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
        pending.append(loss.detach())
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (torch.stack(pending).mean().item() - usual[0])
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [1.0 + usual[0]])


run.main(make)
