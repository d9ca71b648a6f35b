# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: full-batch GCN training on a graph of the size of Cora, with the loss printed by .item() at each step.

Wrong: some 80 short kernels a step, each launched by Python, which takes longer than they run.
fix: the whole step is one CUDA graph, the loss is read every 50 steps (launch-bound).
useless: the loss is read every 50 steps, the launches stay.
"""
import fixable

run = fixable.Program(__doc__, steps=1600)
torch, gnn = fixable.load_torch("torch_geometric.nn")
F = torch.nn.functional

NODES, FEATURES, CLASSES, EDGES = 2708, 1433, 7, 5278


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = gnn.GCNConv(FEATURES, 64, cached=True)
        self.conv2 = gnn.GCNConv(64, 64, cached=True)
        self.conv3 = gnn.GCNConv(64, CLASSES, cached=True)

    def forward(self, x, edge_index):
        x = F.dropout(self.conv1(x, edge_index).relu(), 0.5, self.training)  # cause: launch
        x = F.dropout(self.conv2(x, edge_index).relu(), 0.5, self.training)  # cause: launch
        return self.conv3(x, edge_index)  # cause: launch


def make(variant):
    fixable.seed(torch)
    x = (torch.rand(NODES, FEATURES) < 0.0127).float().cuda()
    one_way = torch.randint(0, NODES, (2, EDGES))
    edge_index = torch.cat([one_way, one_way.flip(0)], dim=1).cuda()
    y = torch.randint(0, CLASSES, (NODES,)).cuda()
    train = torch.arange(140).cuda()
    model = GCN().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4, capturable=variant == "fix")
    losses = []

    def forward_backward():
        loss = F.cross_entropy(model(x, edge_index)[train], y[train])  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss

    if variant == "fix":
        graph, static_loss = fixable.capture(torch, forward_backward, before=optimizer.zero_grad)

    def loop(steps):
        for epoch in range(steps):
            if variant == "fix":
                graph.replay()
                loss = static_loss
            else:
                optimizer.zero_grad()
                loss = forward_backward()
            if variant == "base" or epoch % 50 == 49:
                losses.append(loss.item())

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: losses[-1:])


run.main(make)
