# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network learns which composer has written a piece of music. Pieces are lists of notes, as a MIDI file has them; each
time they are moved up or down by some keys and put into a roll: a plane of keys and ticks that says what sounds.

Wrong: Python puts one note after the other into the rolls of a batch, and the GPU waits for it.
fix: NumPy puts the notes of a whole batch into the rolls at once (host-bound).
fix2: what is learnt from a batch is one CUDA graph (launch-bound).
useless: the rolls are pinned, and copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=8)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

BATCH, SETS, NOTES, KEYS, TICKS, COMPOSERS, WIDTH, BLOCKS, LOOK_EVERY = 64, 10, 420, 128, 256, 16, 192, 5, 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.over = nn.GroupNorm(8, WIDTH), nn.Conv1d(WIDTH, WIDTH, 5, padding=2)

    def forward(self, x):
        return x + self.over(F.relu(self.before(x)))


def pieces(random):
    """(pieces, composers): each composer has keys that he likes; a note is (key, start, ticks, loudness)."""
    composers = random.integers(0, COMPOSERS, SETS * BATCH)
    found = []
    for composer in composers.tolist():
        keys = numpy.clip(random.normal(45 + 2 * composer, 12.0, NOTES).astype(int), 12, KEYS - 13)
        starts = numpy.sort(random.integers(0, TICKS - 16, NOTES))
        found.append(list(zip(keys.tolist(), starts.tolist(), random.integers(2, 16, NOTES).tolist(),
                              random.integers(20, 120, NOTES).tolist())))
    return [found[at:at + BATCH] for at in range(0, SETS * BATCH, BATCH)], composers.reshape(SETS, BATCH)


def make(variant):
    fixable.seed(torch)
    played, composers = pieces(numpy.random.default_rng(20))
    right = torch.from_numpy(composers).cuda()
    model = nn.Sequential(nn.Conv1d(KEYS, WIDTH, 5, padding=2), *(Block() for _ in range(BLOCKS)), nn.AdaptiveAvgPool1d(1),
                          nn.Flatten(), nn.Linear(WIDTH, COMPOSERS)).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=variant == "fix2")
    arrays = [numpy.array(batch).reshape(-1, 4).T for batch in played] if variant == "fix" else None
    of_piece, pinned = numpy.repeat(numpy.arange(BATCH), NOTES), variant == "useless"
    turn, last, seen = [0], [], []

    def one_by_one(at, moved):
        rolls = numpy.zeros((BATCH, KEYS, TICKS), dtype=numpy.uint8)
        for number, notes in enumerate(played[at]):  # cause: loader
            up = moved[number]  # cause: loader
            for key, start, ticks, loud in notes:  # cause: loader
                rolls[number, key + up, start:start + ticks] = loud  # cause: loader
                rolls[number, key + up, start] = loud + 100  # cause: loader
        return rolls

    def at_once(at, moved):
        key, start, ticks, loud = arrays[at]
        ends = numpy.cumsum(ticks)
        begins = ends - ticks
        where = numpy.repeat((of_piece * KEYS + key + moved[of_piece]) * TICKS + start - begins, ticks) + numpy.arange(ends[-1])
        sounds = numpy.repeat(loud, ticks)
        sounds[begins] += 100
        rolls = numpy.zeros(BATCH * KEYS * TICKS, dtype=numpy.uint8)
        rolls[where] = sounds
        return rolls.reshape(BATCH, KEYS, TICKS)

    def batch(number):
        moved = numpy.random.default_rng(number).integers(-6, 7, BATCH)
        put = at_once(number % SETS, moved) if variant == "fix" else one_by_one(number % SETS, moved.tolist())  # cause: loader
        return torch.from_numpy(put)

    def learn(rolls, wanted):
        loss = F.cross_entropy(model(rolls.float() / 100.0), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if variant == "fix2":
        kept = [p.detach().clone() for p in model.parameters()]
        places = [torch.zeros(BATCH, KEYS, TICKS, dtype=torch.uint8, device="cuda"), right[0].clone()]
        graph, learnt = fixable.capture(torch, lambda: learn(*places))
        with torch.no_grad():
            for p, old in zip(model.parameters(), kept):
                p.copy_(old)
                for part in optimizer.state[p].values():
                    part.zero_()

    def step():
        rolls, wanted = batch(turn[0]), right[turn[0] % SETS]  # cause: loader
        turn[0] += 1
        rolls = (rolls.pin_memory() if pinned else rolls).to("cuda", non_blocking=pinned)  # cause: delayed
        if variant == "fix2":
            places[0].copy_(rolls)
            places[1].copy_(wanted)
            graph.replay()
            last[:] = [learnt]
        else:
            last[:] = [learn(rolls, wanted)]
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [last[0].item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
