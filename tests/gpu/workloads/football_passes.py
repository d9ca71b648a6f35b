# SPDX-License-Identifier: Apache-2.0
"""PyTorch with torch_geometric: who passes the ball to whom makes a graph of a football match: 22 players, each with ties to the
six of the team to whom they pass most. A graph isomorphism network learns from 1024 matches at a time how many goals the home
team is ahead. The matches are in the order of the seasons, so each epoch has the same batches.

Wrong: in each epoch the loader puts the same 1024 small graphs together again, one by one in Python, and the GPU waits for it.
fix: the loader does that once, and the batches are kept in the host's memory (host-bound).
fix2: a step's kernels are one CUDA graph, and the loader works as before (launch-bound).
useless: the loss is not read for the curve, but stays on the device.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=160, warm_up=8)
torch, numpy, geometric_data, geometric_loader, geometric_nn = fixable.load_torch(
    "numpy", "torch_geometric.data", "torch_geometric.loader", "torch_geometric.nn")

PLAYERS, TEAM, PARTNERS, FEATURES, WIDE, LAYERS, TOGETHER, BATCHES, SHOWN = 22, 11, 6, 8, 64, 3, 1024, 4, 50


def matches():
    """The graphs of all matches: what is known of each player, the ties, and by how many goals the home team won."""
    random, number = numpy.random.default_rng(20), TOGETHER * BATCHES
    team = (numpy.arange(PLAYERS) >= TEAM).astype(numpy.float64)
    place = random.uniform(0.0, 1.0, (number, PLAYERS, 2))
    skill = random.normal(0.0, 1.0, (number, PLAYERS))
    apart = numpy.linalg.norm(place[:, :, None] - place[:, None], axis=3)
    passes = random.gamma(2.0, 8.0, apart.shape) * numpy.exp(0.3 * skill[:, :, None] - 2.0 * apart)
    passes *= (team[:, None] == team) & ~numpy.eye(PLAYERS, dtype=bool)
    partners = numpy.argsort(-passes, axis=2)[:, :, :PARTNERS]
    given, taken = passes.sum(axis=2) / 40.0, passes.sum(axis=1) / 40.0
    speed, minutes = random.normal(0.0, 1.0, given.shape), random.uniform(0.4, 1.0, given.shape)
    keeper = numpy.broadcast_to(numpy.arange(PLAYERS) % TEAM == 0, given.shape)
    side = numpy.broadcast_to(team, given.shape)
    known = numpy.stack((place[:, :, 0], place[:, :, 1], given, taken, speed, minutes, keeper, side), axis=2)
    ahead = ((1.0 - 2.0 * team) * (0.5 * skill + 0.3 * speed) * place[:, :, 0]).sum(axis=1) + 0.3
    goals = ahead + random.normal(0.0, 0.8, number)
    begins = numpy.repeat(numpy.arange(PLAYERS), PARTNERS)
    for k in range(number):
        ties = numpy.stack((begins, partners[k].reshape(-1)))
        yield geometric_data.Data(x=torch.from_numpy(known[k].astype(numpy.float32)), edge_index=torch.from_numpy(ties),
                                  y=torch.tensor([goals[k]], dtype=torch.float32))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            geometric_nn.GINConv(torch.nn.Sequential(
                torch.nn.Linear(WIDE if k else FEATURES, WIDE), torch.nn.ReLU(), torch.nn.Linear(WIDE, WIDE), torch.nn.ReLU()))
            for k in range(LAYERS))
        self.tells = torch.nn.Sequential(torch.nn.Linear(WIDE, WIDE), torch.nn.ReLU(), torch.nn.Linear(WIDE, 1))

    def forward(self, players, ties, match):
        for layer in self.layers:
            players = layer(players, ties)
        return self.tells(geometric_nn.global_mean_pool(players, match, size=TOGETHER)).squeeze(1)


def make(variant):
    fixable.seed(torch)
    loader = geometric_loader.DataLoader(list(matches()), batch_size=TOGETHER, shuffle=False, drop_last=True)
    model = Network().cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=5e-4, weight_decay=0.01, capturable=True)
    usual = torch.ones((), device="cuda")
    turn, curve = [0], []

    def parts(batch):
        return batch.x, batch.edge_index, batch.batch, batch.y

    def epochs():
        while True:
            for batch in loader:  # cause: loader
                yield batch

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn(players, ties, match, goals):
        loss = torch.nn.functional.smooth_l1_loss(model(players, ties, match), goals)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    batches = itertools.cycle(list(loader)) if variant == "fix" else epochs()
    first = [part.to("cuda") for part in parts(next(batches))]
    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: learn(*first), before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn(*first)

    def step():
        batch = next(batches)  # cause: loader
        if variant == "fix2":
            for mine, part in zip(first, parts(batch)):
                mine.copy_(part)
            graph.replay()
        else:
            clear()
            learn(*[part.to("cuda") for part in parts(batch)])  # cause: delayed
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights have become."""
        with torch.no_grad():
            return [float(usual)] + [float(w.abs().mean()) for w in weights[-4:] if w.dim() == 2]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
