# SPDX-License-Identifier: Apache-2.0
"""PyTorch: slices of a body are made from what the sixteen coils of an MRI scanner have measured of them, by steps down the
gradient with a threshold, each of which goes to the frequencies and back.

Wrong: what was measured lies in pageable memory; .cuda() holds the host up, and takes longer than what is computed.
fix: it lies in pinned memory, and is copied with non_blocking=True (copy-bound).
useless: it is copied to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=320, warm_up=8)
torch = fixable.load_torch()

SLICES, COILS, SIZE, SETS, ROUNDS, LEFT_OF, LOOK_EVERY = 4, 16, 320, 3, 6, 3, 20


def coils():
    """What each coil sees best: they stand around the body. Their squares add up to one."""
    places = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    rows, columns = torch.meshgrid(places, places, indexing="ij")
    angles = torch.arange(COILS, device="cuda").view(-1, 1, 1) * (6.2832 / COILS)
    far = (rows - 1.2 * torch.sin(angles)).square() + (columns - 1.2 * torch.cos(angles)).square()
    seen = torch.polar(torch.exp(-far), 2.0 * rows + angles)
    return seen / seen.abs().square().sum(dim=0, keepdim=True).sqrt()


def bodies():
    """Ellipses within ellipses, of other sizes in each slice."""
    places = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    rows, columns = torch.meshgrid(places, places, indexing="ij")
    found = torch.zeros(SETS * SLICES, SIZE, SIZE, device="cuda")
    for number in range(SETS * SLICES):
        for size, light in ((0.85, 1.0), (0.6, -0.4), (0.2 + 0.02 * number, 0.3)):
            found[number] += light * ((rows / size).square() + (columns / (0.8 * size)).square() < 1.0)
    return found.view(SETS, SLICES, SIZE, SIZE)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    maps = coils()
    lines = (torch.rand(SIZE, device="cuda") < 1.0 / LEFT_OF).float()  # which lines were measured at all
    lines[SIZE // 2 - 16:SIZE // 2 + 16] = 1.0
    lines = torch.fft.ifftshift(lines)
    clean = torch.fft.fft2(maps * bodies().unsqueeze(2), norm="ortho")
    measured = [((part + 0.01 * torch.randn_like(part)) * lines).cpu() for part in clean]
    del clean
    if variant == "fix":
        measured = [part.pin_memory() for part in measured]
    place = torch.empty_like(measured[0], device="cuda") if variant == "useless" else None
    brightness = torch.zeros(SLICES, device="cuda")
    turn, last, told = [0], [], []

    def there(picture):
        return torch.fft.fft2(maps * picture.unsqueeze(1), norm="ortho") * lines

    def back(frequencies):
        return (maps.conj() * torch.fft.ifft2(frequencies, norm="ortho")).sum(dim=1)

    def made_of(frequencies):
        picture = back(frequencies)
        for _ in range(ROUNDS):
            picture = picture - back(there(picture) - frequencies)
            picture = picture * (1.0 - 0.002 / picture.abs().clamp(min=0.002))
        return picture.abs()

    @torch.no_grad()
    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "fix":
            frequencies = measured[at].to("cuda", non_blocking=True)
        elif variant == "useless":
            frequencies = place.copy_(measured[at])
        else:
            frequencies = measured[at].cuda()  # cause: copy
        last[:] = [made_of(frequencies)]
        brightness.mul_(0.9).add_(last[0].mean(dim=(1, 2)), alpha=0.1)
        if turn[0] % LOOK_EVERY == 0:
            told[:] = brightness.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: told + last[0][:, ::20, ::20].reshape(-1).tolist())


run.main(make)
