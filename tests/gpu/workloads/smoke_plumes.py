# SPDX-License-Identifier: Apache-2.0
"""PyTorch: smoke for a film blows around a pillar (stable fluids): for each frame the wind and the smoke are carried on along the
wind, and the pressure that keeps the wind free of sources is found by 40 sweeps of Jacobi; the grid is that of a preview.

Wrong: each sweep is half a dozen small kernels that are launched one by one; the host takes several times longer to launch them
than the GPU to run them.
fix: all launches of a frame are one CUDA graph (launch-bound).
useless: how much smoke there is stays on the device, and is read every 20 frames.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=1500, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
F = torch.nn.functional

HEIGHT, WIDTH, SWEEPS, WIND, FASTEST, FADE, LIFT = 128, 256, 40, 1.5, 6.0, 0.998, 0.02


class Room:
    """What does not change: the places of the cells, the pillar, and where smoke and wind come in."""

    def __init__(self):
        y, x = torch.meshgrid(torch.arange(HEIGHT, device="cuda").float(), torch.arange(WIDTH, device="cuda").float(), indexing="ij")
        self.places = torch.stack((x, y))[None]
        self.scale = torch.tensor([2.0 / (WIDTH - 1), 2.0 / (HEIGHT - 1)], device="cuda").view(1, 2, 1, 1)
        self.free = ((x - 70.0).square() + (y - 61.0).square() > 14.0 ** 2).float()[None, None]
        self.inlet = ((x < 4.0) & ((y - 64.0).abs() < 40.0)).float()[None, None]
        self.wind = torch.tensor([WIND, 0.0], device="cuda").view(1, 2, 1, 1)

    def carried(self, field, wind):
        """A field, one frame later."""
        back = (self.places - wind) * self.scale - 1.0  # cause: launch
        return F.grid_sample(field, back.permute(0, 2, 3, 1), padding_mode="border", align_corners=True)  # cause: launch


def slopes(field):
    """How a field changes from left to right, and from top to bottom."""
    wide = F.pad(field, (1, 1, 1, 1), mode="replicate")  # cause: launch
    across = 0.5 * (wide[..., 1:-1, 2:] - wide[..., 1:-1, :-2])  # cause: launch
    down = 0.5 * (wide[..., 2:, 1:-1] - wide[..., :-2, 1:-1])  # cause: launch
    return across, down


def pressed(sources):
    """The pressure, by Jacobi."""
    pressure = torch.zeros_like(sources)  # cause: launch
    for _ in range(SWEEPS):
        wide = F.pad(pressure, (1, 1, 1, 1), mode="replicate")  # cause: launch
        beside = wide[..., 1:-1, :-2] + wide[..., 1:-1, 2:]  # cause: launch
        above = wide[..., :-2, 1:-1] + wide[..., 2:, 1:-1]  # cause: launch
        pressure = 0.25 * (beside + above - sources)  # cause: launch
    return pressure


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    room = Room()
    wind = torch.zeros(1, 2, HEIGHT, WIDTH, device="cuda")
    smoke = torch.zeros(1, 1, HEIGHT, WIDTH, device="cuda")
    turn, pending, usual, frames = [0], [], [0.0, 0.0], []

    def begin():
        wind.copy_((room.wind * room.free).expand_as(wind))
        smoke.zero_()

    def frame():
        """Goes on by one frame; how much smoke there is then."""
        blown = room.carried(wind, wind)  # cause: launch
        blown = torch.cat((blown[:, :1], blown[:, 1:] - LIFT * smoke), dim=1)  # cause: launch
        blown = torch.lerp(blown, room.wind.expand_as(blown), room.inlet) * room.free  # cause: launch
        across, _ = slopes(blown[:, :1])  # cause: launch
        _, down = slopes(blown[:, 1:])  # cause: launch
        push = torch.cat(slopes(pressed(across + down)), dim=1)  # cause: launch
        wind.copy_(((blown - push) * room.free).clamp(-FASTEST, FASTEST))  # cause: launch
        drifted = room.carried(smoke, wind) * FADE  # cause: launch
        smoke.copy_(torch.maximum(drifted * room.free, room.inlet))  # cause: launch
        return smoke.mean()  # cause: launch

    begin()
    if variant == "fix":
        graph, amount = fixable.capture(torch, frame)
        begin()

    def note(much):
        usual[0] += 0.05 * (much - usual[0])

    def show():
        """A picture for the preview."""
        picture = (255.0 * smoke.clamp(0.0, 1.0)).to(torch.uint8).cpu()
        frames[:] = [picture]
        usual[1] = wind.abs().mean().item()

    @torch.no_grad()
    def step():
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            note(amount.item())
        elif variant == "useless":
            pending.append(frame())
            if turn[0] % LOOK_EVERY == 0:
                for much in torch.stack(pending).tolist():
                    note(much)
                pending.clear()
        else:
            note(frame().item())  # cause: launch
        if turn[0] % LOOK_EVERY == 0:
            show()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
