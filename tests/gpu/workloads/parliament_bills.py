# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: which bills a parliament passes is learned from who proposes them: members, bills, committees and parties
are a graph with ten kinds of ties (a member proposes a bill, a bill goes to a committee, and so on, and all of it the other way),
and two layers of HeteroConv with a SAGEConv for each kind of tie tell for each bill how likely it is to pass.

Wrong: each kind of tie has its own small kernels, an epoch is many hundreds of them, and Python takes much longer to launch them
than they run.
fix: an epoch (forward, backward, clipping, Adam) is launched as one CUDA graph, of the same kernels (launch-bound).
useless: the loss, which is read every 50 epochs, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
torch, nets = fixable.load_torch("torch_geometric.nn")
F = torch.nn.functional

COUNT = {"member": 640, "bill": 1500, "committee": 24, "party": 8}
KNOWN = {"member": 24, "bill": 64, "committee": 16, "party": 8}  # numbers that are known of each
PROPOSERS, SEATS, AMENDED, WIDE, LAYERS, SHOWN = 6, 2, 2, 48, 2, 50


def house():
    """What is known of all, the ties by their kinds, which bills passed, and what each bill counts in the loss."""
    known = {kind: torch.randn(COUNT[kind], KNOWN[kind]) for kind in COUNT}
    members, bills = torch.arange(COUNT["member"]), torch.arange(COUNT["bill"])
    party = (COUNT["party"] * torch.rand(COUNT["member"]).square()).long()  # some are larger than others
    proposers = torch.randint(COUNT["member"], (COUNT["bill"], PROPOSERS))
    ties = {
        ("member", "proposes", "bill"): (proposers.flatten(), bills.repeat_interleave(PROPOSERS)),
        ("bill", "goes_to", "committee"): (bills, torch.randint(COUNT["committee"], (COUNT["bill"],))),
        ("member", "sits_in", "committee"): (
            members.repeat_interleave(SEATS), torch.randint(COUNT["committee"], (COUNT["member"] * SEATS,))),
        ("member", "is_of", "party"): (members, party),
        ("bill", "amends", "bill"): (
            bills.repeat_interleave(AMENDED), torch.randint(COUNT["bill"], (COUNT["bill"] * AMENDED,)))}
    pairs = {tie: torch.stack(ends).cuda() for tie, ends in ties.items()}
    for (one, tie, other), ends in ties.items():
        pairs[(other, "rev_" + tie, one)] = torch.stack(ends[::-1]).cuda()
    strength = torch.bincount(party, minlength=COUNT["party"]).float() / COUNT["member"]
    behind = strength[party[proposers]].mean(dim=1)  # how strong the parties are that propose a bill
    likely = 20.0 * (behind - behind.mean()) + 0.8 * known["bill"][:, 0]
    passed = (torch.rand(COUNT["bill"]) < likely.sigmoid()).float()
    weights = (torch.rand(COUNT["bill"]) < 0.7).float()  # the others are kept for a test
    known = {kind: numbers.cuda() for kind, numbers in known.items()}
    return known, pairs, passed.cuda(), (weights / weights.sum()).cuda()


class House(torch.nn.Module):
    def __init__(self, ties):
        super().__init__()
        self.first = torch.nn.ModuleDict({kind: torch.nn.Linear(KNOWN[kind], WIDE) for kind in KNOWN})
        self.layers = torch.nn.ModuleList(
            nets.HeteroConv({tie: nets.SAGEConv(WIDE, WIDE) for tie in ties}, aggr="sum") for _ in range(LAYERS))
        self.told = torch.nn.Linear(WIDE, 1)

    def forward(self, known, pairs):
        x = {kind: torch.relu(self.first[kind](numbers)) for kind, numbers in known.items()}
        for layer in self.layers:
            x = {kind: torch.relu(new) for kind, new in layer(x, pairs).items()}
        return self.told(x["bill"]).squeeze(1)


def make(variant):
    fixable.seed(torch)
    known, pairs, passed, weights = house()
    model = House(list(pairs)).cuda().train()
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=3e-4, weight_decay=1e-4, capturable=True)
    usual = torch.full((), 0.7, device="cuda")
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    turn, curve = [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """An epoch; gradients are clear before."""
        likely = model(known, pairs)  # cause: launch
        loss = F.binary_cross_entropy_with_logits(likely, passed, weight=weights, reduction="sum")  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many epochs as before a graph is made
            clear()
            learn()

    def shown():
        """The loss, for the curve on the screen."""
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.item()
        return usual.item()

    def step():
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(shown())

    def values():
        """The loss, and how large some weights have become."""
        with torch.no_grad():
            return [float(usual)] + [float(model.first[kind].weight.norm()) for kind in KNOWN]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
