# SPDX-License-Identifier: Apache-2.0
"""PyTorch: pictures of cells in four colors, each of which the microscope has blurred in its own way, are made sharp again by the
method of Richardson and Lucy: what is believed is blurred, compared with the picture, and put right.

Wrong: the blur of a microscope like this is a Gaussian one, but is done with all 21 x 21 weights of it for each point; the GPU is
at work throughout (gpu-bound).
fix: a Gaussian blur is one along the rows and one along the columns, 21 weights each (gpu-bound).
fix2: the blur is a multiplication of Fourier transforms (gpu-bound).
useless: all that is done to a picture is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=504, warm_up=12, multiple=6)
torch = fixable.load_torch()
F = torch.nn.functional

COLORS, SIDE, REACH, ROUNDS, PICTURES, CELLS, LOOK_EVERY = 4, 1024, 10, 3, 6, 150, 24
WIDTHS = (2.2, 2.6, 3.0, 3.4)  # of the blur, by color
PADDED = 1080  # a length that is fast to transform, and holds SIDE + 2 * REACH


def weights():
    """The blur of each color along a line, (COLORS, 2 * REACH + 1)."""
    at = torch.arange(-REACH, REACH + 1, device="cuda").float()
    lines = torch.exp(-0.5 * (at / torch.tensor(WIDTHS, device="cuda")[:, None]).square())
    return lines / lines.sum(dim=1, keepdim=True)


def slides(blur):
    """Pictures of round cells with a bright rim, blurred, with the noise of counted light: (1, COLORS, SIDE, SIDE)."""
    y, x = torch.meshgrid(torch.arange(SIDE, device="cuda").float(), torch.arange(SIDE, device="cuda").float(), indexing="ij")
    for _ in range(PICTURES):
        light = torch.full((1, COLORS, SIDE, SIDE), 5.0, device="cuda")
        for left, top, wide, color in torch.rand(CELLS, 4).tolist():
            far = ((x - SIDE * left).square() + (y - SIDE * top).square()).sqrt() - 8.0 - 16.0 * wide
            light[0, int(COLORS * color)] += 40.0 * (far < 0.0) + 80.0 * (far.abs() < 1.5)
        yield torch.poisson(blur(light).clamp(min=0.0))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    lines = weights()
    whole = (lines[:, :, None] * lines[:, None, :]).unsqueeze(1)
    along, across = lines.view(COLORS, 1, -1, 1), lines.view(COLORS, 1, 1, -1)
    transformed = torch.fft.rfft2(whole.transpose(0, 1), s=(PADDED, PADDED))

    def blur_whole(x):
        return F.conv2d(F.pad(x, (REACH, REACH, REACH, REACH), mode="reflect"), whole, groups=COLORS)

    def blur_by_lines(x):
        x = F.conv2d(F.pad(x, (0, 0, REACH, REACH), mode="reflect"), along, groups=COLORS)
        return F.conv2d(F.pad(x, (REACH, REACH, 0, 0), mode="reflect"), across, groups=COLORS)

    def blur_by_transforms(x):
        wide = torch.fft.rfft2(F.pad(x, (REACH, REACH, REACH, REACH), mode="reflect"), s=(PADDED, PADDED))
        all_of_it = torch.fft.irfft2(wide * transformed, s=(PADDED, PADDED))
        return all_of_it[:, :, 2 * REACH:2 * REACH + SIDE, 2 * REACH:2 * REACH + SIDE]

    blur = {"fix": blur_by_lines, "fix2": blur_by_transforms}.get(variant, blur_whole)
    stored = list(slides(blur_whole))
    sharp, rim = torch.zeros(1, COLORS, SIDE, SIDE, device="cuda"), torch.zeros(COLORS, device="cuda")
    turn, seen = [0], []

    def deblur(picture):
        believed = picture.clamp(min=1.0)
        for _ in range(ROUNDS):
            believed = believed * blur(picture / blur(believed).clamp(min=1e-3))
        sharp.copy_(believed)
        rim.mul_(0.9).add_((believed[..., 1:] - believed[..., :-1]).abs().mean(dim=(0, 2, 3)), alpha=0.1)

    if variant == "useless":
        place = stored[0].clone()
        graph, _ = fixable.capture(torch, lambda: deblur(place))
        rim.zero_()

    @torch.no_grad()
    def step():
        picture = stored[turn[0] % PICTURES]
        turn[0] += 1
        if variant == "useless":
            place.copy_(picture)
            graph.replay()
        else:
            deblur(picture)
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = rim.tolist()

    def values():
        return rim.tolist() + fixable.sample_of(torch, sharp[0, :, SIDE // 2, :16])

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
