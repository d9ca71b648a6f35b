# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which of twelve clubs a golfer should take for a green 150 metres away is told from 16384 shots with each club, with
the speeds, angles and spins that this player's shots have, in each of four winds: the flight of a ball, with its drag and its
lift by spin, is followed for seven seconds, and it is noted how far it goes, how far aside, and how often it comes to the green.

Wrong: a moment of the flight is some fifty operations on few numbers each, of which each is a kernel of two microseconds, and the
GPU waits for the next one to be launched.
fix: a flight, all moments of it, is one CUDA graph (launch-bound).
useless: the table comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch = fixable.load_torch()

SHOTS, CLUBS, WINDS, MOMENTS, READ_EACH = 16384, 12, 4, 30, 50
GREEN, ROUND = 150.0, 9.0  # metres to its middle, and its radius
DT, GRAVITY, BALL, PRESSURE, SLOWS = 0.24, 9.81, 0.02135, 0.0191, 0.99  # PRESSURE: half of air * section / mass, by the metre


def swings():
    """Speed (m/s), angle upwards, angle aside, spin (by the second) and tilt of the spin's axis, (CLUBS, 5, SHOTS), from the
    driver to the wedge."""
    share = torch.linspace(0.0, 1.0, CLUBS, device="cuda")[:, None]
    luck = torch.randn(CLUBS, 5, SHOTS, device="cuda")
    speed = (70.0 - 34.0 * share) * (1.0 + 0.03 * luck[:, 0])
    rise = 0.19 + 0.33 * share + 0.02 * luck[:, 1]
    spin = (270.0 + 720.0 * share) * (1.0 + 0.08 * luck[:, 3])
    return torch.stack((speed, rise, 0.03 * luck[:, 2], spin, 0.08 * luck[:, 4]), dim=1)


def weather():
    """The wind ten metres above the ground, (WINDS, 3)."""
    way = torch.linspace(0.3, 5.0, WINDS, device="cuda")
    strong = 4.0 + 2.0 * torch.sin(3.0 * way)
    return torch.stack((strong * way.cos(), strong * way.sin(), torch.zeros_like(way)), dim=1)


def push(height, velocity, axis, spun, wind, down):
    """What accelerates the balls."""
    level = (height.clamp(min=0.1) / 10.0).pow(0.14)  # cause: launch
    air = velocity - wind[:, None] * level  # cause: launch
    speed = torch.linalg.vector_norm(air, dim=0)  # cause: launch
    ratio = spun / speed  # cause: launch
    drag = 0.21 + 0.18 * ratio  # cause: launch
    lift = torch.sqrt(0.36 * ratio + 0.0025) - 0.05  # cause: launch
    turned = torch.linalg.cross(axis, air, dim=0)  # cause: launch
    return (lift * turned - drag * air) * (PRESSURE * speed) - down  # cause: launch


def flight(swing, wind, down):
    """How far the shots go by the mean, how much that varies, how far aside they go, and how often to the green."""
    speed, rise, aim, spin, tilt = swing.unbind(0)
    along = speed * rise.cos()  # cause: launch
    velocity = torch.stack((along * aim.cos(), along * aim.sin(), speed * rise.sin()))  # cause: launch
    axis = torch.stack((torch.zeros_like(tilt), -tilt.cos(), tilt.sin()))  # cause: launch
    place, flies, spun = torch.zeros_like(velocity), torch.ones_like(speed), spin * BALL  # cause: launch
    for _ in range(MOMENTS):
        half = velocity + 0.5 * DT * push(place[2], velocity, axis, spun, wind, down)  # cause: launch
        middle = place[2] + 0.5 * DT * velocity[2]  # cause: launch
        velocity = velocity + DT * push(middle, half, axis, spun, wind, down)  # cause: launch
        place = place + DT * flies * half  # cause: launch
        flies = flies * (place[2] > 0.0)  # cause: launch
        spun = SLOWS * spun  # cause: launch
    far, aside = place[0], place[1]
    holds = torch.hypot(far - GREEN, aside) < ROUND  # cause: launch
    return torch.stack((far.mean(), far.std(), aside.abs().mean(), holds.float().mean()))  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    shots, winds = swings(), weather()
    down = torch.tensor([[0.0], [0.0], [GRAVITY]], device="cuda")
    swing, wind = shots[0].clone(), winds[0].clone()
    table = torch.zeros(WINDS * CLUBS, 4, device="cuda")
    landing = torch.empty(WINDS * CLUBS, 4, pin_memory=True) if variant == "useless" else None
    turn, told = [0], []
    if variant == "fix":
        graph, found = fixable.capture(torch, lambda: flight(swing, wind, down))

    def fly():
        if variant == "fix":
            graph.replay()
            return found
        return flight(swing, wind, down)  # cause: launch

    @torch.no_grad()
    def step():
        row = turn[0] % (WINDS * CLUBS)
        swing.copy_(shots[row % CLUBS])
        wind.copy_(winds[row // CLUBS])
        table[row].copy_(fly())  # cause: launch
        turn[0] += 1
        if turn[0] % READ_EACH == 0:
            if variant == "useless":
                landing.copy_(table, non_blocking=True)
                torch.cuda.current_stream().synchronize()
                told[:] = landing.tolist()
            else:
                told[:] = table.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: table.flatten().tolist())


run.main(make)
