# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how tin and lead part within a drop of solder that cools, and how coarse the grains get, from which engineers tell
when joints of circuit boards will crack: the equation of Cahn and Hilliard on 4096 by 2048 points, implicitly in its stiff part,
by Fourier transforms. A step is four instants, behind which a picture (per cent of tin) comes to the host, where the last six are
kept for a film, and where a line across the middle shows how much of it is rich in tin.

Wrong: a picture of 33.5 MB comes to pageable memory, which takes a few times longer than to compute it, and the host waits and
launches nothing meanwhile.
fix: the pictures are kept in pinned memory; none is waited for, and the line is looked at two steps later (copy-bound).
fix2: a picture comes to pageable memory by another stream, behind the launches of the next step (copy-bound).
fix3: the four instants are one CUDA graph; the picture comes as before (launch-bound).
useless: the cubes are computed in an array that is made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, numpy = fixable.load_torch("numpy")

SIZE, INSTANTS, FILM = (4096, 2048), 4, 6
DT, WALL, STILL, TIN = 0.5, 1.0, 2.0, 0.2  # TIN: its share, from -1 to 1, by the mean


def factors():
    """How much of each wave stays in an instant, and how much of the cubes' wave comes to it."""
    down = torch.fft.fftfreq(SIZE[0], device="cuda")[:, None] * (2.0 * math.pi)
    right = torch.fft.rfftfreq(SIZE[1], device="cuda") * (2.0 * math.pi)
    square = down * down + right * right
    below = 1.0 + DT * (STILL * square + WALL * square * square)
    return (1.0 + DT * (1.0 + STILL) * square) / below, -DT * square / below


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    stays, comes = factors()
    waves = torch.fft.rfft2(TIN + 0.05 * torch.randn(SIZE, device="cuda"))
    begin = waves.clone()
    pictures = [torch.empty(SIZE, device="cuda") for _ in range(2)]
    made = torch.empty(SIZE, device="cuda") if variant == "useless" else None
    film = [torch.empty(SIZE, pin_memory=variant == "fix").fill_(0.0) for _ in range(FILM)]
    lines = [picture[SIZE[0] // 2].numpy() for picture in film]
    turn, pending, usual = [0], [], [0.0, 0.0]

    def cubes(share):
        if variant == "useless":
            return torch.mul(share, share, out=made).mul_(share)
        return share * share * share

    def instants(picture):
        """Four instants on, and the picture of how much tin there is."""
        for _ in range(INSTANTS):
            share = torch.fft.irfft2(waves, s=SIZE)
            pushes = torch.fft.rfft2(cubes(share))
            waves.mul_(stays).add_(pushes.mul_(comes))
        torch.add(torch.fft.irfft2(waves, s=SIZE), 1.0, out=picture).mul_(50.0)

    graphs = []
    if variant == "fix3":
        for picture in pictures:
            graphs.append(fixable.capture(torch, lambda: instants(picture))[0])
        waves.copy_(begin)
    side = torch.cuda.Stream() if variant == "fix2" else None

    def look(number):
        """How much of the line across the middle is rich in tin, and how much tin is in it."""
        line = lines[number % FILM]
        usual[0] += 0.02 * (numpy.count_nonzero(line > 50.0) / line.size - usual[0])
        usual[1] += 0.02 * (float(line.mean()) / 100.0 - usual[1])

    def taken_later(number, done):
        """A picture that is not yet at the host: of pinned memory only an event is waited for, pageable memory is written now."""
        if variant == "fix":
            done.synchronize()
        else:
            with torch.cuda.stream(side):
                side.wait_event(done)
                film[number % FILM].copy_(pictures[number % 2])
        look(number)

    def step():
        number = turn[0]
        turn[0] += 1
        picture = pictures[number % 2]
        if variant == "fix3":
            graphs[number % 2].replay()
        else:
            instants(picture)
        if variant not in ("fix", "fix2"):
            film[number % FILM].copy_(picture)  # cause: copy,wait
            look(number)
            return
        if variant == "fix":
            film[number % FILM].copy_(picture, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        pending.append((number, done))
        if len(pending) > (2 if variant == "fix" else 1):
            taken_later(*pending.pop(0))

    def wait():
        while pending:
            taken_later(*pending.pop(0))
        torch.cuda.synchronize()

    def values():
        """How much tin is in the last pictures, how far it has parted, and what was seen in the lines."""
        last = film[(turn[0] - 1) % FILM].numpy()
        return [float(last.mean(dtype=numpy.float64)) / 100.0, float(last.std(dtype=numpy.float64)) / 100.0] + usual

    return fixable.Work(step, wait, values)


run.main(make)
