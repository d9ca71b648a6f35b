# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns to take the noise out of pictures, from crops of ever other sizes; torch.cuda.empty_cache() comes
behind each step, since many sizes break the memory into pieces, as one hears.

Wrong: all that is not in use goes back to the driver, which waits for the GPU, and each step allocates its memory anew.
fix: the cache is left alone (alloc-bound).
useless: the loss is read every 25 steps instead of at each one.
"""
import random as chance

import fixable

SIZES = (160, 224, 192, 256, 208)

run = fixable.Program(__doc__, steps=200, warm_up=2 * len(SIZES), multiple=len(SIZES))
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

PICTURES, STORED, BATCH, WIDTH, LAYERS, LOOK_EVERY = 64, 320, 8, 64, 8, 25


def network():
    parts = [nn.Conv2d(3, WIDTH, 3, padding=1), nn.ReLU(inplace=True)]
    for _ in range(LAYERS):
        parts += [nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts, nn.Conv2d(WIDTH, 3, 3, padding=1))


def photographs():
    """Smooth pictures, larger than any crop."""
    rough = torch.rand(PICTURES, 3, 20, 20, device="cuda")
    return F.interpolate(rough, size=(STORED, STORED), mode="bilinear", align_corners=False)


def make(variant):
    fixable.seed(torch)
    dice = chance.Random(20)
    pictures = photographs()
    model = network().to("cuda", memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    turn, seen = [0], []

    def crop():
        size, first = SIZES[turn[0] % len(SIZES)], dice.randrange(0, PICTURES, BATCH)
        top, left = dice.randrange(STORED - size), dice.randrange(STORED - size)
        cut = pictures[first:first + BATCH, :, top:top + size, left:left + size]
        return cut.contiguous(memory_format=torch.channels_last)  # cause: alloc

    def learn():
        clean = crop()
        turn[0] += 1
        noise = 0.1 * torch.randn_like(clean)  # cause: alloc
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            guess = model(clean + noise)  # cause: alloc
        loss = F.mse_loss(guess.float(), noise)  # cause: alloc
        loss.backward()  # cause: alloc in pt_autograd
        optimizer.step()
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    def step():
        learn()
        if variant != "fix":
            torch.cuda.empty_cache()  # cause: alloc

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
