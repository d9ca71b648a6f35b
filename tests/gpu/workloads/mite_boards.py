# SPDX-License-Identifier: Apache-2.0
"""PyTorch: varroa mites that fall from the bees are counted on white boards that lie under the hives of a breeder, photographed
with 3072 by 4096 pixels of three bytes. A mite is a dark red spot of a certain size: the tint of mites is taken from the colours,
the wide surroundings are subtracted from the near ones, and what is the darkest place about, and dark enough, is a mite. It is
told how many lie on each of 12 by 16 squares, on the usual board.

Wrong: each picture of 38 MB is copied from pageable memory, and the GPU waits for it.
fix: the pictures lie in pinned memory (copy-bound).
fix2: the next picture is copied, from pageable memory still, on another stream while the kernels look at this one (copy-bound).
useless: what is done with a picture on the GPU is a CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=360, warm_up=16)
torch, functional = fixable.load_torch("torch.nn.functional")

BOARDS, HIGH, WIDE, ROWS, COLUMNS, SHOWN = 8, 3072, 4096, 12, 16, 20
RED, GREEN, BLUE, NEAR, AROUND, APART, LEAST = 0.15, 0.45, 0.4, 5, 31, 9, 22.0  # the tint of mites; pixels; how dark a mite is


def photographed(pinned):
    """Pictures of boards in host memory, (3, HIGH, WIDE) of bytes: paper in uneven light, crumbs of wax, and mites."""
    tint = torch.tensor([70.0, 120.0, 130.0], device="cuda").view(3, 1, 1)
    boards = []
    for number in range(BOARDS):
        coarse = 170.0 + 50.0 * torch.rand(1, 1, 24, 32, device="cuda")
        paper = functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        chance = torch.rand(HIGH, WIDE, device="cuda")
        crumbs = functional.max_pool2d(((chance > 0.3) & (chance < 0.3004)).float()[None], 5, 1, 2)
        mites = functional.max_pool2d((chance < 4e-6 * (number + 2)).float()[None], 9, 1, 4)
        seen = paper - 35.0 * crumbs - tint * mites + 4.0 * torch.randn(3, HIGH, WIDE, device="cuda")
        board = torch.empty(3, HIGH, WIDE, dtype=torch.uint8, pin_memory=pinned)
        boards.append(board.copy_(seen.clamp_(0.0, 255.0).to(torch.uint8)))
    return boards


def make(variant):
    fixable.seed(torch)
    boards = photographed(variant == "fix")
    torch.cuda.empty_cache()
    places = [torch.zeros(3, HIGH, WIDE, dtype=torch.uint8, device="cuda") for _ in range(2 if variant == "fix2" else 1)]
    usual = torch.zeros(ROWS, COLUMNS, device="cuda")
    here, ahead = torch.cuda.current_stream(), torch.cuda.Stream()
    arrived, free = ([torch.cuda.Event() for _ in places] for _ in range(2))
    turn, told = [0], []

    def count(place):
        """Adds the mites of a picture to the usual board."""
        colours = place.float()
        dark = torch.mul(colours[0], -RED).add_(colours[1], alpha=-GREEN).add_(colours[2], alpha=-BLUE)[None]
        near = functional.avg_pool2d(dark, NEAR, 1, NEAR // 2)
        rows = functional.avg_pool2d(dark, (1, AROUND), 1, (0, AROUND // 2), count_include_pad=False)
        around = functional.avg_pool2d(rows, (AROUND, 1), 1, (AROUND // 2, 0), count_include_pad=False)
        spot = near.sub_(around)
        darkest = functional.max_pool2d(spot, APART, 1, APART // 2)
        mites = (spot == darkest).logical_and_(spot > LEAST)
        usual.lerp_(mites.view(ROWS, HIGH // ROWS, COLUMNS, WIDE // COLUMNS).sum(dim=(1, 3), dtype=torch.float32), 0.05)

    def bring(number):
        """Copies a picture on the other stream, once the one that was in its place is counted."""
        now = number % 2
        ahead.wait_event(free[now])
        with torch.cuda.stream(ahead):
            places[now].copy_(boards[number % BOARDS], non_blocking=True)
        arrived[now].record(ahead)

    def count_ahead(number):
        """Counts a picture that was copied before, and copies the next one behind the launches."""
        here.wait_event(arrived[number % 2])
        count(places[number % 2])
        free[number % 2].record(here)
        bring(number + 1)

    if variant == "useless":
        graph, _ = fixable.capture(torch, lambda: count(places[0]))
        usual.zero_()
    torch.cuda.synchronize()
    if variant == "fix2":
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            count_ahead(number)
        else:
            places[0].copy_(boards[number % BOARDS], non_blocking=True)  # cause: wait,copy
            if variant == "useless":
                graph.replay()
            else:
                count(places[0])
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.sum().item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.reshape(-1).tolist())


run.main(make)
