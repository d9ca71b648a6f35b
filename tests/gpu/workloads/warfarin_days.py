# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how much of a blood thinner is in the organs of 8192 patients, hour by hour, and how well their blood still clots. The
drug goes from the gut to the blood, from there to six organs and back; the liver breaks it down (Michaelis and Menten) and the
kidneys let it go. An hour is two steps of Runge and Kutta (fourth order); each patient takes a dose a day.

Wrong: each flow of each organ is an operation of its own on 8192 numbers; an hour is some 490 short kernels, and the GPU waits
for the next one to be launched.
fix: an hour is launched as one CUDA graph (launch-bound).
useless: the numbers for the doctor, read every 50 hours, come to pinned memory.
"""
import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=900, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()

PATIENTS, HOURS, INNER = 8192, 24, 2
PACE = 1.0 / INNER  # hours
BLOOD = 3.0  # litres
ORGANS = {  # litres an hour that go over, litres, how much more of the drug there is than in blood
    "liver": (1.0, 1.8, 2.0), "muscle": (0.8, 28.0, 0.4), "fat": (0.3, 15.0, 0.8), "kidney": (0.6, 0.3, 2.5),
    "skin": (0.4, 4.0, 0.7), "brain": (0.2, 1.4, 0.3)}
HALF_BROKEN, LET_GO, HALF_CLOTTED, DOSE = 1.2, 0.01, 0.35, 4.0  # mg a litre, an hour, mg a litre, mg


def people():
    """What differs between patients: how fast the gut gives, how permeable organs are, what the liver can do, how fast
    clotting factors are made anew; and the doses of each hour of the day."""
    def spread(middle, width):
        return middle * torch.exp(width * torch.randn(PATIENTS, device="cuda").clamp(-2.0, 2.0))
    doses = torch.zeros(HOURS, PATIENTS, device="cuda")
    hour = torch.randint(6, 11, (PATIENTS,), device="cuda")
    doses[hour, torch.arange(PATIENTS, device="cuda")] = spread(DOSE, 0.2)
    return spread(0.8, 0.2), spread(1.0, 0.2), spread(0.5, 0.3), spread(0.03, 0.2), doses


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    absorbs, permeable, breaks, renews, doses = people()
    names = list(ORGANS)
    body = [torch.zeros(PATIENTS, device="cuda") for _ in range(2 + len(names))]  # gut, blood, organs: mg
    body.append(torch.ones(PATIENTS, device="cuda"))  # clotting factors, 1 in healthy people
    taken, usual = torch.zeros(PATIENTS, device="cuda"), torch.zeros(4, device="cuda")
    landing = torch.zeros(4, pin_memory=True) if variant == "useless" else None
    turn, told = [0], []

    def slopes(now):
        """How fast each part of the state changes."""
        gut, blood, clotting = now[0], now[1], now[-1]
        given = absorbs * gut  # cause: launch
        thick = blood / BLOOD  # cause: launch
        to_blood, changes = given, []
        for name, there in zip(names, now[2:-1]):
            goes, litres, likes = ORGANS[name]
            over = goes * permeable * (thick - there / (litres * likes))  # cause: launch
            to_blood = to_blood - over  # cause: launch
            if name == "liver":
                inside = there / litres  # cause: launch
                over = over - breaks * inside / (HALF_BROKEN + inside)  # cause: launch
            elif name == "kidney":
                over = over - LET_GO * there  # cause: launch
            changes.append(over)
        made = HALF_CLOTTED / (HALF_CLOTTED + thick)  # cause: launch
        return [-given, to_blood, *changes, renews * (made - clotting)]  # cause: launch

    def ahead(changes, hours):
        return [torch.add(part, change, alpha=hours) for part, change in zip(body, changes)]  # cause: launch

    def hour():
        """An hour of all patients, in place."""
        body[0].add_(taken)  # cause: launch
        for _ in range(INNER):
            first = slopes(body)  # cause: launch
            second = slopes(ahead(first, 0.5 * PACE))  # cause: launch
            third = slopes(ahead(second, 0.5 * PACE))  # cause: launch
            fourth = slopes(ahead(third, PACE))  # cause: launch
            for part, one, two, three, four in zip(body, first, second, third, fourth):
                part.add_(one, alpha=PACE / 6.0).add_(two, alpha=PACE / 3.0)  # cause: launch
                part.add_(three, alpha=PACE / 3.0).add_(four, alpha=PACE / 6.0)  # cause: launch
        means = torch.stack((body[1].mean(), body[2].mean(), body[4].mean(), body[-1].mean()))  # cause: launch
        usual.lerp_(means, 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, hour)
    else:
        for _ in range(3):  # as many hours as before a graph is made
            hour()

    def look():
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.tolist()
        return usual.tolist()

    @torch.no_grad()
    def step():
        taken.copy_(doses[turn[0] % HOURS])
        turn[0] += 1
        if variant == "fix":
            graph.replay()
        else:
            hour()  # cause: launch
        if turn[0] % LOOK_EVERY == 0:
            told[:] = look()

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
