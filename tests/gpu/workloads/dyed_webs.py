# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a web of dyed cotton runs under a camera, and a dye house wants to know whether its shade is even. Pictures of 4096 by
4096 pixels are told in the colours of a standard eye (CIELAB); how far each pixel is from the shade that was ordered gives a map of
64 by 64 squares, how dark each column is gives streaks, and the sides of the web are set against its middle.

Wrong: each picture of 50 MB comes from pageable memory, and the GPU waits for it; it is non_blocking in name only.
fix: the pictures lie in pinned memory (copy-bound).
fix2: the next picture is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the kernels of a picture are a CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=12)
torch = fixable.load_torch()

PICTURES, SIDE, SQUARES, SHOWN = 6, 4096, 64, 25
TO_XYZ = ((0.4339, 0.3763, 0.1899), (0.2126, 0.7152, 0.0722), (0.0178, 0.1095, 0.8727))  # of linear red, green, blue; white is 1
TO_LAB = ((0.0, 116.0, 0.0), (500.0, -500.0, 0.0), (0.0, 200.0, -200.0))  # of the cube roots of these
ORDERED = (0.16, 0.24, 0.52)  # a blue


def filmed():
    """Pictures of bytes, (3, SIDE, SIDE), in the host's memory: threads, streaks, and sides that took less dye."""
    along = torch.arange(SIDE, device="cuda")
    threads = 0.9 + 0.1 * ((along[:, None] + along) // 3 % 2)
    sides = 1.0 + 0.15 * torch.linspace(-1.0, 1.0, SIDE, device="cuda").abs() ** 8
    blue = torch.tensor(ORDERED, device="cuda").view(3, 1, 1)
    for _ in range(PICTURES):
        clouds = torch.nn.functional.interpolate(torch.rand(1, 1, 24, 24, device="cuda"), size=(SIDE, SIDE), mode="bilinear")[0]
        streaks = 1.0 + 0.03 * torch.randn(SIDE, device="cuda")
        seen = blue * threads * sides * streaks * (0.9 + 0.2 * clouds)
        yield (255.0 * seen).clamp_(0.0, 255.0).to(torch.uint8).cpu()


def make(variant):
    fixable.seed(torch)
    pictures = [picture.pin_memory() if variant == "fix" else picture for picture in filmed()]
    places = [torch.zeros(3, SIDE, SIDE, dtype=torch.uint8, device="cuda") for _ in range(2 if variant == "fix2" else 1)]
    to_xyz, to_lab = torch.tensor(TO_XYZ, device="cuda"), torch.tensor(TO_LAB, device="cuda")
    shade = to_lab @ (to_xyz @ torch.tensor(ORDERED, device="cuda").pow(2.2)).pow(1.0 / 3.0)
    squares, streaks = torch.zeros(SQUARES, SQUARES, device="cuda"), torch.zeros(3, SIDE, device="cuda")
    usual = torch.zeros(4, device="cuda")
    here, side = torch.cuda.current_stream(), torch.cuda.Stream()
    copied, done = torch.cuda.Event(), [torch.cuda.Event() for _ in range(2)]
    turn, told = [0], []

    def inspect(picture):
        """How far the shade is off, in squares and columns."""
        linear = picture.view(3, -1).float().mul_(1.0 / 255.0).pow_(2.2)
        roots = (to_xyz @ linear).clamp_(min=0.003).pow_(1.0 / 3.0)
        off = (to_lab @ roots).sub_(shade[:, None])
        torch.mean(off.view(3, SIDE, SIDE), dim=1, out=streaks)
        apart = off.square_().sum(dim=0).sqrt_().view(SQUARES, SIDE // SQUARES, SQUARES, SIDE // SQUARES)
        torch.mean(apart, dim=(1, 3), out=squares)
        middle = squares[:, SQUARES // 4:-SQUARES // 4].mean()
        seen = torch.stack((squares.mean(), squares.max(), squares[:, 0].mean() - middle, streaks[0].std()))
        usual.lerp_(seen, 0.05)

    def copy_ahead(number):
        """The kernels of a picture whose copy is under way, and the copy of the next one to the place that was read before."""
        now = number % 2
        here.wait_event(copied)
        inspect(places[now])
        done[now].record(here)
        side.wait_event(done[1 - now])
        with torch.cuda.stream(side):
            places[1 - now].copy_(pictures[(number + 1) % PICTURES], non_blocking=True)
        copied.record(side)

    if variant == "useless":
        graph, _ = fixable.capture(torch, lambda: inspect(places[0]))
        usual.zero_()
    if variant == "fix2":
        places[0].copy_(pictures[0])

    def step():
        if variant == "fix2":
            copy_ahead(turn[0])
        else:
            places[0].copy_(pictures[turn[0] % PICTURES], non_blocking=True)  # cause: wait,copy
            if variant == "useless":
                graph.replay()
            else:
                inspect(places[0])
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist() + squares.mean(dim=1).tolist())


run.main(make)
