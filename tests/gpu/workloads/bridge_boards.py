# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a bridge club tells its players how many tricks each side should have made: boards come as text in the format PBN,
with the four hands and the auction, and a small transformer reads who holds each of the 52 cards and what was called, and says
for each declarer and each suit (and no trump) how many tricks are to be expected. 512 boards are read at a time.

Wrong: boards are read letter by letter in Python, between the launches of one batch and those of the next one; the GPU has done
its work long before.
fix: the boards are read before the loop; copies and launches stay (host-bound).
fix2: the network is one CUDA graph; the boards are read as before (launch-bound).
useless: what was read lies in pinned memory when it is copied.
"""
import re

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
torch.set_float32_matmul_precision("high")

BOARDS, SETS, CARDS, CALLS, WIDTH, HEADS, LAYERS, TOLD = 512, 8, 52, 24, 128, 4, 4, 25
SEATS, RANKS = "NESW", "AKQJT98765432"  # suits: spades, hearts, diamonds, clubs
BIDS = [level + strain for level in "1234567" for strain in ("C", "D", "H", "S", "NT")]
CALL_NUMBERS = {word: number for number, word in enumerate([""] + ["Pass", "X", "XX"] + BIDS)}
TAG = re.compile(r'\[(\w+) "([^"]*)"\]')


def board(random, number):
    """The text of a board that was dealt by chance."""
    deal, dealer = random.permutation(CARDS), SEATS[number % 4]
    hands = []
    for seat in range(4):
        held = sorted(deal[13 * seat:13 * seat + 13].tolist())
        hands.append(".".join("".join(RANKS[c % 13] for c in held if c // 13 == suit) for suit in range(4)))
    calls, bid = ["Pass"] * int(random.integers(0, 4)), -1
    for _ in range(int(random.integers(2, 9))):
        bid += int(random.integers(1, 5))
        if bid >= len(BIDS):
            break
        calls += [BIDS[bid]] + ["Pass"] * int(random.integers(0, 2))
    calls += ["Pass"] * 3
    return '[Board "%d"]\n[Dealer "%s"]\n[Vulnerable "None"]\n[Deal "N:%s"]\n[Auction "%s"]\n%s\n' % (
        number, dealer, " ".join(hands), dealer, " ".join(calls))


def read_board(text):
    """Who holds each card, and the numbers of the calls."""
    tags = dict(TAG.findall(text))
    first, hands = tags["Deal"].split(":")
    seat, holder = SEATS.index(first), [0] * CARDS
    for hand in hands.split(" "):
        for suit, ranks in enumerate(hand.split(".")):
            for rank in ranks:
                holder[13 * suit + RANKS.index(rank)] = seat
        seat = (seat + 1) % 4
    calls = [CALL_NUMBERS[word] for word in text.rsplit("]", 1)[1].split()][:CALLS]
    return holder, calls + [0] * (CALLS - len(calls))


def read_boards(texts):
    read = [read_board(text) for text in texts]
    return numpy.array([r[0] for r in read], dtype=numpy.int64), numpy.array([r[1] for r in read], dtype=numpy.int64)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.behind = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.asked, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        boards, tokens, _ = x.shape
        parts = self.asked(self.before(x)).view(boards, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = torch.nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.out(found.transpose(1, 2).reshape(boards, tokens, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.behind(x))))


class Tricks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cards, self.places = (torch.nn.Parameter(torch.randn(n, WIDTH)) for n in (CARDS, CALLS))
        self.holders, self.calls = torch.nn.Embedding(4, WIDTH), torch.nn.Embedding(len(CALL_NUMBERS), WIDTH)
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.told = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 20)

    def forward(self, holders, calls):
        tokens = torch.cat((self.cards + self.holders(holders), self.places + self.calls(calls)), dim=1)
        return 13.0 * torch.sigmoid(self.told(self.norm(self.blocks(tokens)).mean(dim=1)))


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    sets = [[board(random, number) for number in range(BOARDS)] for _ in range(SETS)]
    network = Tricks().cuda().eval()
    holders, calls = (torch.zeros(BOARDS, n, dtype=torch.int64, device="cuda") for n in (CARDS, CALLS))
    pinned = None
    if variant == "useless":
        pinned = [torch.zeros(BOARDS, n, dtype=torch.int64, pin_memory=True) for n in (CARDS, CALLS)]
    ready = [read_boards(texts) for texts in sets] if variant == "fix" else None
    usual, turn, told = torch.zeros(3, device="cuda"), [0], [0.0] * 3

    @torch.no_grad()
    def expect():
        tricks = network(holders, calls)
        usual.mul_(0.95).add_(torch.stack((tricks.mean(), tricks.std(), tricks[:, ::5].amax(dim=1).mean())), alpha=0.05)

    one = expect
    if variant == "fix2":
        graph, _ = fixable.capture(torch, expect)
        one = graph.replay
        usual.zero_()

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        read = ready[number] if ready else read_boards(sets[number])  # cause: loader
        if pinned:
            for lies, array in zip(pinned, read):
                lies.numpy()[:] = array
        else:
            read = [torch.from_numpy(array) for array in read]
        for there, array in zip((holders, calls), pinned or read):
            there.copy_(array)  # cause: delayed
        one()
        if turn[0] % TOLD == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
