# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an ultrasound scanner shows how blood flows through the valves of a heart, and how its walls move. A packet is 16
pulses along each of 320 lines, 1024 depths of two 16-bit numbers. What moves slowly is taken out by a wall filter for the blood;
how fast something moves is the phase from pulse to pulse, for two lags, made smooth over neighbours, and how much it spreads is
told beside it.

Wrong: a packet of 21 MB comes from pageable memory, and the GPU waits for it.
fix: the packets lie in pinned memory (copy-bound).
fix2: the next packet is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the array for the packet's numbers in single precision is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=12)
torch = fixable.load_torch()

PULSES, LINES, DEPTHS, PACKETS, LAGS, SLOW, SHOWN = 16, 320, 1024, 6, (1, 2), 3, 25
SMOOTH, MARGIN = (3, 9), (1, 4)


def packets(pinned):
    """Packets on the host: strong walls that move slowly, weak blood that moves fast, and noise."""
    pulse = torch.arange(PULSES, device="cuda").view(PULSES, 1, 1)
    across = torch.linspace(-1.0, 1.0, LINES, device="cuda").view(LINES, 1)
    deep = torch.linspace(0.0, 1.0, DEPTHS, device="cuda")
    for number in range(PACKETS):
        open_ = 0.2 + 0.05 * number
        inside = (across.square() + (2.0 * deep - 1.0).square() < open_).float()
        fast, slow = (0.6 + 0.8 * deep) * inside, 0.05 * torch.cos(3.0 * across + number) + 0.0 * deep
        walls = torch.polar(4000.0 * (1.0 - 0.9 * inside), 6.28 * torch.rand(LINES, DEPTHS, device="cuda"))
        blood = torch.polar(300.0 * inside, 6.28 * torch.rand(LINES, DEPTHS, device="cuda"))
        turned = [torch.polar(torch.ones_like(pulse * phase), pulse * phase) for phase in (slow, fast)]
        echoes = torch.view_as_real(walls * turned[0] + blood * turned[1])
        echoes = echoes + 20.0 * torch.randn(PULSES, LINES, DEPTHS, 2, device="cuda")
        packet = torch.empty(PULSES, LINES, DEPTHS, 2, dtype=torch.int16, pin_memory=pinned)
        yield packet.copy_(echoes.round().to(torch.int16))


def wall_filter():
    """A matrix that takes polynomials of low degree out of the pulses."""
    time = torch.linspace(-1.0, 1.0, PULSES, dtype=torch.float64)
    slow, _ = torch.linalg.qr(torch.stack([time ** degree for degree in range(SLOW)], dim=1))
    return (torch.eye(PULSES, dtype=torch.float64) - slow @ slow.T).to("cuda", torch.complex64)


def make(variant):
    fixable.seed(torch)
    waiting = list(packets(variant == "fix"))
    places = [waiting[0].to("cuda") for _ in range(2 if variant == "fix2" else 1)]
    single = torch.zeros(PULSES, LINES, DEPTHS, 2, device="cuda") if variant == "useless" else None
    maps = torch.zeros(PACKETS, 2, len(LAGS), 2, LINES, DEPTHS, device="cuda")  # of walls and blood: speed and spread for each lag
    keep_fast = wall_filter()
    side = torch.cuda.Stream()
    copied, done = torch.cuda.Event(), [torch.cuda.Event() for _ in places]
    turn, told = [0], []

    def moves(echoes, found):
        """How fast, by lag, and how much that spreads."""
        power = torch.view_as_real(echoes).square().sum(dim=(0, 3)).mul_(1.0 / PULSES)
        for number, lag in enumerate(LAGS):
            alike = (echoes[lag:] * echoes[:-lag].conj()).mean(dim=0)
            parts = torch.stack((alike.real, alike.imag, power))
            right, up, strong = torch.nn.functional.avg_pool2d(parts, SMOOTH, stride=1, padding=MARGIN)
            torch.atan2(up, right, out=found[number, 0]).div_(lag)
            found[number, 1] = 1.0 - torch.hypot(right, up) / (strong + 1.0)

    def shown(packet, found):
        """The maps of a packet."""
        numbers = packet.float() if single is None else single.copy_(packet)
        echoes = torch.view_as_complex(numbers)
        moves(echoes, found[0])
        blood = torch.matmul(keep_fast, echoes.view(PULSES, -1)).view(PULSES, LINES, DEPTHS)
        moves(blood, found[1])

    def copy_ahead(number):
        """The kernels of a packet whose copy is under way, and the copy of the next one behind those that have read its place."""
        here, now = torch.cuda.current_stream(), number % 2
        here.wait_event(copied)
        shown(places[now], maps[number % PACKETS])
        done[now].record(here)
        side.wait_event(done[1 - now])
        with torch.cuda.stream(side):
            places[1 - now].copy_(waiting[(number + 1) % PACKETS], non_blocking=True)
        copied.record(side)

    def step():
        number = turn[0]
        if variant == "fix2":
            copy_ahead(number)
        else:
            places[0].copy_(waiting[number % PACKETS], non_blocking=True)  # cause: wait,copy
            shown(places[0], maps[number % PACKETS])
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(maps[number % PACKETS].abs().mean(dim=(3, 4)).tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: maps.abs().mean(dim=(4, 5)).reshape(-1).tolist())


run.main(make)
