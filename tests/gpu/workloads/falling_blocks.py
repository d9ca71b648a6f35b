# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns a game of falling blocks (reinforcement learning: double Q-learning) from moves that players upload.
A million moves lie on the GPU; one is learnt from the more often, the more it surprised the network last time (prioritized
replay), for which a tree keeps the sums of all priorities.

Wrong: the tree is a list in Python, which is gone down for each of 1024 moves of a batch, and up again for each of them when
their new priorities are there; the GPU has nothing to do meanwhile.
fix: the tree is an array of NumPy, where all moves of a batch go down and up together, level by level (host-bound).
fix2: the priorities lie on the GPU, where they are added up and looked through anew for each batch (host-bound).
useless: the new priorities come by way of pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn, F = torch.nn, torch.nn.functional

LEVELS, BATCH, NEWS, FRESH, ROWS, COLUMNS, MOVES, WIDE = 20, 1024, 32, 4096, 20, 10, 40, 64
PLACES = 2 ** LEVELS
POWER, FAIR, LEAST, LATER, FOLLOW = 0.6, 0.4, 0.01, 0.97, 0.005


class ListTree:
    """Priorities and their sums; node 1 is the sum of all, and the nodes below n are 2 n and 2 n + 1."""

    def __init__(self):
        self.sums = [0.0] * PLACES + [1.0] * PLACES
        for node in range(PLACES - 1, 0, -1):
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1]

    def find(self, share):
        """The place where the sum of the priorities before it passes this share of all."""
        sums, node = self.sums, 1
        wanted = share * sums[1]
        while node < PLACES:  # cause: loader
            node *= 2  # cause: loader
            if wanted >= sums[node]:  # cause: loader
                wanted -= sums[node]  # cause: loader
                node += 1  # cause: loader
        return node - PLACES  # cause: loader

    def put_one(self, place, priority):
        sums, node = self.sums, place + PLACES
        sums[node] = priority
        while node > 1:  # cause: loader
            node //= 2  # cause: loader
            sums[node] = sums[2 * node] + sums[2 * node + 1]  # cause: loader

    def drawn(self, shares):
        """Places, and how likely each was."""
        places = [self.find(share) for share in shares.tolist()]  # cause: loader
        chances = [self.sums[PLACES + place] / self.sums[1] for place in places]  # cause: loader
        return torch.tensor(places).cuda(), torch.tensor(chances).cuda()  # cause: delayed

    def put(self, places, priorities):
        for place, priority in zip(places.tolist(), priorities.tolist()):  # cause: loader
            self.put_one(place, priority)  # cause: loader


class ArrayTree:
    """The same with NumPy."""

    def __init__(self):
        self.sums = numpy.ones(2 * PLACES)
        for level in range(LEVELS - 1, -1, -1):
            nodes = numpy.arange(2 ** level, 2 ** (level + 1))
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def drawn(self, shares):
        nodes, wanted = numpy.ones(len(shares), dtype=numpy.int64), shares * self.sums[1]
        for _ in range(LEVELS):
            nodes *= 2
            left = self.sums[nodes]
            right = wanted >= left
            wanted = wanted - left * right
            nodes += right
        chances = (self.sums[nodes] / self.sums[1]).astype(numpy.float32)
        return torch.from_numpy(nodes - PLACES).cuda(), torch.from_numpy(chances).cuda()

    def put(self, places, priorities):
        nodes = places.cpu().numpy() + PLACES
        self.sums[nodes] = priorities.cpu().numpy()
        for _ in range(LEVELS):
            nodes = nodes // 2
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]


class DeviceSums:
    """No tree: all priorities are added up on the GPU."""

    def __init__(self):
        self.priorities = torch.ones(PLACES, dtype=torch.float64, device="cuda")

    def drawn(self, shares):
        sums = self.priorities.cumsum(0)
        places = torch.searchsorted(sums, torch.from_numpy(shares).cuda() * sums[-1], right=True).clamp_(max=PLACES - 1)
        return places, (self.priorities[places] / sums[-1]).float()

    def put(self, places, priorities):
        self.priorities[places.cuda()] = priorities.cuda().double()


def network():
    return nn.Sequential(nn.Conv2d(1, WIDE, 3, padding=1), nn.ReLU(), nn.Conv2d(WIDE, WIDE, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(WIDE, WIDE, 3, padding=1), nn.ReLU(), nn.Conv2d(WIDE, 8, 1), nn.ReLU(), nn.Flatten(),
                         nn.Linear(8 * ROWS * COLUMNS, MOVES)).cuda()


def games(count):
    """Positions before and after moves, the moves, and what each has brought."""
    height = torch.arange(ROWS, device="cuda")[:, None] / ROWS
    before = (torch.rand(count, 1, ROWS, COLUMNS, device="cuda") < height * torch.rand(count, 1, 1, 1, device="cuda")).byte()
    move = torch.randint(MOVES, (count,), device="cuda")
    after = before.roll(1, dims=2)
    after[:, :, :2] = (torch.rand(count, 1, 2, COLUMNS, device="cuda") < 0.1).byte()
    full = before.sum(dim=(1, 2, 3)).float() / (ROWS * COLUMNS)
    gain = (move % COLUMNS == before.sum(dim=2).argmin(dim=2)[:, 0]).float() - full
    return before, after, move, gain


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    stored, fresh = games(PLACES), games(FRESH)
    tree = {"fix": ArrayTree, "fix2": DeviceSums}.get(variant, ListTree)()
    player, slow = network(), network()
    slow.load_state_dict(player.state_dict())
    weights, slow_weights = list(player.parameters()), list(slow.parameters())
    adam = torch.optim.Adam(weights, lr=2e-4)
    landing = torch.empty(BATCH, pin_memory=True) if variant == "useless" else None
    news = torch.ones(NEWS)
    turn, pending, usual = [0], [], [0.1, 0.0]

    def take_in():
        """New moves take the places of the oldest ones."""
        first, there = turn[0] * NEWS % PLACES, turn[0] * NEWS % FRESH
        for old, new in zip(stored, fresh):
            old[first:first + NEWS] = new[there:there + NEWS]
        tree.put(torch.arange(first, first + NEWS), news)

    def learn(places, chances):
        """A step of the network; gives how much each move surprised it."""
        before, after, move, gain = [array[places] for array in stored]
        before, after = before.float(), after.float()
        with torch.no_grad():
            best = player(after).argmax(dim=1, keepdim=True)
            wanted = gain + LATER * slow(after).gather(1, best)[:, 0]
            fair = (PLACES * chances) ** -FAIR
            fair = fair / fair.max()
        worth = player(before).gather(1, move[:, None])[:, 0]
        loss = (fair * F.smooth_l1_loss(worth, wanted, reduction="none")).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(slow_weights, weights, FOLLOW)
            pending.append(torch.stack((loss.detach(), worth.detach().mean())))
            return ((worth - wanted).abs() + LEAST) ** POWER

    def step():
        take_in()
        shares = (numpy.arange(BATCH) + random.random(BATCH)) / BATCH
        places, chances = tree.drawn(shares)  # cause: loader
        priorities = learn(places, chances)  # cause: delayed
        if landing is not None:
            landing.copy_(priorities, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            priorities = landing
        tree.put(places, priorities)  # cause: loader
        turn[0] += 1
        if len(pending) == 20:
            loss, worth = torch.stack(pending).mean(dim=0).tolist()
            pending.clear()
            usual[:] = [usual[0] + 0.1 * (loss - usual[0]), usual[1] + 0.1 * (worth - usual[1])]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
