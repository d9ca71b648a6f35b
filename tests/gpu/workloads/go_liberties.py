# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns where masters of Go have played; a thread makes the batches: it turns or mirrors each position, and
counts the liberties of each group of stones, for the planes that the network sees.

Wrong: the stones are counted in Python, which takes several times what is learnt from them, and the thread that was to do this
beside the GPU has the interpreter meanwhile, without which nothing is launched.
fix: the planes of all positions, seen from all eight sides, are made once; the thread chooses among them (host-bound).
fix2: what is learnt from a batch is one CUDA graph, for which the interpreter is needed once (launch-bound).
useless: the batches are pinned, and copied with non_blocking=True.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

SIZE, BATCH, POSITIONS, CHANNELS, BLOCKS, PLANES, AHEAD, LOOK_EVERY = 19, 64, 768, 64, 5, 7, 2, 20
POINTS = SIZE * SIZE
EMPTY, BLACK, WHITE = 0, 1, 2
NEAR = [[y * SIZE + x for y, x in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
         if 0 <= y < SIZE and 0 <= x < SIZE] for row in range(SIZE) for column in range(SIZE)]


def group_of(board, point):
    """The stones that belong together with the one at this point, and their liberties."""
    group, free, waiting = {point}, set(), [point]
    while waiting:  # cause: loader
        for near in NEAR[waiting.pop()]:  # cause: loader
            if board[near] == EMPTY:  # cause: loader
                free.add(near)  # cause: loader
            elif board[near] == board[point] and near not in group:  # cause: loader
                group.add(near)  # cause: loader
                waiting.append(near)  # cause: loader
    return group, free


def planes_of(board, mover):
    """Own stones with 1, 2, or more liberties, those of the other, and what is free: (PLANES, POINTS)."""
    planes = numpy.zeros((PLANES, POINTS), dtype=numpy.uint8)
    seen = set()
    for point in range(POINTS):  # cause: loader
        if board[point] == EMPTY:  # cause: loader
            planes[6, point] = 1  # cause: loader
        elif point not in seen:  # cause: loader
            group, free = group_of(board, point)  # cause: loader
            seen |= group
            plane = (0 if board[point] == mover else 3) + min(len(free), 3) - 1
            for stone in group:  # cause: loader
                planes[plane, stone] = 1  # cause: loader
    return planes


def game(random):
    """A position after some moves, who is to move, and where: some free point beside many stones."""
    board, mover = [EMPTY] * POINTS, BLACK
    for point in random.permutation(POINTS)[:random.integers(40, 240)].tolist():
        board[point] = mover
        for near in [point] + NEAR[point]:
            if near != point and board[near] == BLACK + WHITE - mover:
                group, free = group_of(board, near)
                if not free:
                    for stone in group:
                        board[stone] = EMPTY
        if not group_of(board, point)[1]:  # nobody may do this
            board[point] = EMPTY
        mover = BLACK + WHITE - mover
    free = [point for point in range(POINTS) if board[point] == EMPTY]
    return board, mover, max(free, key=lambda point: (sum(board[near] != EMPTY for near in NEAR[point]), point))


def symmetries():
    """Where each point comes from, and where it goes to, when the board is turned or mirrored."""
    numbers, comes = numpy.arange(POINTS).reshape(SIZE, SIZE), []
    for seen in (numbers, numbers.T):
        comes += [numpy.rot90(seen, quarter).reshape(-1) for quarter in range(4)]
    return [way.tolist() for way in comes], [numpy.argsort(way).tolist() for way in comes]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS), nn.ReLU(),
                                    nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS))

    def forward(self, x):
        return torch.relu(x + self.layers(x))


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    games, (comes, goes) = [game(random) for _ in range(POSITIONS)], symmetries()
    model = nn.Sequential(nn.Conv2d(PLANES, CHANNELS, 3, padding=1), nn.ReLU(), *[Block() for _ in range(BLOCKS)],
                          nn.Conv2d(CHANNELS, 1, 1), nn.Flatten()).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=variant == "fix2")
    waiting, pinned = queue.Queue(maxsize=AHEAD), variant == "useless"
    turn, last, seen = [0], [], []

    def position(number, side):
        board, mover, move = games[number]
        return planes_of([board[point] for point in comes[side]], mover), goes[side][move]  # cause: loader

    if variant == "fix":
        made = [[position(number, side) for side in range(8)] for number in range(POSITIONS)]
        all_planes = numpy.stack([[planes for planes, _ in sides] for sides in made])
        all_moves = numpy.array([[move for _, move in sides] for sides in made])

    def batch():
        numbers, sides = random.integers(0, POSITIONS, BATCH), random.integers(0, 8, BATCH)
        if variant == "fix":
            planes, moves = all_planes[numbers, sides], all_moves[numbers, sides]
        else:
            chosen = [position(number, side) for number, side in zip(numbers, sides)]  # cause: loader
            planes, moves = numpy.stack([planes for planes, _ in chosen]), numpy.array([move for _, move in chosen])
        planes, moves = torch.from_numpy(planes).view(BATCH, PLANES, SIZE, SIZE), torch.from_numpy(moves)
        return (planes.pin_memory(), moves.pin_memory()) if pinned else (planes, moves)

    def load():
        while True:
            try:
                made = batch()  # cause: loader
            except Exception as e:
                made = e
            waiting.put(made)

    def learn(planes, moves):
        loss = nn.functional.cross_entropy(model(planes.float()), moves, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if variant == "fix2":
        places = [part.cuda() for part in batch()]
        graph, learnt = fixable.capture(torch, lambda: learn(*places))

    threading.Thread(target=load, name="loader", daemon=True).start()

    def step():
        made = waiting.get()  # cause: loader
        if isinstance(made, Exception):
            raise made
        turn[0] += 1
        planes, moves = [part.to("cuda", non_blocking=pinned) for part in made]  # cause: delayed
        if variant == "fix2":
            places[0].copy_(planes)
            places[1].copy_(moves)
            graph.replay()
            last[:] = [learnt]
        else:
            last[:] = [learn(planes, moves)]  # cause: delayed
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(last[0])]

    def values():
        return fixable.sample_of(torch, *[weight.abs() for weight in list(model.parameters())[:3]])

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
