# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns what chess positions are worth; they are kept as lines of text (FEN), each of which is read letter by
letter into twelve planes of zeros and ones when it is its turn.

Wrong: Python reads the letters of a batch longer than the whole training step takes, and the GPU waits.
fix: all positions are read once before the loop, and their planes lie on the device (host-bound).
fix2: the texts of a batch are put into one, whose letters NumPy turns into planes (host-bound).
useless: the planes are pinned, and copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=6)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

POSITIONS, BATCH, WIDTH, LAYERS, LOOK_EVERY = 20000, 1024, 128, 10, 25
PIECES, WORTH = "PNBRQKpnbrqk", numpy.array([1, 3, 3, 5, 9, 0, -1, -3, -3, -5, -9, 0])
GAPS = str.maketrans({**{str(n): "." * n for n in range(1, 9)}, "/": None})


def positions(random):
    """Lines of text, and what each is worth for the one whose turn it is."""
    texts, worth = [], []
    for men in random.integers(12, 31, POSITIONS):
        board, kinds = numpy.full(64, "."), random.choice(12, men, p=[.2, .07, .07, .07, .04, .05] * 2)
        board[random.choice(64, men, replace=False)] = numpy.array(list(PIECES))[kinds]
        rows = ["".join(row) for row in board.reshape(8, 8).tolist()]
        for n in range(8, 0, -1):
            rows = [row.replace("." * n, str(n)) for row in rows]
        turn = "wb"[random.integers(2)]
        texts.append("%s %s - - 0 %d" % ("/".join(rows), turn, random.integers(8, 60)))
        worth.append(numpy.tanh(WORTH[kinds].sum() / 10.0) * (1 if turn == "w" else -1))
    return texts, torch.tensor(numpy.array(worth), dtype=torch.float32, device="cuda")


def planes_of(text):
    """One plane a kind of piece, as the one sees it whose turn it is."""
    rows, turn = text.split()[:2]  # cause: loader
    rows = rows.split("/")  # cause: loader
    if turn == "b":
        rows = [row.swapcase() for row in reversed(rows)]  # cause: loader
    planes = numpy.zeros((12, 8, 8), numpy.float32)  # cause: loader
    for at, row in enumerate(rows):
        column = 0
        for letter in row:  # cause: loader
            if letter.isdigit():  # cause: loader
                column += int(letter)  # cause: loader
            else:
                planes[PIECES.index(letter), at, column] = 1.0  # cause: loader
                column += 1  # cause: loader
    return planes


def planes_at_once(texts):
    rows, turns = zip(*(text.split(" ", 2)[:2] for text in texts))
    whole = "".join([each.swapcase() if turn == "b" else each for each, turn in zip(rows, turns)]).translate(GAPS)
    letters = numpy.frombuffer(whole.encode(), numpy.uint8).reshape(-1, 1, 8, 8)
    black = numpy.array([turn == "b" for turn in turns]).reshape(-1, 1, 1, 1)
    letters = numpy.where(black, letters[:, :, ::-1], letters)
    return (letters == numpy.frombuffer(PIECES.encode(), numpy.uint8).reshape(12, 1, 1)).astype(numpy.float32)


def network():
    parts = [nn.Conv2d(12, WIDTH, 3, padding=1), nn.ReLU()]
    for _ in range(LAYERS):
        parts += [nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU()]
    return nn.Sequential(*parts, nn.Conv2d(WIDTH, 8, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 1), nn.Tanh())


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    texts, worth = positions(random)
    model = network().to("cuda", memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    ready = torch.from_numpy(numpy.stack([planes_of(text) for text in texts])).cuda() if variant == "fix" else None
    turn, seen = [0], []

    def batch():
        rows = random.integers(0, POSITIONS, BATCH)
        there = torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)
        if variant == "fix":
            return ready[there], worth[there]
        chosen = [texts[row] for row in rows.tolist()]
        if variant == "fix2":
            planes = torch.from_numpy(planes_at_once(chosen))
        else:
            planes = torch.from_numpy(numpy.stack([planes_of(text) for text in chosen]))  # cause: loader
        if variant == "useless":
            return planes.pin_memory().to("cuda", non_blocking=True), worth[there]
        return planes.cuda(), worth[there]  # cause: delayed

    def step():
        turn[0] += 1
        planes, wanted = batch()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            guess = model(planes.contiguous(memory_format=torch.channels_last))
        loss = F.mse_loss(guess.float().view(-1), wanted)
        loss.backward()
        optimizer.step()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
