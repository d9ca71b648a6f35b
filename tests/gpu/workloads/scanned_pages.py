# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a scanner's pages become black and white for an archive: the shadow of the book's fold is taken away, and what is
darker than its neighbourhood is ink (Sauvola's threshold). The page goes back to the host, which looks whether it is empty.

Wrong: the scanner's pages lie in pageable memory, and what is made of them comes to such memory; both copies take longer than
the kernels.
fix: both lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: eight pixels become one byte on the GPU, and these come back, to pageable memory (copy-bound).
fix3: the GPU counts the ink that tells of an empty page (host-bound).
useless: a page is copied to a tensor on the GPU that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
torch, numpy = fixable.load_torch("numpy")
F = torch.nn.functional

HEIGHT, WIDTH, SETS, ROUGH, FINE, EVERY = 3504, 2480, 5, 4, 16, 16
STRENGTH, RANGE, DARKEST = 0.2, 0.5, 0.5


def scans(random):
    """Grey pages with lines of something like letters, the grain of paper, and a shadow at one side."""
    shadow = 1.0 - 0.5 * numpy.exp(-numpy.arange(WIDTH) / 400.0)
    for number in range(SETS):
        letters = random.random((HEIGHT // 12, WIDTH // 10)) < 0.35
        letters[:8], letters[-8:], letters[:, :12], letters[:, -12:] = False, False, False, False
        letters[number % 3::3] = False  # between the lines
        page = numpy.kron(letters, numpy.ones((12, 10), dtype=bool))
        light = numpy.where(page, 0.25, 0.9) * shadow + 0.02 * random.standard_normal((HEIGHT, WIDTH), dtype=numpy.float32)
        yield torch.from_numpy((255.0 * light.clip(0.0, 1.0)).astype(numpy.uint8))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    pages = list(scans(numpy.random.default_rng(20)))
    done = torch.zeros((HEIGHT, WIDTH // 8) if variant == "fix2" else (HEIGHT, WIDTH), dtype=torch.uint8)
    if variant == "fix":
        pages, done = [page.pin_memory() for page in pages], done.pin_memory()
    archive = done.numpy()
    bits = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.uint8, device="cuda")
    place = pages[0].cuda() if variant == "useless" else None
    turn, usual, empty = [0], [0.2], [0]

    def ink_of(page):
        """1 where there is ink."""
        light = page.half().view(1, 1, HEIGHT, WIDTH) / 255.0
        paper = F.max_pool2d(F.avg_pool2d(light, ROUGH), 4 * ROUGH + 1, stride=ROUGH, padding=2 * ROUGH)
        flat = light / F.interpolate(paper, size=(HEIGHT, WIDTH), mode="bilinear")
        mean = F.avg_pool2d(flat, FINE).float()
        spread = (F.avg_pool2d(flat.square(), FINE).float() - mean.square()).clamp(min=0.0).sqrt()
        limit = (mean * (1.0 + STRENGTH * (spread / RANGE - 1.0))).clamp(min=DARKEST).half()
        limit = F.interpolate(limit, size=(HEIGHT, WIDTH), mode="bilinear")
        return (flat < limit).view(HEIGHT, WIDTH).to(torch.uint8)

    def cleaned(page):
        if variant == "useless":
            return ink_of(place.copy_(page))
        if variant == "fix":
            return ink_of(page.to("cuda", non_blocking=True))
        return ink_of(page.cuda())  # cause: copy

    def stored(ink):
        if variant == "fix":
            done.copy_(ink, non_blocking=True)
            torch.cuda.current_stream().synchronize()
        elif variant == "fix2":
            done.copy_((ink.view(HEIGHT, WIDTH // 8, 8) * bits).sum(dim=2, dtype=torch.uint8))
        else:
            done.copy_(ink)  # cause: copy

    @torch.no_grad()
    def step():
        ink = cleaned(pages[turn[0] % SETS])  # cause: copy
        turn[0] += 1
        counted = ink[::EVERY].sum() if variant == "fix3" else None
        stored(ink)  # cause: copy
        if variant == "fix3":
            count = int(counted)
        elif variant == "fix2":
            count = int(numpy.bitwise_count(archive[::EVERY]).sum())
        else:
            count = int(archive[::EVERY].sum())
        share = count * EVERY / (HEIGHT * WIDTH)
        usual[0] += 0.05 * (share - usual[0])
        empty[0] += share < 0.002

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
