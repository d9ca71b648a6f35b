# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the ten stored texts that are nearest to each question are looked for among vectors that the GPU's memory shall not be
filled with; they lie on the host in pieces, each of which comes to the GPU and is compared with all questions.

Wrong: the pieces lie in pageable memory; .cuda() takes many times what the comparison takes, which can begin only then.
fix: they lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: they are kept in half precision, in memory of the same kind, and become float32 on the GPU (copy-bound).
useless: a piece is copied to a tensor that is allocated once.
"""
import fixable

PIECES = 4

run = fixable.Program(__doc__, steps=240, warm_up=2 * PIECES, multiple=PIECES)
torch = fixable.load_torch()
F = torch.nn.functional

VECTORS, WIDTH, QUESTIONS, SETS, BEST, LOOK_EVERY = 49152, 384, 256, 5, 10, 5 * PIECES


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    topics = torch.randn(200, WIDTH)
    pieces = [F.normalize(topics[torch.randint(0, 200, (VECTORS,))] + torch.randn(VECTORS, WIDTH), dim=1) for _ in range(PIECES)]
    questions = F.normalize(topics[torch.randint(0, 200, (SETS * QUESTIONS,))] + torch.randn(SETS * QUESTIONS, WIDTH), dim=1)
    questions = questions.view(SETS, QUESTIONS, WIDTH).cuda()
    if variant == "fix":
        pieces = [piece.pin_memory() for piece in pieces]
    elif variant == "fix2":
        pieces = [piece.half() for piece in pieces]
    place = torch.empty(VECTORS, WIDTH, device="cuda") if variant == "useless" else None
    turn, found, answer, seen = [0], [], [], []

    def there(piece):
        if variant == "fix":
            return piece.to("cuda", non_blocking=True)
        if variant == "fix2":
            return piece.cuda().float()
        if variant == "useless":
            return place.copy_(piece)
        return piece.cuda()  # cause: copy

    @torch.no_grad()
    def step():
        number = turn[0] % PIECES
        asked = questions[turn[0] // PIECES % SETS]
        turn[0] += 1
        likeness, which = (asked @ there(pieces[number]).t()).topk(BEST, dim=1)
        which += number * VECTORS
        if number == 0:
            found[:] = [likeness, which]
        else:
            both = torch.cat((found[0], likeness), dim=1), torch.cat((found[1], which), dim=1)
            likeness, at = both[0].topk(BEST, dim=1)
            found[:] = [likeness, both[1].gather(1, at)]
        if number == PIECES - 1:
            answer[:] = found
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = answer[1][:, 0].tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, answer[0]))


run.main(make)
