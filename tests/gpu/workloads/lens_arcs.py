# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a galaxy bends the light of another one far behind it to an arc. From small pictures of 12 such lenses, 13 numbers of
each are found, as how heavy the lens is and where the galaxy behind it is: four rays for each pixel are bent by a model of the
lens, and Adam, with steps that suit each number, goes down the slope of what is missed, 100 times. Then come the next 12.

Wrong: one time is some 250 kernels of two or three microseconds, forward and backward, and each is launched by itself.
fix: one time is a CUDA graph (launch-bound).
useless: the pictures, which come once in 100 times, come from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1600, warm_up=12)
torch, functional = fixable.load_torch("torch.nn.functional")

LENSES, PIXELS, FINE, HALF, CORE, NOISE = 12, 64, 2, 2.4, 0.06, 0.05  # HALF of the picture's side, in seconds of arc
SETS, TIMES, RATE, TINY = 4, 100, 0.06, 1e-8
# Of the lens: place (2), radius, how round, angle, pull from outside (2); of the galaxy behind: place (2), size, light; then the
# size and light of the lens itself. Sizes and lights are logarithms.
GUESS = (0.0, 0.0, 1.2, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, -1.2, 0.5, -0.8, 0.3)
SPREAD = (0.04, 0.04, 0.10, 0.40, 0.20, 0.03, 0.03, 0.10, 0.10, 0.15, 0.15, 0.15, 0.15)
RADIUS, PULL = 2, slice(5, 7)


def rays():
    """Where the rays come from: (1, 1, rays) to the right and (1, rays, 1) up."""
    many = PIXELS * FINE
    side = (torch.arange(many, device="cuda") + 0.5) * (2.0 * HALF / many) - HALF
    return side[None, None, :], side[None, :, None]


def pictured(numbers, right, up):
    """Pictures of lenses with these numbers, (LENSES, 13)."""
    each = numbers[:, :, None, None].unbind(1)
    lens_x, lens_y, radius, roundness, angle, pull, cross, far_x, far_y, size, light, own_size, own_light = each
    x, y = right - lens_x, up - lens_y  # cause: launch
    cos, sin = angle.cos(), angle.sin()  # cause: launch
    long, short = cos * x + sin * y, cos * y - sin * x  # cause: launch
    axes = 0.45 + 0.5 * torch.sigmoid(roundness)  # cause: launch
    flat = (1.0 - axes * axes).sqrt()  # cause: launch
    psi = (axes * axes * (CORE * CORE + long * long) + short * short).sqrt()  # cause: launch
    bends = radius * axes / flat  # cause: launch
    bent_long = bends * torch.atan(flat * long / (psi + CORE))  # cause: launch
    bent_short = bends * torch.atanh(flat * short / (psi + axes * axes * CORE))  # cause: launch
    at_x = right - (cos * bent_long - sin * bent_short) - (pull * x + cross * y) - far_x  # cause: launch
    at_y = up - (sin * bent_long + cos * bent_short) - (cross * x - pull * y) - far_y  # cause: launch
    behind = (light - ((at_x * at_x + at_y * at_y) / (2.0 * size).exp() + 0.01).sqrt()).exp()  # cause: launch
    wide = (long * long * axes + short * short / axes) / (2.0 * own_size).exp()  # cause: launch
    own = (own_light - (wide + 0.01).sqrt()).exp()  # cause: launch
    sharp = functional.avg_pool2d((behind + own).unsqueeze(1), FINE)  # cause: launch
    return functional.avg_pool2d(sharp, 3, stride=1, padding=1).squeeze(1)  # cause: launch


def make(variant):
    fixable.seed(torch)
    right, up = rays()
    guess = torch.tensor(GUESS, device="cuda").repeat(LENSES, 1)
    spread = torch.tensor(SPREAD, device="cuda")
    pictures = []
    with torch.no_grad():
        for _ in range(SETS):
            true = guess + spread * torch.randn(LENSES, len(GUESS), device="cuda")
            picture = pictured(true, right, up)
            pictures.append((picture + NOISE * torch.randn_like(picture)).cpu())
    if variant == "useless":
        pictures = [picture.pin_memory() for picture in pictures]
    seen = torch.zeros(LENSES, PIXELS, PIXELS, device="cuda")
    numbers = guess.clone().requires_grad_()
    mean, square = torch.zeros_like(guess), torch.zeros_like(guess)
    left, fading = torch.ones(2, device="cuda"), torch.tensor((0.9, 0.99), device="cuda")
    missed = torch.zeros((), device="cuda")
    found = torch.zeros(SETS, 3, device="cuda")
    turn = [0]

    def better():
        """Goes down once."""
        misses = (pictured(numbers, right, up) - seen) / NOISE  # cause: launch
        loss = misses.square().mean(dim=(1, 2)).sum()  # cause: launch
        slope, = torch.autograd.grad(loss, numbers)  # cause: launch
        with torch.no_grad():
            left.mul_(fading)  # cause: launch
            mean.lerp_(slope, 0.1)  # cause: launch
            square.lerp_(slope * slope, 0.01)  # cause: launch
            way = (mean / (1.0 - left[0])) / ((square / (1.0 - left[1])).sqrt() + TINY)  # cause: launch
            numbers.sub_(RATE * spread * way)  # cause: launch
            missed.copy_(loss)  # cause: launch

    @torch.no_grad()
    def begin(number):
        """The next pictures, and all from the start."""
        seen.copy_(pictures[number])
        numbers.copy_(guess)
        mean.zero_()
        square.zero_()
        left.fill_(1.0)

    @torch.no_grad()
    def note(number):
        """How well the lenses are met, how heavy they are, and how much they are pulled."""
        found[number] = torch.stack((missed / LENSES, numbers[:, RADIUS].mean(), numbers[:, PULL].norm(dim=1).mean()))

    begin(0)
    go_down = better
    if variant == "fix":
        graph, _ = fixable.capture(torch, better)
        go_down = graph.replay

    def step():
        number, times = turn[0] // TIMES % SETS, turn[0] % TIMES
        if times == 0:
            begin(number)
        go_down()  # cause: launch
        if times == TIMES - 1:
            note(number)
        turn[0] += 1

    return fixable.Work(step, torch.cuda.synchronize, lambda: found.flatten().tolist())


run.main(make)
