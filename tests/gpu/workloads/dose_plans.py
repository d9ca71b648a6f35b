# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a hospital plans how a tumour is to be irradiated: from twelve sides, by 112 thin beams each, whose strengths are
found by going down the gradient of what is wrong with the dose: too much or too little of it in the tumour, too much of it in
the spinal cord, the lungs and all else. Each step is a plan for one patient, in thirty iterations.

Wrong: three numbers of each iteration are read by .item(), to see whether it is good enough, whether it still gets better, and
how far to go; the GPU has nothing to do then.
fix: the numbers stay on the device, where the way to go is multiplied by one of them; all are read behind the last iteration
(sync-bound).
fix2: what is between two reads is a CUDA graph, the reads stay (launch-bound).
useless: the doses and the gradient go to arrays that are made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10)
torch = fixable.load_torch()

HIGH, WIDE, VOXEL, SIDES, BEAMS, BEAM, PATIENTS, ITERATIONS = 160, 192, 1.5, 12, 112, 2.5, 4, 30  # lengths in mm
ENOUGH, TINY, BLUR, LOST, USUAL = 1e-6, 1e-9, 3.0, 0.005, 30.0  # USUAL: Gray in the middle from beams of strength one


def places():
    """Where each voxel of a slice of the body is, (HIGH * WIDE,) each."""
    down = (torch.arange(HIGH, device="cuda") - 0.5 * (HIGH - 1)) * VOXEL
    right = (torch.arange(WIDE, device="cuda") - 0.5 * (WIDE - 1)) * VOXEL
    down, right = torch.meshgrid(down, right, indexing="ij")
    return down.reshape(-1), right.reshape(-1)


def deposits(down, right):
    """The dose that each beam of strength one leaves in each voxel, (HIGH * WIDE, SIDES * BEAMS)."""
    angle = torch.arange(SIDES, device="cuda") * (2.0 * math.pi / SIDES)
    beside = right[:, None] * torch.cos(angle) + down[:, None] * torch.sin(angle)
    depth = down[:, None] * torch.cos(angle) - right[:, None] * torch.sin(angle)
    middle = (torch.arange(BEAMS, device="cuda") - 0.5 * (BEAMS - 1)) * BEAM
    dose = torch.exp(-0.5 * ((beside[:, :, None] - middle) / BLUR) ** 2) * torch.exp(-LOST * depth)[:, :, None]
    dose = dose.reshape(HIGH * WIDE, SIDES * BEAMS)
    return dose * (USUAL / dose.sum(dim=1).mean())


def patient(number, down, right):
    """For each voxel: the dose it shall have, how much less of it matters, and how much it weighs; and the tumour's share."""
    def disc(at_down, at_right, radius):
        return (down - at_down) ** 2 + (right - at_right) ** 2 < radius ** 2
    tumour = disc(-12.0 + 8.0 * number, 10.0 - 9.0 * number, 22.0 + 2.0 * number)
    cord = disc(75.0, 0.0, 9.0)
    lungs = disc(0.0, -85.0, 42.0) | disc(0.0, 85.0, 42.0)
    aims, weights = torch.full_like(down, 25.0), torch.full_like(down, 0.1)
    for part, aim, weight in ((lungs, 12.0, 0.4), (cord, 20.0, 3.0), (tumour, 60.0, 2.0)):
        aims[part], weights[part] = aim, weight
    floors = tumour.float() * -1e6  # too little is wrong only in the tumour
    return aims, floors, weights / weights.sum(), tumour.float() / tumour.sum()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    down, right = places()
    deposit = deposits(down, right)
    turned = deposit.t().contiguous()  # both ways, since rows are gone through faster
    patients = [patient(number, down, right) for number in range(PATIENTS)]
    held = [torch.empty_like(down), torch.empty(SIDES * BEAMS, device="cuda")] if variant == "useless" else [None, None]
    turn, kept = [0], [[0.0, 0.0] for _ in range(PATIENTS)]

    def dose_of(beams):
        return torch.mv(deposit, beams, out=held[0]) if variant == "useless" else torch.mv(deposit, beams)

    def wrong_with(dose, aims, floors, weights):
        """What is wrong with a dose, its weighted part, and how each beam should change."""
        excess = torch.maximum(dose - aims, floors)
        pull = weights * excess
        slope = torch.mv(turned, pull, out=held[1]) if variant == "useless" else torch.mv(turned, pull)
        return torch.dot(pull, excess), slope

    def bend_of(way, weights):
        bent = dose_of(way)
        return torch.dot(weights * bent, bent)

    def read_each(aims, floors, weights, share):
        beams, costs = torch.ones(SIDES * BEAMS, device="cuda"), []
        for _ in range(ITERATIONS):
            cost, slope = wrong_with(dose_of(beams), aims, floors, weights)
            costs.append(cost.item())  # cause: wait,copy
            if costs[-1] < ENOUGH:
                break
            way = beams * slope
            if torch.linalg.vector_norm(way).item() < TINY:  # cause: wait,copy
                break
            far = (torch.dot(way, slope) / bend_of(way, weights)).item()  # cause: wait,copy
            beams = torch.sub(beams, way, alpha=far).clamp_(min=0.0)
        return costs[-1], torch.dot(dose_of(beams), share).item()  # cause: wait,copy

    def read_once(aims, floors, weights, share):
        beams, costs, sizes = torch.ones(SIDES * BEAMS, device="cuda"), [], []
        for _ in range(ITERATIONS):
            cost, slope = wrong_with(dose_of(beams), aims, floors, weights)
            costs.append(cost)
            way = beams * slope
            sizes.append(torch.linalg.vector_norm(way))
            far = torch.dot(way, slope) / bend_of(way, weights)
            beams = torch.addcmul(beams, way, far, value=-1.0).clamp_(min=0.0)
        numbers = torch.stack(costs + sizes + [torch.dot(dose_of(beams), share)]).tolist()
        return numbers[ITERATIONS - 1], numbers[-1]

    class Graphs:
        """What is between two reads of read_each, as graphs, for one patient."""

        def __init__(self, aims, floors, weights, share):
            self.beams, self.way = torch.ones(SIDES * BEAMS, device="cuda"), torch.zeros(SIDES * BEAMS, device="cuda")
            self.far, self.share = torch.zeros((), device="cuda"), share

            def go_and_look():
                self.go()
                return wrong_with(dose_of(self.beams), aims, floors, weights)

            def way_and_size():
                return torch.linalg.vector_norm(torch.mul(self.beams, self.slope, out=self.way))

            def how_far():
                torch.div(torch.dot(self.way, self.slope), bend_of(self.way, weights), out=self.far)

            self.look, (self.cost, self.slope) = fixable.capture(torch, go_and_look)
            self.turn, self.size = fixable.capture(torch, way_and_size)
            self.measure, _ = fixable.capture(torch, how_far)

        def go(self):
            torch.addcmul(self.beams, self.way, self.far, value=-1.0, out=self.beams).clamp_(min=0.0)

        def plan(self):
            self.beams.fill_(1.0)
            self.way.zero_()
            self.far.zero_()
            for _ in range(ITERATIONS):
                self.look.replay()
                cost = self.cost.item()
                if cost < ENOUGH:
                    break
                self.turn.replay()
                if self.size.item() < TINY:
                    break
                self.measure.replay()
                self.far.item()
            self.go()
            return cost, torch.dot(dose_of(self.beams), self.share).item()

    graphs = [Graphs(*each) for each in patients] if variant == "fix2" else None
    plan = read_once if variant == "fix" else read_each

    def step():
        number = turn[0] % PATIENTS
        turn[0] += 1
        with torch.no_grad():
            kept[number][:] = graphs[number].plan() if graphs else plan(*patients[number])  # cause: wait,copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: [x for numbers in kept for x in numbers])


run.main(make)
