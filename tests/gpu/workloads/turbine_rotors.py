# SPDX-License-Identifier: Apache-2.0
"""PyTorch: power stations ask a service how far the rotors of 16 turbines swing in their bearings just now, which nobody can see
while they turn: a request has the speed of each rotor and how stiff its oil is, and the service goes on with its twins of the
rotors, 20 discs on a shaft each, for the next 32 moments. The answer is the widest swing in both bearings of each rotor.

Wrong: some 30 short kernels are launched for each moment, 32 times a request, and the GPU waits for the host that launches them.
fix: the moments of a request are one CUDA graph (launch-bound).
fix2: answers are read for 20 requests together (sync-bound).
useless: requests lie in pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=20, multiple=20)
torch, numpy = fixable.load_torch("numpy")

ROTORS, DISCS, MOMENTS, REQUESTS, TOGETHER = 16, 20, 32, 24, 20
BEARINGS = slice(2, 18, 15)  # at the third disc and at the last but two
DT, STIFF, DRAG, SAG, SOFT, WHIRL = 0.02, 40.0, 0.05, 0.03, 0.4, 0.05  # clearances of a bearing, and masses of a disc, are 1


def requests():
    """Speed and oil of each rotor, as turbines go up and down with what is asked of them."""
    random = numpy.random.default_rng(20)
    own = random.uniform(0.8, 1.1, ROTORS)
    for number in range(REQUESTS):
        speed = own * (0.3 + 0.2 * (1.0 - numpy.cos(2.0 * numpy.pi * number / REQUESTS)))
        oil = 2.0 + 0.3 * numpy.sin(2.0 * numpy.pi * number / REQUESTS + own)
        yield torch.from_numpy(numpy.stack((speed, oil), axis=1).astype(numpy.float32))


def shaft():
    """What force comes of bending: (DISCS, DISCS)."""
    bend = torch.zeros(DISCS - 2, DISCS)
    at = torch.arange(DISCS - 2)
    bend[at, at], bend[at, at + 1], bend[at, at + 2] = 1.0, -2.0, 1.0
    return (STIFF * bend.T @ bend).cuda()


def make(variant):
    fixable.seed(torch)
    asked = [r.pin_memory() if variant == "useless" else r for r in requests()]
    stiff = shaft()
    weight = 0.04 * torch.rand(ROTORS, DISCS, device="cuda")  # how far off the middle the mass of each disc is, and where
    phase = 1.5 * torch.rand(ROTORS, DISCS, device="cuda")
    gravity = torch.tensor([0.0, -SAG], device="cuda")
    place, pace = torch.zeros(ROTORS, DISCS, 2, device="cuda"), torch.zeros(ROTORS, DISCS, 2, device="cuda")
    angle, widest = torch.zeros(ROTORS, 1, device="cuda"), torch.zeros(ROTORS, 2, 1, device="cuda")
    given = torch.zeros(ROTORS, 2, device="cuda")
    speed, oil = given[:, :1], given[:, 1:].unsqueeze(2)
    turn, kept, usual = [0], [], [0.0, 0.0]

    def moment():
        angle.add_(speed, alpha=DT)  # cause: launch
        turned = angle + phase  # cause: launch
        force = torch.stack((turned.cos(), turned.sin()), dim=2)  # cause: launch
        force = force * (weight * speed.square()).unsqueeze(2)  # cause: launch
        force.sub_(torch.matmul(stiff, place)).sub_(pace, alpha=DRAG).add_(gravity)  # cause: launch
        at, going = place[:, BEARINGS], pace[:, BEARINGS]
        off = at.square().sum(dim=2, keepdim=True)  # cause: launch
        film = oil / (1.0 - off).clamp(min=0.1)  # cause: launch
        across = torch.stack((-at[:, :, 1], at[:, :, 0]), dim=2)  # cause: launch
        force[:, BEARINGS].sub_(film * (at + SOFT * going) - WHIRL * across)  # cause: launch
        pace.add_(force, alpha=DT)  # cause: launch
        place.add_(pace, alpha=DT)  # cause: launch
        torch.maximum(widest, off, out=widest)  # cause: launch

    def ahead():
        """All moments of a request; (ROTORS, 2)."""
        widest.zero_()  # cause: launch
        for _ in range(MOMENTS):
            moment()  # cause: launch
        return widest.sqrt().view(ROTORS, 2)  # cause: launch

    if variant == "fix":
        given.copy_(asked[0])
        graph, swings = fixable.capture(torch, ahead)
        for state in (place, pace, angle, widest):
            state.zero_()

    def answer(request):
        given.copy_(request, non_blocking=True)
        if variant == "fix":
            graph.replay()
            return swings
        return ahead()  # cause: launch

    def note(rows):
        """What the stations see of an answer: the mean of the swings, and the widest one."""
        usual[0] += 0.02 * (sum(map(sum, rows)) / (2 * ROTORS) - usual[0])
        usual[1] += 0.02 * (max(map(max, rows)) - usual[1])

    def read():
        if kept:
            for rows in torch.stack(kept).tolist():
                note(rows)
            kept.clear()

    def step():
        found = answer(asked[turn[0] % REQUESTS])  # cause: launch
        turn[0] += 1
        if variant != "fix2":
            note(found.tolist())
            return
        kept.append(found)
        if len(kept) == TOGETHER:
            read()

    def wait():
        read()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
