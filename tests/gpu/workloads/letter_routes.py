# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a sorting machine has read the addresses of letters, with some characters wrong, and a network is to tell which of 400
delivery routes a letter belongs to. An address is cleaned, its short forms are written out, and each three characters in a row get
a number by a hash; convolutions over these learn from 512 letters at a time.

Wrong: Python cleans and numbers the addresses anew in each epoch, in the thread that calls the GPU, and the GPU waits for it.
fix: the batches, which are the same in each epoch, are numbered once before the loop (host-bound).
fix2: forward, backward, clipping and AdamW are one CUDA graph; the addresses are numbered as before (launch-bound).
useless: the batch is copied from pinned memory.
"""
import random
import re
import zlib

import fixable

run = fixable.Program(__doc__, steps=280, warm_up=16)
torch, numpy = fixable.load_torch("numpy")
nn, functional = torch.nn, torch.nn.functional

BATCHES, BATCH, LONG, HASHED, WIDE, LAYERS, ROUTES, SHOWN = 16, 512, 48, 16384, 96, 3, 400, 25
SHORT = {"str": "street", "st": "street", "rd": "road", "ave": "avenue", "ln": "lane", "sq": "square", "mt": "mount", "n": "north"}
OTHER = re.compile(r"[^a-z0-9 ]")


def sorted_letters():
    """Addresses as the machine has read them, and their routes."""
    luck = random.Random(20)
    parts = "ash birk cold dun elm fair green hart king low mill north oak pen stone well".split()
    ends = ("bury", "field", "ford", "ham", "ley", "mere", "ton", "wick", "worth", "bridge")
    towns = [one + end for one in parts for end in ends][:ROUTES // 4]
    streets = [one + two for one in parts for two in parts if one != two]
    kinds = ("Str.", "Rd", "Ave.", "Ln", "Sq.", "Street", "Road")
    letters, routes = [], []
    for _ in range(BATCHES * BATCH):
        town, street, house = luck.randrange(len(towns)), luck.randrange(len(streets)), luck.randrange(1, 200)
        line = "%d %s %s, %s %04d" % (house, streets[street].title(), luck.choice(kinds), towns[town].upper(), 1000 + 37 * town)
        line = "".join(luck.choice("abcdeilno0158") if luck.random() < 0.04 else c for c in line)
        letters.append(line)
        routes.append(4 * town + street * 4 // len(streets))
    return letters, numpy.array(routes, dtype=numpy.int64)


def numbered(letters):
    """A number for each three characters in a row of each address, from 1; 0 where there are no more."""
    numbers = numpy.zeros((len(letters), LONG), dtype=numpy.int32)
    for row, line in enumerate(letters):
        words = OTHER.sub(" ", line.lower()).split()  # cause: loader
        text = " %s " % " ".join(SHORT.get(word, word) for word in words)  # cause: loader
        threes = [text[at:at + 3] for at in range(min(len(text) - 2, LONG))]  # cause: loader
        numbers[row, :len(threes)] = [zlib.crc32(three.encode()) % (HASHED - 1) + 1 for three in threes]  # cause: loader
    return torch.from_numpy(numbers)


class Router(nn.Module):
    """Convolutions along the address, and the strongest answer of each."""

    def __init__(self):
        super().__init__()
        self.threes = nn.Embedding(HASHED, WIDE, padding_idx=0)
        self.along = nn.ModuleList(nn.Conv1d(WIDE, WIDE, 5, padding=2) for _ in range(LAYERS))
        self.even = nn.ModuleList(nn.LayerNorm(WIDE) for _ in range(LAYERS))
        self.last = nn.Linear(WIDE, ROUTES)

    def forward(self, numbers):
        x = self.threes(numbers)
        for along, even in zip(self.along, self.even):
            x = x + functional.gelu(along(even(x).transpose(1, 2)).transpose(1, 2))
        return self.last(x.amax(dim=1))


def make(variant):
    fixable.seed(torch)
    letters, routes = sorted_letters()
    model = Router().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True, capturable=True)
    numbers = torch.zeros(BATCH, LONG, dtype=torch.int32, device="cuda")
    wanted = torch.zeros(BATCH, dtype=torch.int64, device="cuda")
    usual = torch.full((), 6.0, device="cuda")
    turn, told = [0], []

    def batch(number):
        """The addresses of a batch as numbers, and their routes."""
        part = slice(number * BATCH, (number + 1) * BATCH)
        return numbered(letters[part]), torch.from_numpy(routes[part])  # cause: loader

    def learn():
        loss = functional.cross_entropy(model(numbers), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    def captured():
        """A graph of a step of training, and all as it was before."""
        kept = [weights.detach().clone() for weights in model.parameters()]
        graph, _ = fixable.capture(torch, learn, optimizer.zero_grad)
        with torch.no_grad():
            for weights, old in zip(model.parameters(), kept):
                weights.copy_(old)
                for own in optimizer.state[weights].values():
                    own.zero_()
        usual.fill_(6.0)
        return graph

    graph = captured() if variant == "fix2" else None
    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        if variant == "useless":
            given = [one.pin_memory() for one in given]
        numbers.copy_(given[0], non_blocking=True)  # cause: delayed
        wanted.copy_(given[1], non_blocking=True)
        if graph:
            graph.replay()
        else:
            optimizer.zero_grad()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
