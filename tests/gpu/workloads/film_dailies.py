# SPDX-License-Identifier: Apache-2.0
"""PyTorch: what a film's cameras took in a day is shown to its director on a tablet. Each frame of 3840 x 2160 points comes as
half floats of a wide range of light; it is squeezed into what a tablet can show, dark and bright places each by its surroundings,
then by the curve of film, and goes back as bytes to one of four places in memory, from where an encoder takes it.

Wrong: memory is pinned and nobody waits for a frame, but all is done on one stream: while 50 MB come and 25 MB go, the GPU
computes nothing, and while it computes, nothing is copied.
fix: the next frame comes and the last one goes on streams of their own, while one is computed (copy-bound).
useless: frames come to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=1100, warm_up=12)
torch, functional = fixable.load_torch("torch.nn.functional")

FRAMES, PLACES, HEIGHT, WIDTH = 6, 4, 2160, 3840
COARSE, AROUND, SQUEEZED, MIDDLE = 8, 9, 0.55, -1.5  # MIDDLE: log2 of the light that stays as it is


def taken():
    """A take: some frames of soft lights and darks, in pinned memory."""
    for _ in range(FRAMES):
        places = torch.rand(1, 3, HEIGHT // 60, WIDTH // 60, device="cuda")
        soft = functional.interpolate(places, size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False)[0]
        light = torch.exp2(14.0 * soft - 8.0) * (1.0 + 0.1 * torch.rand(3, HEIGHT, WIDTH, device="cuda"))
        frame = torch.empty(3, HEIGHT, WIDTH, dtype=torch.float16, pin_memory=True)
        frame.copy_(light.half())
        yield frame


def toned(frame, weights):
    """A frame as bytes that a tablet can show."""
    light = frame.float()
    bright = (light * weights).sum(dim=0).clamp_(min=1e-4).log2_()
    broad = functional.avg_pool2d(bright[None, None], COARSE)
    broad = functional.avg_pool2d(broad, AROUND, stride=1, padding=AROUND // 2, count_include_pad=False)
    broad = functional.interpolate(broad, size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False)[0, 0]
    light.mul_(torch.exp2((broad - MIDDLE) * (SQUEEZED - 1.0)))
    shown = light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14)
    return shown.clamp_(0.0, 1.0).pow_(1.0 / 2.4).mul_(255.0).round_().to(torch.uint8)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    frames = list(taken())
    weights = torch.tensor((0.2126, 0.7152, 0.0722), device="cuda")[:, None, None]
    places = [torch.empty(3, HEIGHT, WIDTH, dtype=torch.uint8, pin_memory=True) for _ in range(PLACES)]
    gone, held = [torch.cuda.Event() for _ in range(PLACES)], [None] * PLACES
    near = [torch.empty(3, HEIGHT, WIDTH, dtype=torch.float16, device="cuda") for _ in range(2)]
    came, used = [torch.cuda.Event() for _ in range(2)], [torch.cuda.Event() for _ in range(2)]
    coming, going = torch.cuda.Stream(), torch.cuda.Stream()
    turn, middles = [0], [0.0] * FRAMES

    def encode(place):
        """Takes the frame that lies at a place since four turns, and notes how bright its middle line is."""
        if held[place] is not None:
            gone[place].synchronize()
            middles[held[place]] = float(places[place][:, HEIGHT // 2, ::32].float().mean())

    def fetch(number):
        """Starts the copy of a frame to one of two arrays."""
        coming.wait_event(used[number % 2])
        with torch.cuda.stream(coming):
            near[number % 2].copy_(frames[number % FRAMES], non_blocking=True)
            came[number % 2].record()

    def in_turn(number, place):
        frame = frames[number % FRAMES]
        if variant == "useless":
            there = near[0].copy_(frame, non_blocking=True)
        else:
            there = frame.to("cuda", non_blocking=True)  # cause: copy
        places[place].copy_(toned(there, weights), non_blocking=True)  # cause: copy
        gone[place].record()

    def meanwhile(number, place):
        if number == 0:
            fetch(0)
        fetch(number + 1)
        now = torch.cuda.current_stream()
        now.wait_event(came[number % 2])
        shown = toned(near[number % 2], weights)
        used[number % 2].record()
        going.wait_event(used[number % 2])
        with torch.cuda.stream(going):
            places[place].copy_(shown, non_blocking=True)
            gone[place].record()
        shown.record_stream(going)

    show = meanwhile if variant == "fix" else in_turn
    torch.cuda.synchronize()

    @torch.no_grad()
    def step():
        number = turn[0]
        turn[0] += 1
        place = number % PLACES
        encode(place)
        held[place] = number % FRAMES
        show(number, place)  # cause: copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(middles))


run.main(make)
