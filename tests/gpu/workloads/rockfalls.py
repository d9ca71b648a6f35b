# SPDX-License-Identifier: Apache-2.0
"""torch.compile: which stones of a rock wall would come down to the road below is told by letting 600 thousand of them fall:
they fly, bounce, roll and lie still at last. The tick is under torch.compile, which makes two or three kernels of it.

Wrong: behind each tick the host asks how many stones still move, to stop when nearly all lie still; it sends nothing while it
waits.
fix: it asks behind every sixteenth tick (sync-bound).
fix2: a tick is one CUDA graph; the host asks behind each one (launch-bound).
useless: the answer comes to pinned memory.
"""
import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no processes beside this one

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=4)
torch, _ = fixable.load_torch("triton")

STONES, SIDE, APART, TICK, WEIGHT, BOUNCE, SLIDE, SLOW, ROAD = 600000, 1024, 0.25, 0.1, 9.81, 0.35, 0.9, 1.6, 140.0
FEW, MOST, ASK_EVERY, WALLS = STONES // 100, 240, 16, 4  # stones that may still move, ticks at most
WIDE = (SIDE - 2) * APART  # metres of the map


def tick(x, y, z, u, v, w, ground):
    """Moves all stones (places x, y, z and speeds u, v, w), and gives how many still move."""
    moving = (u != 0.0) | (v != 0.0) | (w != 0.0)
    down = w - WEIGHT * TICK
    x1, y1, z1 = x + u * TICK, y + v * TICK, z + down * TICK
    inside = (x1 > 0.0) & (x1 < WIDE) & (y1 > 0.0) & (y1 < WIDE)
    gx, gy = x1.clamp(0.0, WIDE) / APART, y1.clamp(0.0, WIDE) / APART
    row, column = gx.long(), gy.long()
    right, up = gx - row, gy - column
    at = row * SIDE + column
    a, b, c, d = ground[at], ground[at + 1], ground[at + SIDE], ground[at + SIDE + 1]
    height = (a * (1.0 - up) + b * up) * (1.0 - right) + (c * (1.0 - up) + d * up) * right
    steep_x = ((c - a) * (1.0 - up) + (d - b) * up) / APART
    steep_y = ((b - a) * (1.0 - right) + (d - c) * right) / APART
    nz = torch.rsqrt(1.0 + steep_x * steep_x + steep_y * steep_y)
    nx, ny = -steep_x * nz, -steep_y * nz
    into = u * nx + v * ny + down * nz
    hits = z1 < height
    meets = hits & (into < 0.0)
    push = (SLIDE + BOUNCE) * into
    u1 = torch.where(meets, SLIDE * u - push * nx, u)
    v1 = torch.where(meets, SLIDE * v - push * ny, v)
    w1 = torch.where(meets, SLIDE * down - push * nz, down)
    goes_on = moving & inside & ~(hits & (u1 * u1 + v1 * v1 + w1 * w1 < SLOW * SLOW))
    z.copy_(torch.where(moving, torch.maximum(z1, height), z))
    x.copy_(torch.where(moving, x1, x))
    y.copy_(torch.where(moving, y1, y))
    u.copy_(torch.where(goes_on, u1, 0.0))
    v.copy_(torch.where(goes_on, v1, 0.0))
    w.copy_(torch.where(goes_on, w1, 0.0))
    return goes_on.sum()


advance = torch.compile(tick, dynamic=False)


def land():
    """Heights: a steep wall, a slope with blocks and gullies, a terrace with the road."""
    at = torch.arange(SIDE, device="cuda") * APART
    wall = 70.0 * torch.sigmoid((40.0 - at) / 5.0) + 45.0 * torch.sigmoid((95.0 - at) / 16.0)
    gullies = 1.5 * torch.sin(at / 9.0) * torch.exp(-((at.view(SIDE, 1) - 70.0) / 40.0).square())
    blocks = 0.25 * torch.randn(SIDE, SIDE, device="cuda") * torch.exp(-((at.view(SIDE, 1) - 80.0) / 50.0).square())
    return (wall.view(SIDE, 1) + gullies + blocks).reshape(-1).contiguous()


def loose(ground, number):
    """Stones that break out of the wall: places and first speeds."""
    x = 34.0 + 3.0 * number + 4.0 * torch.rand(STONES, device="cuda")
    y = WIDE * (0.05 + 0.9 * torch.rand(STONES, device="cuda"))
    z = ground[(x / APART).long() * SIDE + (y / APART).long()] + 1.0
    return [x, y, z, 1.0 + torch.rand(STONES, device="cuda"), 0.5 * torch.randn(STONES, device="cuda"), torch.zeros_like(x)]


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    ground = land()
    walls = [loose(ground, number) for number in range(WALLS)]
    stones = [part.clone() for part in walls[0]]
    landing = torch.zeros((), dtype=torch.long, pin_memory=True) if variant == "useless" else None
    ask_every = ASK_EVERY if variant == "fix" else 1
    turn, usual = [0], [0.0, 0.0]
    advance(*stones, ground)
    if variant == "fix2":
        graph, given = fixable.capture(torch, lambda: advance(*stones, ground))

    def told(moving):
        if variant != "useless":
            return moving.item()  # cause: wait
        landing.copy_(moving, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return landing.item()

    def fall():
        """Ticks until nearly all stones lie still."""
        for number in range(1, MOST + 1):
            if variant == "fix2":
                graph.replay()
                moving = given
            else:
                moving = advance(*stones, ground)  # cause: launch
            if number % ask_every == 0 and told(moving) <= FEW:  # cause: wait
                break

    @torch.no_grad()
    def step():
        for place, part in zip(stones, walls[turn[0] % WALLS]):
            place.copy_(part)
        turn[0] += 1
        fall()  # cause: wait
        far = torch.stack((stones[0].mean(), (stones[0] > ROAD).float().mean())).tolist()
        usual[:] = [old + 0.1 * (new - old) for old, new in zip(usual, far)]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
