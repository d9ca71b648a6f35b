# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a drone has flown over fields, and one map is made of its photos, of 12 million pixels each. The lens, which is darker
in its corners, is made even; the photo is laid flat by where the drone was and how it was tilted, and it is added to the map by
weights: more in the middle of a photo than at its edge, and more where it is sharp. A step is a photo.

Wrong: each photo of 36 MB goes from pageable memory, and the GPU waits for it.
fix: the photos lie in pinned memory (copy-bound).
fix2: the next photo is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the array of the photo as floats is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
torch, functional = fixable.load_torch("torch.nn.functional")

PHOTOS, ROWS, HIGH, WIDE, FLAT_HIGH, FLAT_WIDE, SHIFT, AROUND, READ = 12, 3, 3000, 4000, 2400, 3200, 900, 9, 20
DARKER, LEAST, TILT = 0.45, 0.05, 0.06  # of the corners; the weight of what is not sharp; of the drone


def places_of_flight():
    """Where each photo lies in the map, and the eight numbers that lay it flat."""
    for number in range(PHOTOS):
        top, left = SHIFT * (number % ROWS), SHIFT * (number // ROWS)
        tilt = TILT * ((number * 7) % 5 - 2) / 2.0
        turned = 0.02 * ((number * 3) % 7 - 3)
        yield top, left, (0.85, turned, 0.02 * tilt, -turned, 0.85, -0.03 * tilt, 0.5 * tilt, -0.3 * tilt)


def shots(pinned):
    """The photos in memory of the host, (HIGH, WIDE, 3) of bytes: fields, the grain of the soil, and more or less light."""
    for number in range(PHOTOS):
        coarse = torch.rand(1, 3, 45, 60, device="cuda")
        ground = functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        grain = 0.1 * torch.rand(HIGH, WIDE, device="cuda")
        seen = (200.0 + 4.0 * (number % 5)) * (ground + grain) / (1.1 * lens())
        photo = torch.empty(HIGH, WIDE, 3, dtype=torch.uint8, pin_memory=pinned)
        photo.copy_(seen.clamp_(0.0, 255.0).permute(1, 2, 0).to(torch.uint8))
        yield photo


def lens():
    """What makes the lens even, (HIGH, WIDE)."""
    down = torch.linspace(-1.0, 1.0, HIGH, device="cuda")[:, None]
    right = torch.linspace(-1.0, 1.0, WIDE, device="cuda")
    return 1.0 + DARKER * (0.5 * (down.square() + right.square())).square()


def make(variant):
    fixable.seed(torch)
    flight, photos = list(places_of_flight()), list(shots(variant == "fix"))
    places = [torch.zeros(HIGH, WIDE, 3, dtype=torch.uint8, device="cuda") for _ in range(2 if variant == "fix2" else 1)]
    kept = torch.zeros(3, HIGH, WIDE, device="cuda") if variant == "useless" else None
    even = lens() / 255.0
    down = torch.linspace(-1.0, 1.0, FLAT_HIGH, device="cuda")[:, None]
    right = torch.linspace(-1.0, 1.0, FLAT_WIDE, device="cuda")
    middle = (1.0 - down.abs()) * (1.0 - right.abs()) + 0.01
    across, along = SHIFT * (ROWS - 1) + FLAT_HIGH, SHIFT * (PHOTOS // ROWS - 1) + FLAT_WIDE
    chart, weights = torch.zeros(3, across, along, device="cuda"), torch.zeros(across, along, device="cuda")
    usual = torch.zeros((), device="cuda")
    here, ahead = torch.cuda.current_stream(), torch.cuda.Stream()
    arrived, free = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
    turn, told = [0], [0.0]

    def add(place, top, left, pose):
        """Lays a photo flat, and adds it to the map."""
        picture = torch.empty(3, HIGH, WIDE, device="cuda") if kept is None else kept
        picture.copy_(place.permute(2, 0, 1)).mul_(even)
        a, b, c, d, e, f, p, q = pose
        far = (1.0 + p * right) + q * down
        where = torch.stack(((a * right + (b * down + c)) / far, (d * right + (e * down + f)) / far), dim=-1)
        flat = functional.grid_sample(picture[None], where[None], padding_mode="border", align_corners=False)[0]
        grey = flat.mean(dim=0)
        sharp = (grey - functional.avg_pool2d(grey[None, None], AROUND, 1, AROUND // 2)[0, 0]).abs_()
        weight = middle * (sharp + LEAST)
        chart[:, top:top + FLAT_HIGH, left:left + FLAT_WIDE] += flat * weight
        weights[top:top + FLAT_HIGH, left:left + FLAT_WIDE] += weight
        usual.lerp_(sharp.mean(), 0.05)

    def bring(number):
        """Copies a photo on the other stream, behind the kernels that have read its place."""
        ahead.wait_event(free[number % 2])
        with torch.cuda.stream(ahead):
            places[number % 2].copy_(photos[number % PHOTOS], non_blocking=True)
        arrived[number % 2].record(ahead)

    if variant == "fix2":
        torch.cuda.synchronize()
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            here.wait_event(arrived[number % 2])
            add(places[number % 2], *flight[number % PHOTOS])
            free[number % 2].record(here)
            bring(number + 1)
        else:
            places[0].copy_(photos[number % PHOTOS], non_blocking=True)  # cause: wait,copy
            add(places[0], *flight[number % PHOTOS])
        turn[0] += 1
        if turn[0] % READ == 0:
            told[0] = usual.item()

    def values():
        """The map, once in 400 pixels."""
        return (chart / weights.clamp(min=1e-6))[:, ::400, ::400].reshape(-1).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
