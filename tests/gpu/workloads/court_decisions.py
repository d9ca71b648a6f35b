# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a court's decisions of many years get vectors, so that lawyers find those that are like theirs: a transformer of six
wide blocks reads eight pieces of 1024 words each in bfloat16. A thread puts decisions together to such pieces ahead of it.

Wrong: nothing: nearly all of a step is large products of matrices and attention by flash kernels; the host launches them far
ahead, and the wait for the eight vectors, which go to the index on the host, costs the GPU next to nothing (gpu-bound).
useless: the vectors stay on the device, and are read behind 20 batches.
"""
import queue
import threading

import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=120, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

PIECES, LENGTH, WORDS, WIDTH, HEADS, BLOCKS, DECISIONS, END = 8, 1024, 32000, 3072, 24, 6, 400, 1
WHERE = {"device": "cuda", "dtype": torch.bfloat16}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH, **WHERE), nn.LayerNorm(WIDTH, **WHERE)
        self.three, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False, **WHERE), nn.Linear(WIDTH, WIDTH, bias=False, **WHERE)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False, **WHERE), nn.Linear(4 * WIDTH, WIDTH, bias=False, **WHERE)

    def forward(self, x):
        parts = self.three(self.first(x)).view(PIECES, LENGTH, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(dim=2))
        heed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.out(heed.transpose(1, 2).reshape(PIECES, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Reader(nn.Module):
    """A vector of length one for each piece."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH, **WHERE), nn.Embedding(LENGTH, WIDTH, **WHERE)
        self.blocks, self.last = nn.Sequential(*(Block() for _ in range(BLOCKS))), nn.LayerNorm(WIDTH, **WHERE)

    def forward(self, pieces):
        x = self.blocks(self.words(pieces) + self.places.weight)
        return F.normalize(self.last(x).float().mean(dim=1), dim=1)


def archive():
    """Decisions as numbers of words, some long and some short, each of some field of law."""
    random = numpy.random.default_rng(20)
    for length in random.integers(300, 6000, DECISIONS).tolist():
        field = random.integers(2, WORDS - 4000)
        words = numpy.where(random.random(length) < 0.5, random.integers(field, field + 4000, length),
                            random.zipf(1.3, length) % (WORDS - 2) + 2)
        yield numpy.append(words, END)


def put_together(decisions, ready):
    """Fills the queue with pieces; where one decision ends, the next one begins."""
    left, number = numpy.zeros(0, dtype=numpy.int64), 0
    while True:
        parts = [left]
        while sum(len(part) for part in parts) < PIECES * LENGTH:
            parts.append(decisions[number % len(decisions)])
            number += 1
        words = numpy.concatenate(parts)
        left = words[PIECES * LENGTH:]
        ready.put(torch.from_numpy(words[:PIECES * LENGTH].reshape(PIECES, LENGTH)).pin_memory())


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model, decisions, ready = Reader().eval(), list(archive()), queue.Queue(maxsize=4)
    threading.Thread(target=put_together, args=(decisions, ready), daemon=True).start()
    index, turn, pending, usual = numpy.zeros((512, PIECES, WIDTH), dtype=numpy.float32), [0], [], [0.0, 0.0]

    def store(number, vectors):
        """The vectors become part of the index; how alike pieces of a batch are goes to a log."""
        index[number % len(index)] = vectors
        alike = vectors @ vectors.T
        usual[0] += 0.05 * (float(alike[0, 1]) - usual[0])
        usual[1] += 0.05 * (float(numpy.abs(vectors).mean()) * WIDTH ** 0.5 - usual[1])

    @torch.no_grad()
    def step():
        vectors = model(ready.get().to("cuda", non_blocking=True))
        turn[0] += 1
        if variant != "useless":
            store(turn[0], vectors.cpu().numpy())
            return
        pending.append(vectors)
        if turn[0] % LOOK_EVERY == 0:
            for number, one in enumerate(torch.stack(pending).cpu().numpy(), turn[0] + 1 - LOOK_EVERY):
                store(number, one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
