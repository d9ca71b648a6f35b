# SPDX-License-Identifier: Apache-2.0
"""PyTorch: implicit Q-learning from recorded moves, which lie on the device; a value, two critics with their slow copies, and a
policy, each with an optimizer of its own.

Wrong: some three hundred short kernels an update, which Python launches slower than they run.
fix: the whole update, with its random rows and all three optimizers, is one CUDA graph; the losses are still read (launch-bound).
useless: the losses are read every 200 updates instead of at each one.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=15)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

MOVES, STATE, ACTION, WIDTH, BATCH = 200000, 17, 6, 256, 256
DISCOUNT, SLOWLY, SHARE, SHARPNESS, LOOK_EVERY = 0.99, 0.005, 0.7, 3.0, 200


def network(before, after):
    return nn.Sequential(nn.Linear(before, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, after))


class Critics(nn.Module):
    """Two, of which the lower one is believed."""

    def __init__(self):
        super().__init__()
        self.one, self.other = network(STATE + ACTION, 1), network(STATE + ACTION, 1)

    def forward(self, state, action):
        both = torch.cat([state, action], dim=1)  # cause: launch
        return self.one(both).squeeze(1), self.other(both).squeeze(1)  # cause: launch


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.middle, self.spread = network(STATE, ACTION), nn.Parameter(torch.zeros(ACTION))

    def forward(self, state, action):
        """The logarithm of how likely the action is, but for a constant."""
        spread = self.spread.clamp(-5.0, 2.0)  # cause: launch
        off = (action - self.middle(state).tanh()) / spread.exp()  # cause: launch
        return (-0.5 * off.square() - spread).sum(dim=1)  # cause: launch


def recorded():
    """States, actions, rewards, the states behind them, and whether it was the last move."""
    state = torch.randn(MOVES, STATE, device="cuda")
    action = torch.randn(MOVES, ACTION, device="cuda").tanh()
    after = 0.9 * state + 0.3 * torch.randn(MOVES, STATE, device="cuda")
    reward = 0.1 * (state[:, :ACTION] * action).sum(dim=1)
    return state, action, reward, after, (torch.rand(MOVES, device="cuda") < 0.002).float()


def make(variant):
    fixable.seed(torch)
    moves = recorded()
    value, critics, slow, policy = network(STATE, 1).cuda(), Critics().cuda(), Critics().cuda(), Policy().cuda()
    slow.load_state_dict(critics.state_dict())
    slow.requires_grad_(False)
    optimizers = {net: torch.optim.Adam(net.parameters(), lr=3e-4, capturable=variant == "fix") for net in (value, critics, policy)}
    turn, log = [0], []

    def learn(net, loss):
        optimizers[net].zero_grad()
        loss.backward()  # cause: launch in pt_autograd
        optimizers[net].step()  # cause: launch
        return loss.detach()

    def update():
        rows = torch.randint(0, MOVES, (BATCH,), device="cuda")  # cause: launch
        state, action, reward, after, ended = (column[rows] for column in moves)  # cause: launch
        with torch.no_grad():
            worth = torch.minimum(*slow(state, action))  # cause: launch
            goal = reward + DISCOUNT * (1.0 - ended) * value(after).squeeze(1)  # cause: launch

        better = worth - value(state).squeeze(1)  # cause: launch
        loss_v = learn(value, ((SHARE - (better < 0.0).float()).abs() * better.square()).mean())  # cause: launch

        one, other = critics(state, action)
        loss_q = learn(critics, F.mse_loss(one, goal) + F.mse_loss(other, goal))  # cause: launch
        for mine, theirs in zip(slow.parameters(), critics.parameters()):
            mine.data.copy_((1.0 - SLOWLY) * mine.data + SLOWLY * theirs.data)  # cause: launch

        weight = (SHARPNESS * better.detach()).exp().clamp(max=100.0)  # cause: launch
        loss_p = learn(policy, -(weight * policy(state, action)).mean())  # cause: launch
        return torch.stack([loss_v, loss_q, loss_p])  # cause: launch

    if variant == "fix":
        graph, static_losses = fixable.capture(torch, update)

    def step():
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            losses = static_losses
        else:
            losses = update()
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            log[:] = losses.tolist()

    def values():
        return [p.detach().abs().mean().item() for net in (value, critics, policy) for p in net.parameters()]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
