# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a DCGAN with its two optimizers; losses and mean scores are read by .item() at each step, as in the tutorial.

Wrong: the host waits for the step to end, and only then cuts and mirrors the next pictures, while the GPU has nothing.
fix: what is logged is kept on the device, and read every 50 steps (sync-bound).
fix2: pictures are cut before the loop; the losses are still read at each step (host-bound).
useless: fused=True for both optimizers.
"""
import fixable

run = fixable.Program(__doc__, steps=180, warm_up=6)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BATCH, HIDDEN, WIDTH, SIZE, STORED, PICTURES, LOG_EVERY, AHEAD = 256, 100, 64, 64, 76, 2000, 50, 24


def generator():
    parts, before = [], HIDDEN
    for number, width in enumerate((8 * WIDTH, 4 * WIDTH, 2 * WIDTH, WIDTH)):
        parts += [nn.ConvTranspose2d(before, width, 4, *((2, 1) if number else (1, 0)), bias=False), nn.BatchNorm2d(width),
                  nn.ReLU(True)]
        before = width
    return nn.Sequential(*parts, nn.ConvTranspose2d(before, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator():
    parts, before = [nn.Conv2d(3, WIDTH, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)], WIDTH
    for width in (2 * WIDTH, 4 * WIDTH, 8 * WIDTH):
        parts += [nn.Conv2d(before, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.LeakyReLU(0.2, True)]
        before = width
    return nn.Sequential(*parts, nn.Conv2d(before, 1, 4, 1, 0, bias=False), nn.Flatten(0))


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    pictures = random.integers(0, 256, (PICTURES, 3, STORED, STORED), dtype=numpy.uint8)
    makes, judges = generator().cuda().train(), discriminator().cuda().train()
    optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True if variant == "useless" else None)
                  for net in (makes, judges)]
    loss_of = nn.BCEWithLogitsLoss()
    yes, no = torch.ones(BATCH, device="cuda"), torch.zeros(BATCH, device="cuda")
    turn, log = [0], []

    def real_pictures():
        """Cut at random places, some mirrored, some darker or brighter; in pinned memory."""
        cut = numpy.empty((BATCH, 3, SIZE, SIZE), numpy.uint8)
        chosen = random.integers(0, PICTURES, BATCH)
        places, light = random.integers(0, STORED - SIZE, (BATCH, 2)), random.uniform(0.7, 1.3, BATCH).astype(numpy.float32)
        for row, which, (top, left), much in zip(cut, chosen, places, light):
            picture = pictures[which, :, top:top + SIZE, left:left + SIZE]
            numpy.clip((picture[:, :, ::-1] if which % 2 else picture) * much, 0.0, 255.0, out=row, casting="unsafe")
        return torch.from_numpy(cut).pin_memory()

    cut_before = [real_pictures() for _ in range(AHEAD)] if variant == "fix2" else []

    def step():
        turn[0] += 1
        real = (cut_before[turn[0] % AHEAD] if cut_before else real_pictures()).to("cuda", non_blocking=True).float().div_(127.5).sub_(1.0)
        fake = makes(torch.randn(BATCH, HIDDEN, 1, 1, device="cuda"))

        optimizers[1].zero_grad()
        on_real, on_fake = judges(real), judges(fake.detach())
        loss_d = loss_of(on_real, yes) + loss_of(on_fake, no)
        loss_d.backward()
        optimizers[1].step()

        optimizers[0].zero_grad()
        again = judges(fake)
        loss_g = loss_of(again, yes)
        loss_g.backward()
        optimizers[0].step()

        shown = [loss_d.detach(), loss_g.detach(), on_real.detach().sigmoid().mean(), again.detach().sigmoid().mean()]
        if variant != "fix":
            log[:] = [value.item() for value in shown]  # cause: wait
        elif turn[0] % LOG_EVERY == 0:
            log[:] = torch.stack(shown).tolist()

    def values():
        return [p.detach().abs().mean().item() for net in (makes, judges) for p in net.parameters()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
