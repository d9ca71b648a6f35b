# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a probe swings by the Earth on its way to an asteroid, and nobody knows to a hair where it is. Two million samples of
its place and speed are flown past the Earth in 64 parts, each time aimed in another one of eight ways; the nearer the nearest
sample is, the shorter the next part is. How near samples come, and where they fly behind the Earth, is noted.

Wrong: the distance of the nearest sample is read by the host for each part, since Python tells how long the part is to be; the
GPU has nothing to do until the host knows it and launches more.
fix: how long a part is, is told on the device; nothing is read in a pass (sync-bound).
fix2: what comes before the distance is read, and what comes behind, are two CUDA graphs; it is read as before (launch-bound).
useless: the accelerations are in arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
torch = fixable.load_torch()

SAMPLES, PARTS, AIMS, SHOWN = 2 ** 21, 64, 8, 20
EARTH = 398600.4  # km^3 / s^2
SHARE, LEAST, MOST = 0.07, 20.0, 300.0  # of the time that the nearest orbit takes; seconds


def cloud():
    """Places in km and speeds in km/s before the Earth, (3, SAMPLES) each, and the ways to aim."""
    place = torch.tensor([[-60000.0], [16500.0], [2000.0]], device="cuda") + 60.0 * torch.randn(3, SAMPLES, device="cuda")
    speed = torch.tensor([[9.4], [0.0], [0.0]], device="cuda") + 2e-3 * torch.randn(3, SAMPLES, device="cuda")
    return place, speed, 400.0 * torch.randn(AIMS, 3, 1, device="cuda")


def make(variant):
    fixable.seed(torch)
    first, speed_first, aims = cloud()
    place, speed = torch.empty_like(first), torch.empty_like(speed_first)
    far, closest = torch.empty(SAMPLES, device="cuda"), torch.empty(SAMPLES, device="cuda")
    nearest, time, pull = (torch.zeros((), device="cuda") for _ in range(3))
    usual, turn, told = torch.zeros(4, device="cuda"), [0], []
    kept = [torch.empty(SAMPLES, device="cuda"), torch.empty_like(first)] if variant == "useless" else None

    def look():
        """How far the samples are, and the nearest one."""
        torch.linalg.vector_norm(place, dim=0, out=far)
        torch.minimum(closest, far, out=closest)
        torch.amin(far, dim=0, out=nearest)

    def fly():
        """One part of the way."""
        if kept:
            down = torch.mul(place, torch.pow(far, -3.0, out=kept[0]), out=kept[1])
        else:
            down = place * torch.pow(far, -3.0)
        speed.addcmul_(down, pull)
        place.addcmul_(speed, time)

    def set_time():
        """How long the part is, by the host."""
        seconds = min(max(SHARE * (nearest.item() ** 3 / EARTH) ** 0.5, LEAST), MOST)  # cause: wait,copy
        time.fill_(seconds)
        pull.fill_(-EARTH * seconds)

    def set_time_there():
        """The same on the device."""
        torch.pow(nearest, 1.5, out=time).mul_(SHARE / EARTH ** 0.5).clamp_(LEAST, MOST)
        torch.mul(time, -EARTH, out=pull)

    look_now, fly_now = look, fly
    set_now = set_time_there if variant == "fix" else set_time
    if variant == "fix2":
        place.copy_(first)
        speed.copy_(speed_first)
        graphs = [fixable.capture(torch, part, warm_up=1)[0] for part in (look, fly)]
        look_now, fly_now = (graph.replay for graph in graphs)

    def step():
        torch.add(first, aims[turn[0] % AIMS], out=place)
        speed.copy_(speed_first)
        closest.fill_(1e6)
        for _ in range(PARTS):
            look_now()
            set_now()  # cause: wait,copy
            fly_now()
        usual.lerp_(torch.stack((closest.mean(), closest.amin(), speed[1].mean(), speed[2].mean())), 0.02)
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
