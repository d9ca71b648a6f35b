# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an insulin pump that regulates itself is tried out on 8192 virtual patients with diabetes (Hovorka's model): every
five minutes it reads its sensor and sets the dose; in between, meals and insulin move on by ten small steps of Euler.

Wrong: each of these small steps is some fifty tiny kernels, which the host launches several times slower than they run.
fix: five minutes, with the pump's decision, are one CUDA graph (launch-bound).
fix2: compartments of one kind lie in one tensor, and torch.lerp moves all of them at once: half of the kernels (launch-bound).
useless: how many patients are well is kept on the GPU, and read once an hour, not every five minutes.
"""
import fixable

DAY, HOUR = 288, 12  # in five minutes

run = fixable.Program(__doc__, steps=1152, warm_up=2 * HOUR, multiple=HOUR)
torch = fixable.load_torch()

PATIENTS, TICKS, TICK = 8192, 10, 0.5  # minutes
GUT, SKIN, LOSS, SENSOR, BACK, SPILL = 40.0, 55.0, 0.138, 0.073, 0.066, 0.003  # minutes, and parts in a minute
SPEEDS, EFFECTS = (0.006, 0.06, 0.03), (51e-4, 8.2e-4, 520e-4)  # of insulin: on moving, burning and making sugar
LOW, HIGH, GOAL, MOST = 3.9, 10.0, 6.5, 60.0  # sugar in mmol/l, and the largest dose in mU/min


def patients():
    """What differs between them, and for each five minutes of a day what each one eats and by how much the sensor errs."""
    def some(mean, spread):
        return mean * torch.exp(spread * torch.randn(PATIENTS, device="cuda"))

    weight = some(75.0, 0.15)
    days = torch.zeros(DAY, 2, PATIENTS, device="cuda")
    days[:, 1] = 0.3 * torch.randn(DAY, PATIENTS, device="cuda")
    for hour in (7, 12, 19):
        begin = torch.randint(HOUR * hour - 9, HOUR * hour + 10, (PATIENTS,), device="cuda")
        for later in range(3):
            days[begin + later, 0, torch.arange(PATIENTS, device="cuda")] = some(15.0, 0.4)  # mmol/min
    return weight, torch.stack([some(part, 0.2) for part in SPEEDS]), torch.stack([some(part, 0.3) for part in EFFECTS]), days


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    weight, speeds, effects, days = patients()
    room, water = 0.16 * weight, 0.12 * weight  # litres, of sugar's and of insulin's space
    liver, rest, usual = 0.0161 * weight, 0.0097 * weight, 0.08 * weight  # mmol/min, and the dose between meals
    state = torch.zeros(14, PATIENTS, device="cuda")
    gut, skin, gut_two, skin_two, moving, burning, making, insulin, sugar, stored, sensed, total, before, dose = state
    three = list(zip((moving, burning, making), speeds, effects))
    now, turn, pending, well = days[0].clone(), [0], [], [0.0]

    def begin():
        state.zero_()
        sugar.copy_(7.0 * room)
        stored.copy_(3.0 * room)

    def tick(eaten):
        """Half a minute."""
        level = sugar / room  # cause: launch
        used = rest * (level / 4.5).clamp(max=1.0)  # cause: launch
        spilt = SPILL * (level - 9.0).clamp(min=0.0) * room  # cause: launch
        made = liver * (1.0 - making).clamp(min=0.0)  # cause: launch
        out, back = moving * sugar, BACK * stored  # cause: launch
        change = made + gut_two / GUT + back - out - used - spilt  # cause: launch
        sensed.add_(SENSOR * (level - sensed), alpha=TICK)  # cause: launch
        stored.add_(out - back - burning * stored, alpha=TICK)  # cause: launch
        sugar.add_(change, alpha=TICK)  # cause: launch
        for effect, speed, strength in three:
            effect.add_(speed * (strength * insulin - effect), alpha=TICK)  # cause: launch
        insulin.add_(skin_two / SKIN / water - LOSS * insulin, alpha=TICK)  # cause: launch
        gut_two.add_((gut - gut_two) / GUT, alpha=TICK)  # cause: launch
        skin_two.add_((skin - skin_two) / SKIN, alpha=TICK)  # cause: launch
        gut.add_(eaten - gut / GUT, alpha=TICK)  # cause: launch
        skin.add_(dose - skin / SKIN, alpha=TICK)  # cause: launch

    first, second, acting = state[0:2], state[2:4], state[4:7]
    slow = torch.tensor([[TICK / GUT], [TICK / SKIN]], device="cuda").expand(2, PATIENTS).contiguous()
    quick, thirst, brim, gain = TICK * speeds, rest / (4.5 * room), 9.0 * room, 1.0 / (SKIN * water * LOSS)

    def tick_together(flow):
        change = (1.0 - making).clamp_(min=0.0).mul_(liver)
        change.add_(gut_two, alpha=1.0 / GUT).sub_((sugar - brim).clamp_(min=0.0), alpha=SPILL)
        out = torch.sub(moving * sugar, stored, alpha=BACK)
        change.sub_(out).sub_(torch.minimum(thirst * sugar, rest))
        sensed.lerp_(sugar / room, TICK * SENSOR)
        stored.add_(out.addcmul_(burning, stored, value=-1.0), alpha=TICK)
        sugar.add_(change, alpha=TICK)
        acting.lerp_(effects * insulin, quick)
        insulin.lerp_(gain * skin_two, TICK * LOSS)
        second.lerp_(first, slow)
        first.lerp_(flow, slow)

    def five_minutes(row):
        """The pump's decision, and what comes of it; the share of patients who are well."""
        eaten, error = row
        read = sensed + error  # cause: launch
        total.add_(0.002 * (read - GOAL)).clamp_(-3.0, 3.0)  # cause: launch
        wanted = usual + total + 1.5 * (read - GOAL) + 3.0 * (read - before)  # cause: launch
        dose.copy_((wanted - 0.002 * (skin + skin_two)).clamp(0.0, MOST))  # cause: launch
        before.copy_(read)  # cause: launch
        flow = torch.stack((GUT * eaten, SKIN * dose)) if variant == "fix2" else None
        for _ in range(TICKS):
            if variant == "fix2":
                tick_together(flow)
            else:
                tick(eaten)  # cause: launch
        level = sugar / room  # cause: launch
        return ((level > LOW) & (level < HIGH)).float().mean()  # cause: launch

    if variant == "fix":
        graph, share = fixable.capture(torch, lambda: five_minutes(now))
    begin()

    @torch.no_grad()
    def step():
        row = days[turn[0] % DAY]
        turn[0] += 1
        if variant == "fix":
            now.copy_(row)
            graph.replay()
        pending.append(share if variant == "fix" else five_minutes(row))  # cause: launch
        if len(pending) == (HOUR if variant == "useless" else 1):
            for part in torch.stack(pending).tolist():
                well[0] += 0.01 * (part - well[0])
            pending.clear()

    def values():
        return well + fixable.sample_of(torch, (sugar / room).mean(), insulin.mean())

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
