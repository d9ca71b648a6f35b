# SPDX-License-Identifier: Apache-2.0
"""PyTorch: gliders without an engine learn to stay up: warm air rises here and there over the land (thermals), and a small
network banks the glider by what it feels, to circle where the air rises. By evolution: 64 networks that differ a bit are tried
in 64 flights each, all at once, for 40 ticks of half a second; what each has gained in height decides which ones have heirs.

Wrong: a tick launches some 80 kernels one by one, each of a few microseconds; then the host asks whether any glider has landed.
fix: those that have landed start again by a mask at each tick, and the host does not ask (sync-bound).
fix2: the flight of a tick is one CUDA graph; the host asks as before (launch-bound).
useless: what the networks have gained comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
torch = fixable.load_torch()

NETWORKS, FLIGHTS, TICKS, FELT, HIDDEN, THERMALS, SETS = 64, 64, 40, 4, 48, 24, 4
TICK, SPEED, GRAVITY, SINK, WING, ROLL, STEEPEST = 0.5, 18.0, 9.81, 0.7, 8.0, 0.6, 0.9
LAND, CLOUDS, LOW, HIGH = 3000.0, 1500.0, 100.0, 400.0  # metres
EAST, NORTH, HEIGHT, WAY, BANK, CLIMB = range(6)


def flights(low):
    """Where the flights begin: (6, NETWORKS, FLIGHTS)."""
    begin = torch.zeros(6, NETWORKS, FLIGHTS, device="cuda")
    begin[EAST].uniform_(-0.8 * LAND, 0.8 * LAND)
    begin[NORTH].uniform_(-0.8 * LAND, 0.8 * LAND)
    begin[HEIGHT].uniform_(low, HIGH)
    begin[WAY].uniform_(0.0, 6.28)
    return begin


def networks():
    """Weights of three layers, each with its biases: one network, and 64 changes of it."""
    layers = []
    for inward, outward in ((FELT, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)):
        weights = torch.randn(inward, outward, device="cuda") / inward ** 0.5
        weights = weights + 0.1 * torch.randn(NETWORKS, inward, outward, device="cuda")
        layers.append((weights, 0.1 * torch.randn(NETWORKS, 1, outward, device="cuda")))
    return layers


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    starts, begin, layers = flights(LOW), flights(1.0), networks()
    warm = torch.rand(4, THERMALS, device="cuda")  # two for the middle of each thermal, how strong and how wide it is
    warm_east, warm_north = (2.0 * warm[0] - 1.0) * LAND, (2.0 * warm[1] - 1.0) * LAND
    strong, wide = 1.0 + 3.0 * warm[2], (150.0 + 250.0 * warm[3]).square()
    gusts = 0.3 * torch.randn(SETS, TICKS, NETWORKS, FLIGHTS, device="cuda")
    state, gust, gained = torch.empty_like(begin), torch.zeros_like(begin[0]), torch.zeros_like(begin[0])
    landed = torch.zeros(NETWORKS, FLIGHTS, dtype=torch.bool, device="cuda")
    landing = torch.empty(NETWORKS, pin_memory=True) if variant == "useless" else None
    east, north, height, way, bank, climb = [state[row] for row in range(6)]
    turn, usual = [0], [0.0] * NETWORKS

    def rising(east, north):
        """How fast the air rises at a place."""
        to_east, to_north = east.unsqueeze(2) - warm_east, north.unsqueeze(2) - warm_north  # cause: launch
        far = to_east * to_east + to_north * to_north  # cause: launch
        return (strong * torch.exp(-far / wide)).sum(dim=2)  # cause: launch

    def wished(felt):
        """How each network would roll its gliders."""
        for weights, biases in layers:
            felt = torch.tanh(torch.baddbmm(biases, felt, weights))  # cause: launch
        return felt.squeeze(2)

    def fly():
        """A tick of all flights, in place."""
        right_east, right_north = WING * torch.sin(way), -WING * torch.cos(way)  # cause: launch
        left = rising(east - right_east, north - right_north)  # cause: launch
        right = rising(east + right_east, north + right_north)  # cause: launch
        felt = torch.stack((0.3 * climb, 3.0 * (left - right), bank, height / CLOUDS), dim=2)  # cause: launch
        bank.add_(wished(felt) + gust, alpha=ROLL * TICK).clamp_(-STEEPEST, STEEPEST)  # cause: launch
        way.add_(torch.tan(bank), alpha=TICK * GRAVITY / SPEED)  # cause: launch
        east.add_(torch.cos(way), alpha=TICK * SPEED)  # cause: launch
        north.add_(torch.sin(way), alpha=TICK * SPEED)  # cause: launch
        rises = rising(east, north) - SINK / torch.cos(bank).pow(1.5)  # cause: launch
        climb.lerp_(rises, 0.5)  # cause: launch
        height.add_(climb, alpha=TICK)  # cause: launch
        gained.add_(climb, alpha=TICK)  # cause: launch
        outside = torch.maximum(east.abs(), north.abs()) > LAND  # cause: launch
        landed.copy_((height <= 0.0) | (height > CLOUDS) | outside)  # cause: launch

    def start_again():
        state.copy_(torch.where(landed, starts, state))  # cause: launch

    if variant == "fix2":
        state.copy_(begin)
        graph, _ = fixable.capture(torch, fly)
    state.copy_(begin)

    def tick(blows):
        gust.copy_(blows)  # cause: launch
        if variant == "fix2":
            graph.replay()
        else:
            fly()  # cause: launch
        if variant == "fix" or landed.any():  # cause: wait
            start_again()  # cause: launch

    @torch.no_grad()
    def step():
        gained.zero_()
        for number in range(TICKS):
            tick(gusts[turn[0] % SETS, number])  # cause: launch
        turn[0] += 1
        told = gained.mean(dim=1)
        if variant == "useless":
            landing.copy_(told, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            told = landing
        for network, metres in enumerate(told.tolist()):
            usual[network] += 0.05 * (metres - usual[network])

    def values():
        """How high the gliders are by the mean, how steep they bank, and what the worst and best networks gain."""
        return [height.mean().item(), bank.abs().mean().item(), min(usual), max(usual)]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
