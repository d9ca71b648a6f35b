# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a player of Kalah, the board game of six pits and a store on either side, learns by playing against itself. In each
step it makes eight moves in 1024 games at once, all on the GPU (sowing, catching, a further move, the end of a game), then
learns from these moves: what they brought, and how good it holds the position behind them (actor and critic).

Wrong: a step is hundreds of small kernels, and Python cannot launch them as fast as the GPU is done with them.
fix: a whole step, the eight moves and what is learnt from them, is one CUDA graph (launch-bound).
useless: the usual gain, four bytes that are read every 40 steps, is not read while it plays.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn

GAMES, MOVES, PITS, SEEDS, WIDE, BANK, SHOWN, LATER = 1024, 8, 6, 4.0, 256, 512, 40, 0.98


class Player(nn.Module):
    """Tells, from the seeds in all pits as the one to move sees them, how good each move is, and how good the position."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(14, WIDE), nn.ReLU(), nn.Linear(WIDE, WIDE), nn.ReLU())
        self.moves, self.position = nn.Linear(WIDE, PITS), nn.Linear(WIDE, 1)

    def forward(self, boards):
        seen = self.trunk(0.1 * boards)  # cause: launch
        return self.moves(seen).masked_fill(boards[..., :PITS] == 0.0, -1e9), self.position(seen)[..., 0]  # cause: launch


def make(variant):
    fixable.seed(torch)
    player = Player().cuda()
    optimizer = torch.optim.Adam(player.parameters(), lr=3e-4, capturable=True)
    fresh = torch.full((1, 14), SEEDS, device="cuda")
    fresh[:, 6], fresh[:, 13] = 0.0, 0.0
    ring, boards = torch.arange(13, device="cuda"), fresh.repeat(GAMES, 1)
    luck = -torch.log(-torch.log(torch.rand(BANK, GAMES, PITS, device="cuda").clamp(1e-6, 1.0 - 1e-6)))
    turn_there, turn, told = torch.zeros(1, dtype=torch.int64, device="cuda"), [0], []
    seen = torch.zeros(MOVES, GAMES, 14, device="cuda")
    taken = torch.zeros(MOVES, GAMES, 1, dtype=torch.int64, device="cuda")
    gains, signs = (torch.zeros(MOVES, GAMES, device="cuda") for _ in range(2))
    usual = torch.zeros((), device="cuda")

    def sow(pit):
        """Makes a move in each game: what it brings, and whether the next position is good for the same player (1), for
        the other one (-1), or for nobody since the game is over (0). Pits 0 to 5 and store 6 are those of who moves."""
        many = boards.gather(1, pit)
        after = boards.scatter(1, pit, 0.0)
        rounds = torch.floor(many / 13.0)
        after[:, :13] += rounds + (torch.remainder(ring - pit - 1, 13) < many - 13.0 * rounds)  # cause: launch
        last = torch.remainder(pit + many.long(), 13)
        facing = 12 - last
        here, there = after.gather(1, last), after.gather(1, facing)
        caught = ((last < PITS) & (here == 1.0) & (there > 0.0)).float()  # cause: launch
        after.scatter_(1, last, here * (1.0 - caught))  # cause: launch
        after.scatter_(1, facing, after.gather(1, facing) * (1.0 - caught))  # cause: launch
        after[:, 6:7] += caught * (here + there)  # cause: launch
        own, other = after[:, :6].sum(1, keepdim=True), after[:, 7:13].sum(1, keepdim=True)  # cause: launch
        over = (own == 0.0) | (other == 0.0)  # cause: launch
        brought = after[:, 6:7] - boards[:, 6:7] + over * (own - other)  # cause: launch
        again = last == 6
        sign = (2.0 * again.float() - 1.0) * ~over  # cause: launch
        boards.copy_(torch.where(over, fresh, torch.where(again, after, after.roll(7, 1))))  # cause: launch
        return 0.1 * brought[:, 0], sign[:, 0]

    @torch.no_grad()
    def play():
        for move in range(MOVES):
            seen[move].copy_(boards)
            told_moves, _ = player(boards)  # cause: launch
            pit = (told_moves + luck.index_select(0, turn_there)[0]).argmax(1, keepdim=True)  # cause: launch
            taken[move].copy_(pit)
            brought, sign = sow(pit)  # cause: launch
            gains[move].copy_(brought)
            signs[move].copy_(sign)
            turn_there.add_(1).remainder_(BANK)  # cause: launch
        _, worth = player(boards)
        wanted = [None] * MOVES
        for move in reversed(range(MOVES)):
            worth = gains[move] + LATER * signs[move] * worth  # cause: launch
            wanted[move] = worth
        usual.lerp_(gains.mean(), 0.01)
        return torch.stack(wanted)

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Plays, and learns from what it played."""
        wanted = play()  # cause: launch
        logits, worth = player(seen)
        chances = logits.log_softmax(-1)
        better = wanted - worth
        good = (better.detach() * chances.gather(2, taken)[..., 0]).mean()
        open_minded = -(chances.exp() * chances).sum(-1).mean()
        loss = 0.5 * better.square().mean() - good - 0.01 * open_minded
        loss.backward()  # cause: launch
        nn.utils.clip_grad_norm_(player.parameters(), 0.5)  # cause: launch
        optimizer.step()  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0 and variant != "useless":
            told.append(usual.item())

    def values():
        """The usual gain of a move, and how large the weights have become."""
        return [usual.item(), float(player.moves.weight.detach().norm()), float(player.trunk[2].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
