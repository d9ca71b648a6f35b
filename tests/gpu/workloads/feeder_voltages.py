# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a power company asks how low the voltage falls on a long feeder of 512 nodes in winter evenings, if more and more homes
heat with pumps and charge cars. For each quarter of an hour the load flow of 1024 draws of homes is found by fixed-point sweeps:
currents from voltages, and voltages from currents by the matrix of impedances.

Wrong: after each sweep the host reads how far the voltages have moved, to stop early, which it never does, since some draw is near
its collapse; the GPU has nothing to do until the next sweep comes.
fix: it always makes fourteen sweeps, and does not look (sync-bound).
fix2: a sweep is a CUDA graph; the host looks after each one, as before (launch-bound).
useless: the drops of the voltages are in an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=1100, warm_up=16)
torch, numpy = fixable.load_torch("numpy")

NODES, DRAWS, QUARTERS, SWEEPS, EVEN, LIMIT, READ = 512, 1024, 24, 14, 2e-7, 0.7, 24


def feeder():
    """The matrix of impedances: what the lines to both nodes have in common, for each two nodes of a tree."""
    random = numpy.random.default_rng(20)
    on_way = numpy.zeros((NODES, NODES))
    for node in range(NODES):
        on_way[node, node] = 1.0
        if node:
            on_way[node] += on_way[max(0, node - int(random.integers(1, 5)))]
    lines = random.uniform(0.5, 1.5, NODES) * (0.8 + 0.6j)
    return (on_way * lines) @ on_way.T


def homes():
    """Power of homes, and of pumps and cars, for each node and draw, and how much of them there is in each quarter of an hour."""
    random = numpy.random.default_rng(21)
    plain = random.gamma(4.0, 0.25, (NODES, DRAWS)) * (1.0 + 0.25j)
    added = (random.random((NODES, DRAWS)) < random.uniform(0.2, 0.5, DRAWS)) * (3.0 + 0.6j)
    evening = numpy.sin(numpy.pi * (numpy.arange(QUARTERS) + 20.0) / (QUARTERS + 39.0))
    return plain, added, (0.9 + 0.1 * evening).tolist(), (0.8 + 0.2 * evening).tolist()


def scaled():
    """Impedances in such units that the weakest draw has a voltage of two thirds or so at its farthest node."""
    impedances, (plain, added, _, _) = feeder(), homes()
    heaviest = abs(impedances @ (plain + added).conj()).max()
    return impedances * (0.262 / heaviest)


def make(variant):
    fixable.seed(torch)
    plain, added, of_plain, of_added = homes()
    impedances, plain, added = (torch.from_numpy(part.astype(numpy.complex64)).cuda() for part in (scaled(), plain, added))
    power, voltages, fallen = torch.empty_like(plain), torch.ones_like(plain), torch.empty_like(plain)
    usual, turn, told = torch.zeros(3, device="cuda"), [0], []

    def sweep():
        """Moves the voltages, and gives how far the one that moved most has gone."""
        currents = torch.conj_physical(power / voltages)
        drops = torch.matmul(impedances, currents, out=fallen) if variant == "useless" else impedances @ currents
        moved = torch.view_as_real(drops + voltages - 1.0).abs_().amax()
        torch.sub(1.0, drops, out=voltages)
        return moved

    if variant == "fix2":
        power.copy_(plain)
        graph, far = fixable.capture(torch, sweep)

    def swept():
        if variant == "fix2":
            graph.replay()
            return far
        return sweep()

    def flow():
        """The load flow from voltages of one."""
        voltages.fill_(1.0)
        for _ in range(SWEEPS):
            moved = swept()
            if variant != "fix" and moved.item() < EVEN:  # cause: wait,copy
                break

    def step():
        quarter = turn[0] % QUARTERS
        torch.mul(plain, of_plain[quarter], out=power).add_(added, alpha=of_added[quarter])
        flow()  # cause: wait,copy
        sizes = torch.linalg.vector_norm(torch.view_as_real(voltages), dim=2)
        lowest = sizes.amin(dim=0)
        usual.lerp_(torch.stack((lowest.mean(), lowest.min(), (sizes < LIMIT).float().mean())), 0.02)
        turn[0] += 1
        if turn[0] % READ == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
