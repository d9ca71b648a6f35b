# SPDX-License-Identifier: Apache-2.0
"""PyTorch: pictures of a positron scanner (PET) are blurred in space, as the scanner sees no point as a point; they are made
sharp again by the method of Richardson and Lucy, a round after the other, each of which blurs two volumes by a Gaussian.

Wrong: the Gaussian is a kernel of 9 x 9 x 9 numbers for conv3d, 729 products for each voxel, twice in a round. The GPU is at
work throughout (gpu-bound).
fix: the Gaussian is the product of three, each along one axis; 27 products do the same (gpu-bound).
useless: a round is one CUDA graph.
"""
import fixable

ROUNDS = 20

run = fixable.Program(__doc__, steps=300, warm_up=8)
torch = fixable.load_torch()
F = torch.nn.functional

DEPTH, HEIGHT, WIDTH, TAPS, BLUR, SCANS, DOSE, SMOOTH = 64, 128, 128, 9, 1.6, 3, 200.0, 0.002


def gaussian():
    at = torch.arange(TAPS, device="cuda") - TAPS // 2
    weight = torch.exp(-0.5 * (at / BLUR).square())
    return weight / weight.sum()


def body(number):
    """Where the tracer is: some organs, and a few tumours."""
    z, y, x = torch.meshgrid(*[torch.linspace(-1.0, 1.0, size, device="cuda") for size in (DEPTH, HEIGHT, WIDTH)], indexing="ij")
    activity = 0.05 + 0.3 * ((x / 0.7).square() + (y / 0.5).square() < 1.0)
    for organ in range(6):
        middle = 0.8 * torch.rand(3, device="cuda") - 0.4
        size = 0.08 + 0.2 * torch.rand((), device="cuda")
        inside = (z - middle[0]).square() + (y - middle[1]).square() + (x - middle[2]).square() < size.square()
        activity = activity + (0.3 + 0.2 * organ + 0.1 * number) * inside
    return activity.view(1, 1, DEPTH, HEIGHT, WIDTH)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    line = gaussian()
    cube = (line.view(-1, 1, 1) * line.view(1, -1, 1) * line.view(1, 1, -1)).view(1, 1, TAPS, TAPS, TAPS)
    lines = [line.view(1, 1, *[TAPS if axis == along else 1 for axis in range(3)]) for along in range(3)]

    def blurred(volume):
        if variant == "fix":
            for weight in lines:
                volume = F.conv3d(volume, weight, padding="same")
            return volume
        return F.conv3d(volume, cube, padding="same")

    def slope(volume):
        """How much rougher the volume is here than around."""
        return volume - F.avg_pool3d(volume, 3, stride=1, padding=1)

    scans = [torch.poisson(DOSE * blurred(body(number))) / DOSE for number in range(SCANS)]
    scan, sharp = scans[0].clone(), torch.ones_like(scans[0])
    seen_by = blurred(torch.ones_like(sharp))
    turn, hottest = [0], []

    def go_on():
        expected = blurred(sharp).clamp(min=1e-4)
        sharp.mul_(blurred(scan / expected)).div_((seen_by + SMOOTH * slope(sharp)).clamp(min=0.02))

    if variant == "useless":
        graph, _ = fixable.capture(torch, go_on)
        sharp.fill_(1.0)

    @torch.no_grad()
    def step():
        if turn[0] % ROUNDS == 0:
            if turn[0]:
                hottest[:] = [sharp.amax().item()]
            scan.copy_(scans[turn[0] // ROUNDS % SCANS])
            sharp.fill_(1.0)
        turn[0] += 1
        if variant == "useless":
            graph.replay()
        else:
            go_on()

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, sharp[:, :, DEPTH // 2, HEIGHT // 2]))


run.main(make)
