# SPDX-License-Identifier: Apache-2.0
"""PyTorch: 512 simulated cranes of a harbour learn to bring a container to its place without leaving it swinging. They learn by
soft actor-critic: in each step all cranes move on for a tenth of a second, what happened is put into the replay memory, and two
critics, the policy and the temperature learn once from 512 memories. The simulator is written in PyTorch, too, so all of it is
on the GPU.

Wrong: a step is some hundreds of small kernels, which PyTorch launches one by one; the GPU is done with each one before the next
one comes.
fix: the whole step, the cranes and what they learn, is one CUDA graph (launch-bound).
useless: the mean reward, which is read once in 50 steps, comes over pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=12)
torch = fixable.load_torch()
nn = torch.nn

CRANES, BATCH, WIDE, SEEN, ROPE, TICK, SHOWN = 512, 512, 256, 6, 12.0, 0.1, 50
KEPT, GAMMA, SLOW, WANTED, LONGEST = 64 * CRANES, 0.98, 0.01, -1.0, 200.0
SCALES = [1.0 / 20.0, 1.0 / 3.0, 3.0, 3.0]  # of metres, metres a second, and the angle and how fast it changes


def layers(wide_in, wide_out):
    return nn.Sequential(nn.Linear(wide_in, WIDE), nn.ReLU(), nn.Linear(WIDE, WIDE), nn.ReLU(), nn.Linear(WIDE, wide_out))


def drawn(policy, seen):
    """How hard to push, from -1 to 1, and the logarithm of its density."""
    mean, spread = policy(seen).chunk(2, dim=1)
    spread = spread.clamp(-5.0, 1.0)
    luck = torch.randn_like(mean)
    pushed = torch.tanh(mean + luck * spread.exp())
    density = -0.5 * luck.square() - spread - torch.log1p(1e-5 - pushed.square())
    return pushed, density - 0.9189


class Harbour:
    """The cranes: where a trolley is off its place, how fast it is, how far its load swings out, and the time that is left."""

    def __init__(self):
        self.state, self.clock = torch.empty(CRANES, 4, device="cuda"), torch.empty(CRANES, 1, device="cuda")
        self.scales, self.starts = torch.tensor(SCALES, device="cuda"), torch.tensor([12.0, 0.3, 0.05, 0.05], device="cuda")
        self.state.copy_(self.begun())
        self.clock.copy_(LONGEST * torch.rand(CRANES, 1, device="cuda"))

    def begun(self):
        return torch.randn(CRANES, 4, device="cuda") * self.starts

    def seen(self):
        late = self.clock / LONGEST
        return torch.cat((self.state * self.scales, late, 1.0 - late), dim=1)

    def move(self, pushed):
        """Moves all cranes on; those that are out of time begin anew. What it was worth is given back."""
        place, speed, angle, turning = self.state.split(1, dim=1)
        push = 0.8 * pushed - 0.05 * speed
        speed = speed + TICK * push
        place = place + TICK * speed
        turning = turning - TICK * ((9.81 / ROPE) * torch.sin(angle) + (push / ROPE) * torch.cos(angle) + 0.02 * turning)
        angle = angle + TICK * turning
        worth = torch.exp(-0.1 * place.square()) - 0.02 * place.abs() - 4.0 * angle.square() - 0.02 * pushed.square()
        self.clock += 1.0
        over = self.clock > LONGEST
        self.state.copy_(torch.where(over, self.begun(), torch.cat((place, speed, angle, turning), dim=1)))
        self.clock.masked_fill_(over, 0.0)
        return worth


def make(variant):
    fixable.seed(torch)
    harbour = Harbour()
    policy, critics, aims = layers(SEEN, 2).cuda(), [], []
    for _ in range(2):
        critics.append(layers(SEEN + 1, 1).cuda())
        aims.append(layers(SEEN + 1, 1).cuda().requires_grad_(False))
        aims[-1].load_state_dict(critics[-1].state_dict())
    heat = torch.full((), -2.0, device="cuda", requires_grad=True)  # the logarithm of the temperature
    of_policy, of_critics = list(policy.parameters()), [w for critic in critics for w in critic.parameters()]
    of_aims = [w for aim in aims for w in aim.parameters()]
    learners = [torch.optim.Adam(weights, lr=3e-4, capturable=True) for weights in (of_critics, of_policy, [heat])]
    memory = torch.zeros(KEPT, 2 * SEEN + 2, device="cuda")  # what was seen, done and got, and what was seen then
    slots, usual, turn, curve = torch.arange(CRANES, device="cuda"), torch.zeros((), device="cuda"), [0], []
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None

    def act(pushed, seen):
        """Moves the cranes and remembers it."""
        worth = harbour.move(pushed)
        memory.index_copy_(0, slots, torch.cat((seen, pushed, worth, harbour.seen()), dim=1))
        slots.add_(CRANES).remainder_(KEPT)
        usual.lerp_(worth.mean(), 0.01)

    def least(judges, both):
        return torch.minimum(judges[0](both), judges[1](both))

    def clear():
        for learner in learners:
            learner.zero_grad(set_to_none=True)

    def learn():
        """The critics, the policy and the temperature learn from some memories."""
        some = memory.index_select(0, torch.randint(KEPT, (BATCH,), device="cuda"))
        seen, done, got, then = some.split([SEEN, 1, 1, SEEN], dim=1)
        with torch.no_grad():
            pushed, density = drawn(policy, then)
            aim = got + GAMMA * (least(aims, torch.cat((then, pushed), dim=1)) - heat.exp() * density)
        both = torch.cat((seen, done), dim=1)
        missed = sum(nn.functional.mse_loss(critic(both), aim) for critic in critics)
        missed.backward(inputs=of_critics)
        learners[0].step()
        pushed, density = drawn(policy, seen)
        (heat.exp().detach() * density - least(critics, torch.cat((seen, pushed), dim=1))).mean().backward(inputs=of_policy)
        learners[1].step()
        (-heat * (density.detach() + WANTED).mean()).backward(inputs=[heat])
        learners[2].step()
        with torch.no_grad():
            torch._foreach_lerp_(of_aims, of_critics, SLOW)

    def live():
        seen = harbour.seen()
        with torch.no_grad():
            act(drawn(policy, seen)[0], seen)  # cause: launch
        learn()  # cause: launch

    for _ in range(KEPT // CRANES):
        act(2.0 * torch.rand(CRANES, 1, device="cuda") - 1.0, harbour.seen())
    if variant == "fix":
        graph, _ = fixable.capture(torch, live, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            live()

    def step():
        if variant == "fix":
            graph.replay()
        else:
            clear()
            live()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append((usual if landing is None else landing.copy_(usual)).item())

    def values():
        """The mean reward, and how large the weights of the policy have become."""
        return [usual.item(), float(policy[2].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
