# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a robot follows its own way by a stereo camera: for each picture, 1.6 million points of the one before are moved until
they meet their brightness again (dense visual odometry), by the method of Gauss and Newton with six unknowns. A robot
that went straight on until now is believed to do so again.

Wrong: torch.linalg.solve looks on the host whether the matrix was singular, and the error is read in each round to stop where it
is tiny; the GPU rests while the host launches the eighty tiny kernels behind that, of the exponential map and the logarithm.
fix: torch.linalg.solve_ex, and the errors are read once every 20 pictures (sync-bound).
fix2: what is between two waits is a CUDA graph: the sums over the points, and the new pose; both are waited for (launch-bound).
useless: the six columns of the slope are put together in a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=440, warm_up=20, multiple=20)
torch = fixable.load_torch()
F = torch.nn.functional

HEIGHT, WIDTH, CHUNKS, EACH, ROUNDS, SETS, LOOK_EVERY = 960, 1280, 256, 6144, 6, 5, 20
FOCUS, HUBER, FIRM, ENOUGH = 900.0, 0.03, 1e-3, 1e-9
POINTS = CHUNKS * EACH


def scenery(count):
    """Pictures of a textured landscape, each of which is a bit further on, with their slopes: (1, 3, HEIGHT, WIDTH)."""
    y, x = torch.meshgrid(torch.arange(HEIGHT, device="cuda").float(), torch.arange(WIDTH, device="cuda").float(), indexing="ij")
    for number in range(count):
        moved, turned = x + 3.0 * number, y - 1.5 * number
        light = 0.5 + 0.2 * torch.sin(moved / 37.0) * torch.cos(turned / 29.0) + 0.15 * torch.sin((moved + 2.0 * turned) / 61.0)
        across = F.pad(light[:, 2:] - light[:, :-2], (1, 1)) / 2.0
        along = F.pad(light[2:] - light[:-2], (0, 0, 1, 1)) / 2.0
        yield torch.stack((light, across, along)).unsqueeze(0)


def hat(v):
    """The matrix of the cross product with v."""
    zero = torch.zeros_like(v[0])
    return torch.stack((zero, -v[2], v[1], v[2], zero, -v[0], -v[1], v[0], zero)).view(3, 3)


def exponential(change):
    """The motion, 4 x 4, that a turn and a shift by `change` make, as the textbook has it."""
    shift, turn = change[:3], change[3:]
    angle = turn.square().sum().clamp(min=1e-12).sqrt()
    cross = hat(turn)
    twice = cross @ cross
    first = torch.sin(angle) / angle
    second = (1.0 - torch.cos(angle)) / angle.square()
    third = (angle - torch.sin(angle)) / angle.pow(3)
    unit = torch.eye(3, device="cuda")
    rotation = unit + first * cross + second * twice
    moved = (unit + second * cross + third * twice) @ shift
    last = torch.zeros(1, 4, device="cuda")
    last[0, 3:].fill_(1.0)
    return torch.cat((torch.cat((rotation, moved.unsqueeze(1)), dim=1), last))


def logarithm(motion):
    """What exponential() would make this motion of."""
    rotation = motion[:3, :3]
    skew = (rotation - rotation.t()) / 2.0
    axis = torch.stack((skew[2, 1], skew[0, 2], skew[1, 0]))
    sine = axis.square().sum().clamp(min=1e-12).sqrt()
    angle = torch.atan2(sine, (rotation.trace() - 1.0) / 2.0)
    turn = axis * (angle / sine)
    wide = angle.clamp(min=1e-2)
    last = wide.square().reciprocal() - (1.0 + torch.cos(wide)) / (2.0 * wide * torch.sin(wide))
    cross = hat(turn)
    back = torch.eye(3, device="cuda") - 0.5 * cross + last * (cross @ cross)
    return torch.cat((back @ motion[:3, 3], turn))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    pictures = list(scenery(SETS))
    seen_at = torch.rand(2, POINTS, device="cuda") * torch.tensor([[WIDTH - 81.0], [HEIGHT - 81.0]], device="cuda") + 40.0
    middle = torch.tensor([[(WIDTH - 1) / 2.0], [(HEIGHT - 1) / 2.0]], device="cuda")
    far = 4.0 + 3.0 * torch.rand(POINTS, device="cuda")
    points = torch.cat(((seen_at - middle) / FOCUS * far, far.unsqueeze(0), torch.ones(1, POINTS, device="cuda")))
    lights = [F.grid_sample(p[:, :1], ((seen_at - middle) / middle).t().view(1, 1, POINTS, 2), align_corners=True).view(-1)
              for p in pictures]
    pose, straight = torch.eye(4, device="cuda"), torch.eye(4, device="cuda")
    gone, speed = torch.zeros(6, device="cuda"), torch.zeros(6, device="cuda")
    picture, light = pictures[0].clone(), lights[0].clone()
    firm = FIRM * torch.eye(6, device="cuda")
    columns = torch.empty(6, POINTS, device="cuda") if variant == "useless" else None
    turn, errors, way, told = [0], [], [], []

    def sums():
        """The matrix and the right side of the six equations, and the error."""
        there = pose[:3] @ points
        nearness = there[2].reciprocal()
        flat = there[:2] * nearness
        grid = (flat * FOCUS / middle).t().view(1, 1, POINTS, 2)
        found = F.grid_sample(picture, grid, align_corners=True).view(3, POINTS)
        off = found[0] - light
        weight = HUBER / off.abs().clamp(min=HUBER)
        slope = found[1:] * FOCUS
        pulled = slope * nearness
        along = (slope * flat).sum(dim=0)
        rows = torch.stack((pulled[0], pulled[1], -along * nearness, -slope[1] - along * flat[1], slope[0] + along * flat[0],
                            slope[1] * flat[0] - slope[0] * flat[1]), out=columns)
        weighed = (rows * weight).view(6, CHUNKS, EACH).transpose(0, 1)
        matrix = (weighed @ rows.view(6, CHUNKS, EACH).permute(1, 2, 0)).sum(dim=0)
        right = (weighed @ off.view(CHUNKS, EACH, 1)).sum(dim=0)
        right = right.view(6) / POINTS + FIRM * (gone - speed)
        return matrix / POINTS + firm, right, (weight * off.square()).mean()

    def moved(change):
        """Goes on by a change of the pose, whose rotation stays one to the last bit."""
        new = exponential(change) @ pose
        one = new[0, :3] / new[0, :3].norm()
        two = new[1, :3] - (one @ new[1, :3]) * one
        two = two / two.norm()
        three = torch.linalg.cross(one, two)
        pose[:3, :3].copy_(torch.stack((one, two, three)))
        pose[:3, 3].copy_(new[:3, 3])
        gone.copy_(logarithm(pose))

    if variant == "fix2":
        place = torch.zeros(6, device="cuda")
        summing, summed = fixable.capture(torch, sums)
        moving, _ = fixable.capture(torch, lambda: moved(place))

    def track():
        """Six rounds for one picture."""
        for _ in range(ROUNDS):
            if variant == "fix2":
                summing.replay()
                matrix, right, error = summed
            else:
                matrix, right, error = sums()
            if variant == "fix":
                change = torch.linalg.solve_ex(matrix, -right)[0]
            else:
                change = torch.linalg.solve(matrix, -right)  # cause: wait,copy
            if variant == "fix":
                way.append(error)
            else:
                now = error.item()  # cause: wait,copy
                way.append(now)
                if now < ENOUGH:
                    break
            if variant == "fix2":
                place.copy_(change)
                moving.replay()
            else:
                moved(change)

    @torch.no_grad()
    def step():
        number = turn[0] % (2 * SETS - 2)  # forth and back
        at, to = (number, number + 1) if number < SETS - 1 else (2 * SETS - 2 - number, 2 * SETS - 3 - number)
        turn[0] += 1
        picture.copy_(pictures[to])
        light.copy_(lights[at])
        pose.copy_(straight)
        gone.zero_()
        track()
        speed.lerp_(gone, 0.2)
        if turn[0] % LOOK_EVERY == 0:
            errors[:] = torch.stack(way).tolist() if variant == "fix" else way
            way.clear()
            told[:] = pose.reshape(-1).tolist() + speed.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: told + errors[-ROUNDS:])


run.main(make)
