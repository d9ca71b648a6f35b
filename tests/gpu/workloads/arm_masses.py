# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a robot's arm has seven joints, and its maker does not tell how heavy its links are. It is moved about, and for 4096
moments at a time the torques that its motors should need (the recursion of Newton and Euler, from link to link) are compared with
those that were measured; Adam changes masses, their middles, inertias and frictions of the links until both agree.

Wrong: the links are gone through one by one, outward and back, and again for the slopes: hundreds of short kernels.
fix: what is learnt from 4096 moments is one CUDA graph (launch-bound).
useless: the loss is looked at every 200 steps instead of every 50.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch = fixable.load_torch()
nn, cross = torch.nn, torch.linalg.cross

JOINTS, MOMENTS, SETS, EARTH, NOISE, LOOK_EVERY, LOOK_SELDOM = 7, 4096, 16, 9.81, 0.05, 50, 200
QUARTERS = (0, 1, -1, 1, -1, 1, -1)  # how each joint is turned to the one before it


def inward(turn, vector):
    """A vector of the link before, as the next link sees it."""
    return (turn * vector.unsqueeze(2)).sum(dim=1)  # cause: launch


def outward(turn, vector):
    return (turn * vector.unsqueeze(1)).sum(dim=2)  # cause: launch


class Arm(nn.Module):
    def __init__(self, masses, centres, inertias, friction):
        super().__init__()
        self.masses, self.inertias = nn.Parameter(masses.log()), nn.Parameter(inertias.log())
        self.centres, self.friction = nn.Parameter(centres), nn.Parameter(friction)
        quarters = torch.tensor(QUARTERS, device="cuda", dtype=torch.float32)
        self.register_buffer("sine", quarters)
        self.register_buffer("cosine", 1.0 - quarters.abs())
        reach = torch.tensor([[0.0, -0.3 * quarter, 0.3 * (not quarter)] for quarter in QUARTERS], device="cuda")
        self.register_buffer("reach", reach)
        self.register_buffer("axis", torch.tensor([0.0, 0.0, 1.0], device="cuda"))

    def turns(self, angles):
        """How each link lies to the one before it: JOINTS of (MOMENTS, 3, 3)."""
        c, s = angles.cos(), angles.sin()
        rows = (c, -s, torch.zeros_like(c),
                s * self.cosine, c * self.cosine, -self.sine.expand_as(c),
                s * self.sine, c * self.sine, self.cosine.expand_as(c))
        return torch.stack(rows, dim=2).view(-1, JOINTS, 3, 3).unbind(1)

    def forward(self, angles, speeds, changes):
        """The torques of all joints, from their angles and how these change: (MOMENTS, JOINTS)."""
        turns, masses, inertias = self.turns(angles), self.masses.exp(), self.inertias.exp()
        pull = (EARTH * self.axis).expand(len(angles), 3)
        spin, faster = torch.zeros_like(pull), torch.zeros_like(pull)
        forces, moments = [], []
        for joint, turn in enumerate(turns):
            at, centre = self.reach[joint].expand_as(spin), self.centres[joint].expand_as(spin)  # cause: launch
            pull = inward(turn, pull + cross(faster, at) + cross(spin, cross(spin, at)))  # cause: launch
            spin, own = inward(turn, spin), self.axis * speeds[:, joint:joint + 1]  # cause: launch
            faster = inward(turn, faster) + cross(spin, own) + self.axis * changes[:, joint:joint + 1]  # cause: launch
            spin = spin + own  # cause: launch
            there = pull + cross(faster, centre) + cross(spin, cross(spin, centre))  # cause: launch
            forces.append(masses[joint] * there)  # cause: launch
            moments.append(inertias[joint] * faster + cross(spin, inertias[joint] * spin))  # cause: launch
        torques, force, moment = [], None, None
        for joint in range(JOINTS - 1, -1, -1):
            own = moments[joint] + cross(self.centres[joint].expand_as(spin), forces[joint])  # cause: launch
            if force is None:
                force, moment = forces[joint], own
            else:
                beyond, at = outward(turns[joint + 1], force), self.reach[joint + 1].expand_as(spin)  # cause: launch
                moment = own + outward(turns[joint + 1], moment) + cross(at, beyond)  # cause: launch
                force = forces[joint] + beyond  # cause: launch
            torques.append(moment[:, 2] + self.friction[joint] * speeds[:, joint])  # cause: launch
        return torch.stack(torques[::-1], dim=1)


def some_arm(off):
    """The arm as it is (off=0), or as it is thought to be before it is measured."""
    masses = torch.linspace(4.0, 1.0, JOINTS, device="cuda")
    centres = 0.08 * torch.randn(JOINTS, 3, device="cuda")
    inertias = 0.02 + 0.03 * torch.rand(JOINTS, 3, device="cuda")
    friction = torch.linspace(0.8, 0.2, JOINTS, device="cuda")
    if off:
        masses, centres = masses * 1.3, torch.zeros_like(centres)
        inertias, friction = torch.full_like(inertias, 0.05), torch.zeros_like(friction)
    return Arm(masses, centres, inertias, friction)


@torch.no_grad()
def measured():
    """Angles, speeds, their changes and torques of the arm as it was moved about: SETS of (4, MOMENTS, JOINTS)."""
    arm, records = some_arm(0), []
    time = torch.arange(MOMENTS, device="cuda").view(-1, 1) * 0.005
    for _ in range(SETS):
        far, often, begin = torch.rand(3, 1, JOINTS, device="cuda")
        often, at = 1.0 + 2.0 * often, 6.28 * begin + (1.0 + 2.0 * often) * time
        far = 0.4 + far
        moved = (far * at.sin(), far * often * at.cos(), -far * often.square() * at.sin())
        torques = arm(*moved)
        torques = torques + NOISE * torques.std(dim=0) * torch.randn_like(torques)
        records.append(torch.stack((*moved, torques)))
    return records


def make(variant):
    fixable.seed(torch)
    records, arm = measured(), some_arm(1)
    strong = torch.stack([record[3].std(dim=0) for record in records]).mean(dim=0)
    weights = list(arm.parameters())
    adam = torch.optim.Adam(weights, lr=0.01, eps=1e-6, capturable=variant == "fix")
    look_every = LOOK_SELDOM if variant == "useless" else LOOK_EVERY
    turn, seen = [0], []

    def loss_of(record):
        return ((arm(record[0], record[1], record[2]) - record[3]) / strong).square().mean()  # cause: launch

    def learn(record):
        loss = loss_of(record)  # cause: launch
        loss.backward()  # cause: launch
        adam.step()  # cause: launch
        return loss.detach()

    if variant == "fix":
        place, begin = records[0].clone(), [weight.detach().clone() for weight in weights]
        graph, loss_there = fixable.capture(torch, lambda: learn(place), adam.zero_grad)
        with torch.no_grad():  # as if nothing had been learnt yet
            for weight, first in zip(weights, begin):
                weight.copy_(first)
                for part in adam.state[weight].values():
                    part.zero_()

    def learnt(record):
        if variant == "fix":
            place.copy_(record)
            graph.replay()
            return loss_there
        adam.zero_grad()
        return learn(record)  # cause: launch

    def step():
        loss = learnt(records[turn[0] % SETS])  # cause: launch
        turn[0] += 1
        if turn[0] % look_every == 0:
            seen.append(loss.item())

    @torch.no_grad()
    def values():
        """How strong each motor must be by what is known now, and how far off that is."""
        torques = arm(*records[0][:3])
        off = torch.stack([loss_of(record) for record in records]).mean().sqrt()
        return torques.square().mean(dim=0).sqrt().tolist() + [off.item()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
