# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: which accounts of a mail service belong to rings that send unwanted mail is learned from who writes to
whom: three layers of GraphSAGE over the whole network of 6000 accounts and 36000 pairs that write, of which a third are known
to be good or bad; SGD with momentum and clipped gradients.

Wrong: an epoch is some 150 kernels, most of a few microseconds, and Python takes much longer to launch them than they run.
fix: an epoch is launched as one CUDA graph, of the same kernels (launch-bound).
useless: losses that are noted, one of 50, stay on the device to the end.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=20)
torch, nn = fixable.load_torch("torch_geometric.nn")
F = torch.nn.functional

ACCOUNTS, PAIRS, TRAITS, WIDE, NOTED = 6000, 36000, 32, 64, 50


def mail():
    """What is known of each account, who writes to whom, which are bad, and of which that is known."""
    bad = (torch.rand(ACCOUNTS) < 0.2).long()
    told = (torch.rand(ACCOUNTS) < 0.33).float()
    traits = torch.randn(ACCOUNTS, TRAITS)
    traits[:, :4] += 0.5 * bad[:, None]
    sender = torch.randint(ACCOUNTS, (PAIRS,))
    rings = bad.nonzero()[:, 0]
    to = torch.randint(ACCOUNTS, (PAIRS,))
    ringed = (bad[sender] == 1) & (torch.rand(PAIRS) < 0.4)
    to[ringed] = rings[torch.randint(rings.numel(), (int(ringed.sum()),))]
    wrong = torch.rand(ACCOUNTS) < 0.1  # what people say of accounts is not always right
    said = torch.where(wrong, 1 - bad, bad)
    pairs = torch.stack((torch.cat((sender, to)), torch.cat((to, sender))))
    return traits.cuda(), pairs.cuda(), said.cuda(), (told / told.sum()).cuda()


class Rings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([nn.SAGEConv(TRAITS, WIDE), nn.SAGEConv(WIDE, WIDE), nn.SAGEConv(WIDE, WIDE)])
        self.told = torch.nn.Linear(WIDE, 2)

    def forward(self, x, pairs):
        for layer in self.layers:
            x = torch.relu(layer(x, pairs))
        return self.told(x)


def make(variant):
    fixable.seed(torch)
    traits, pairs, said, weights = mail()
    network = Rings().cuda()
    parameters = list(network.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4)
    usual = torch.zeros((), device="cuda")
    notes, turn = collections.deque(maxlen=4), [0]

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Forward, backward and a step of the optimizer; the gradients are clear before."""
        chances = network(traits, pairs)
        loss = (F.cross_entropy(chances, said, reduction="none") * weights).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        kept = loss.detach()
        usual.lerp_(kept, 0.02)
        return kept

    def epoch():
        clear()  # cause: launch
        return learn()  # cause: launch

    if variant == "fix":
        begin = [p.detach().clone() for p in parameters]
        graph, graph_loss = fixable.capture(torch, learn, before=clear)
        with torch.no_grad():  # as it was before the graph was made
            for p, first in zip(parameters, begin):
                p.copy_(first)
                optimizer.state[p]["momentum_buffer"].zero_()
            usual.zero_()

    def step():
        if variant == "fix":
            graph.replay()
            loss = graph_loss
        else:
            loss = epoch()  # cause: launch
        turn[0] += 1
        if turn[0] % NOTED == 0:
            notes.append(loss.clone() if variant == "useless" else loss.item())

    def values():
        return [float(note) for note in notes] + [float(usual)]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
