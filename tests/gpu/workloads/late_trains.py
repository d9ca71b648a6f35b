# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a railway of 32 lines gives each line a few spare minutes, and wants to know between which of its 18 stops they are
spent best. Lateness is followed from stop to stop through 64 made-up days at once: trains wait for those of another line, and
they cannot come closer than the signals let them. A step is such a set of days; by its slopes the minutes are moved.

Wrong: a stop is some 36 small kernels, forward and backward, each launched by itself, and the GPU is done with one before the
next one comes.
fix: the step, with its backward and the optimizer, is one CUDA graph (launch-bound).
useless: the notes, which are read once in 40 steps, stay on the device.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=600, warm_up=12)
torch = fixable.load_torch()

TRAINS, DAYS, LINES, STOPS, SETS, READ = 24, 64, 32, 18, 12, 40
SPARE, HEADWAY, PATIENCE, LONGEST = 14.0, 2.5, 3.0, 5.0  # minutes: of a line; between two trains; left to change; of waiting


def mishaps():
    """Minutes that are lost on the way to each stop, (SETS, STOPS, TRAINS, DAYS, LINES): few trains, on some ways more."""
    often = 0.04 + 0.12 * torch.rand(STOPS, 1, 1, LINES, device="cuda")
    for _ in range(SETS):
        happens = torch.rand(STOPS, TRAINS, DAYS, LINES, device="cuda") < often
        long = -3.0 * torch.log(torch.rand(STOPS, TRAINS, DAYS, LINES, device="cuda").clamp_(min=1e-4))
        yield (0.3 + happens * long).contiguous()


def make(variant):
    fixable.seed(torch)
    drawn = list(mishaps())
    lost = torch.zeros(STOPS, TRAINS, DAYS, LINES, device="cuda")
    liked = torch.zeros(STOPS, LINES, device="cuda", requires_grad=True)
    rule = torch.optim.Adam([liked], lr=0.01, capturable=True, fused=True)
    room = HEADWAY * torch.arange(TRAINS, dtype=torch.float32, device="cuda").view(TRAINS, 1, 1)
    usual = torch.zeros(3, device="cuda")
    notes, turn = collections.deque(maxlen=50), [0]

    def at_stop(late, number, spare):
        """How late the trains leave a stop, from how late they have left the one before."""
        late = torch.relu(late + lost[number] - spare)  # cause: launch
        other = late.roll(number % 5 + 1, dims=2)  # cause: launch
        late = torch.maximum(late, (other - PATIENCE).clamp(max=LONGEST))  # cause: launch
        return torch.cummax(late + room, dim=0).values - room  # cause: launch

    def learn():
        """Follows the lateness, and moves the spare minutes."""
        spare = SPARE * torch.softmax(liked, dim=0)
        late, total = lost.new_zeros(TRAINS, DAYS, LINES), 0.0
        for number in range(STOPS):
            late = at_stop(late, number, spare[number])  # cause: launch
            total = total + late.mean()  # cause: launch
        mean = total / STOPS
        mean.backward()  # cause: launch
        rule.step()
        seen = torch.stack((mean.detach(), late.detach().mean(), (late.detach() > LONGEST).float().mean()))
        usual.lerp_(seen, 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    if variant == "fix":
        lost.copy_(drawn[0])
        graph, _ = fixable.capture(torch, learn, clear)
        kept = [usual, liked.detach(), *(part for part in rule.state[liked].values() if torch.is_tensor(part))]
        for one in kept:
            one.zero_()

    def step():
        lost.copy_(drawn[turn[0] % SETS])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(usual.clone() if variant == "useless" else usual.tolist())

    def values():
        """The usual lateness, that at the last stop, how many are very late, and the minutes of two lines."""
        return usual.tolist() + (SPARE * torch.softmax(liked.detach(), dim=0))[:, :2].reshape(-1).tolist()

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
