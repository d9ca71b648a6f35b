# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a camera above a swimming pool records races, and coaches see who is ahead: blocks of 16 frames lie in a ring in
memory, from which a DataLoader hands them out; on the GPU they are made smaller (torchvision), the first stages of a ResNet and
a layer behind them tell how much of each lane is a swimmer, and the running means of the lanes are shown once a second.

Wrong: blocks lie in pageable memory; a copy of 24.9 MB goes through a buffer of the driver, and the host waits for it before it
launches what works on the block.
fix: the ring is in pinned memory, and the host does not wait (copy-bound).
fix2: the next block is copied from pageable memory on another stream, behind the launches for this one (copy-bound).
fix3: what works on a block is one CUDA graph (launch-bound).
useless: frames that are made bright or dark alike go to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
torch, torchvision, v2 = fixable.load_torch("torchvision", "torchvision.transforms.v2")

FRAMES, HIGH, WIDE, LANES, BLOCKS, LOOK = 16, 540, 960, 8, 10, 25
SMALL = (256, 480)  # 32 by 60 places behind the network


def recorded():
    """Blocks of frames, (FRAMES, 3, HIGH, WIDE) in 8 bits: water, and in each lane a swimmer."""
    speeds = torch.linspace(5.0, 9.0, LANES).tolist()
    for number in range(BLOCKS):
        frames = torch.randint(60, 140, (FRAMES, 3, HIGH, WIDE), dtype=torch.uint8, device="cuda")
        for lane, speed in enumerate(speeds):
            top = lane * HIGH // LANES + 20
            for moment in range(FRAMES):
                left = int(speed * (number * FRAMES + moment)) % (WIDE - 60)
                frames[moment, :, top:top + 24, left:left + 30 + 4 * lane] = 235
        yield frames.cpu()


class Round(torch.utils.data.Sampler):
    """Numbers of blocks, as the ring has them, without an end."""

    def __init__(self):
        pass

    def __iter__(self):
        while True:
            yield from range(BLOCKS)


def network():
    """From small frames to how likely each place is a swimmer."""
    stages = list(torchvision.models.resnet18(weights=None).children())[:6]
    head = torch.nn.Conv2d(128, 1, kernel_size=1)
    net = torch.nn.Sequential(*stages, head).eval().requires_grad_(False)
    return net.to(device="cuda", dtype=torch.bfloat16, memory_format=torch.channels_last)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    ring = [block.pin_memory() if variant == "fix" else block for block in recorded()]
    blocks = iter(torch.utils.data.DataLoader(ring, batch_size=None, sampler=Round()))
    net = network()
    smaller = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Resize(SMALL, antialias=True)])
    mean = torch.tensor([0.39, 0.39, 0.39], device="cuda").view(1, 3, 1, 1)
    spread = torch.tensor([0.12, 0.12, 0.12], device="cuda").view(1, 3, 1, 1)
    kept = torch.empty(FRAMES, 3, *SMALL, device="cuda") if variant == "useless" else None
    places = [torch.empty(FRAMES, 3, HIGH, WIDE, dtype=torch.uint8, device="cuda") for _ in range(2 if variant == "fix2" else 1)]
    usual = torch.zeros(LANES, device="cuda")
    turn, shown = [0], []

    def see(frames):
        small = smaller(frames)
        if variant == "useless":
            torch.sub(small, mean, out=kept)
            small = torch.div(kept, spread, out=kept)
        else:
            small = (small - mean) / spread
        heat = net(small.to(dtype=torch.bfloat16, memory_format=torch.channels_last)).float().sigmoid()
        usual.lerp_(heat.reshape(FRAMES, LANES, -1).mean(dim=(0, 2)), 0.05)

    if variant == "fix2":
        side = torch.cuda.Stream()
        copied, done = [torch.cuda.Event() for _ in places], [torch.cuda.Event() for _ in places]
        places[0].copy_(next(blocks))
    if variant == "fix3":
        places[0].copy_(ring[0])
        graph, _ = fixable.capture(torch, lambda: see(places[0]))
        usual.zero_()
    torch.cuda.synchronize()

    def see_and_copy_next():
        here, there = turn[0] % 2, (turn[0] + 1) % 2
        torch.cuda.current_stream().wait_event(copied[here])
        see(places[here])
        done[here].record()
        with torch.cuda.stream(side):
            side.wait_event(done[there])
            places[there].copy_(next(blocks))
            copied[there].record()

    @torch.no_grad()
    def step():
        if variant == "fix2":
            see_and_copy_next()
        else:
            places[0].copy_(next(blocks), non_blocking=variant == "fix")  # cause: copy,wait
            if variant == "fix3":
                graph.replay()
            else:
                see(places[0])
        turn[0] += 1
        if turn[0] % LOOK == 0:
            shown.append(usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
