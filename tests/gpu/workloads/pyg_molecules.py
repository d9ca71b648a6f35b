# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: a GIN learns a property of molecules; a batch is put together anew of its 256 small graphs at each step.

Wrong: Batch.from_data_list takes Python longer than the whole training step, and the GPU waits for each batch.
fix: the batches are always the same: they are put together once, and stay on the device (host-bound).
useless: the batch is pinned, and copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
torch, geometric, gnn = fixable.load_torch("torch_geometric.data", "torch_geometric.nn")
nn = torch.nn
F = nn.functional

MOLECULES, BATCH, ATOMS, BONDS, WIDTH, LAYERS = 2048, 256, 28, 4, 256, 4


def molecules():
    """Rings and branches of 12 to 35 atoms."""
    chance = torch.Generator().manual_seed(20)

    def some(low, high, *shape):
        return torch.randint(low, high, shape, generator=chance)

    made = []
    for _ in range(MOLECULES):
        count = int(some(12, 36, 1))
        chain = torch.stack([torch.arange(count - 1), torch.arange(1, count)])
        rings = some(0, count, 2, 4)
        one_way = torch.cat([chain, rings], dim=1)
        kinds = some(0, BONDS, one_way.size(1))
        x, bonds = some(0, ATOMS, count), torch.cat([one_way, one_way.flip(0)], dim=1)
        made.append(geometric.Data(x=x, edge_index=bonds, edge_attr=torch.cat([kinds, kinds]), y=x.float().mean().view(1) / ATOMS))
    return made


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.atoms, self.bonds = nn.Embedding(ATOMS, WIDTH), nn.Embedding(BONDS, WIDTH)
        self.layers = nn.ModuleList(gnn.GINEConv(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))
                                    for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, batch):
        x, bonds = self.atoms(batch.x), self.bonds(batch.edge_attr)
        for layer in self.layers:
            x = x + F.relu(layer(x, batch.edge_index, bonds))
        return self.head(gnn.global_add_pool(x, batch.batch, size=batch.num_graphs) / 24.0).squeeze(1)


def make(variant):
    fixable.seed(torch)
    data = molecules()
    model = Network().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    pinned, turn, kept, seen = variant == "useless", [0], {}, []

    def batch_of(number):
        if number not in kept:
            batch = geometric.Batch.from_data_list(data[number * BATCH:(number + 1) * BATCH])  # cause: loader
            if variant != "fix":
                return batch
            kept[number] = batch.to("cuda")
        return kept[number]

    def step():
        number = turn[0] % (MOLECULES // BATCH)
        turn[0] += 1
        batch = batch_of(number)  # cause: loader
        if pinned:
            batch = batch.pin_memory()
        batch = batch.to("cuda", non_blocking=pinned)  # cause: delayed
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch), batch.y)
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
