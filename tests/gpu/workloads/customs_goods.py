# SPDX-License-Identifier: Apache-2.0
"""PyTorch: customs learn to tell the chapter of the tariff (97 of them) from what traders write of their goods, which has other
forms and typing errors; words are cut into pieces of three letters, those are hashed to 65536 numbers, and the mean of their
vectors goes to a small network, as in the tutorial on text classification, 512 declarations at a time by a DataLoader.

Wrong: the DataLoader's collate function tidies, cuts and hashes words in Python, anew in each epoch, and the GPU waits for that.
fix: the batches, which are the same in each epoch, are collated once before the loop (host-bound).
fix2: the kernels of a step are one CUDA graph; the DataLoader does what it did (launch-bound).
useless: the DataLoader has pin_memory=True, and the copies do not wait.
"""
import random
import re
import zlib

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

CHAPTERS, DECLARATIONS, BATCH, PIECES, BUCKETS, WIDTH, HIDDEN, EACH = 97, 12288, 512, 96, 65536, 64, 128, 25
PACKED = ("ctns", "ctn", "pcs", "pallets", "boxes", "kgs", "kg", "drums", "rolls", "bags", "of", "and", "for", "with", "inv")
LETTERS = "aeioulnrstdmcpbgfhvkwyz"
WORD = re.compile("[a-z]+|[0-9]+")


def declarations():
    """What traders wrote, and the chapters of their goods."""
    luck = random.Random(20)

    def word():
        return "".join(luck.choice(LETTERS) for _ in range(luck.randint(4, 10)))
    goods = [[word() for _ in range(40)] for _ in range(CHAPTERS)]
    common = [word() for _ in range(200)]
    found = []
    for _ in range(DECLARATIONS):
        chapter = luck.randrange(CHAPTERS)
        words = [luck.choice(goods[chapter]) for _ in range(luck.randint(3, 5))]
        words += [luck.choice(common) for _ in range(luck.randint(3, 6))]
        at = luck.randrange(len(words))
        words[at] = words[at][:2] + luck.choice(LETTERS) + words[at][3:]  # a typing error
        luck.shuffle(words)
        text = " ".join(words).upper()
        lot = (luck.randint(1, 900), luck.choice(PACKED[:10]).upper(), text, luck.randrange(99999))
        found.append(("%d %s %s, INV.%05d" % lot, chapter))
    return found


def pieces_of(text):
    """Numbers of the pieces of three letters of the words that tell something, at most PIECES."""
    pieces = []
    for word in WORD.findall(text.lower()):
        if word in PACKED or word.isdigit():
            continue
        word = "<" + word + ">"
        for at in range(len(word) - 2):
            pieces.append(zlib.crc32(word[at:at + 3].encode()) % (BUCKETS - 1) + 1)  # cause: loader
    return pieces[:PIECES]


def collate(batch):
    pieces = numpy.zeros((len(batch), PIECES), dtype=numpy.int64)
    for row, (text, _) in enumerate(batch):
        found = pieces_of(text)  # cause: loader
        pieces[row, :len(found)] = found
    return torch.from_numpy(pieces), torch.tensor([chapter for _, chapter in batch])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.pieces = nn.Embedding(BUCKETS, WIDTH, padding_idx=0)
        self.network = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CHAPTERS))

    def forward(self, pieces):
        many = (pieces > 0).sum(dim=1, keepdim=True).clamp(min=1)
        return self.network(self.pieces(pieces).sum(dim=1) / many)


def endless(batches):
    while True:
        yield from batches


def make(variant):
    fixable.seed(torch)
    loader = torch.utils.data.DataLoader(declarations(), batch_size=BATCH, shuffle=False, collate_fn=collate,
                                         pin_memory=variant == "useless")
    model = Classifier().cuda().train()
    feed = endless(list(loader) if variant == "fix" else loader)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    pieces = torch.zeros(BATCH, PIECES, dtype=torch.int64, device="cuda")
    chapters = torch.zeros(BATCH, dtype=torch.int64, device="cuda")
    usual, graph, turn, told = torch.zeros(2, device="cuda"), None, [0], [0.0, 0.0]

    def learn():
        optimizer.zero_grad()
        scores = model(pieces)
        loss = F.cross_entropy(scores, chapters)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        right = (scores.detach().argmax(dim=1) == chapters).float().mean()
        usual.lerp_(torch.stack((loss.detach(), right)), 0.05)

    if variant == "fix2":
        begun = [(tensor, tensor.clone()) for tensor in model.state_dict().values()]
        graph, _ = fixable.capture(torch, learn)
        with torch.no_grad():  # what the capture's warm-up has learnt is forgotten
            for tensor, first in begun:
                tensor.copy_(first)
            for state in optimizer.state.values():
                for tensor in state.values():
                    tensor.zero_()
            usual.zero_()

    def step():
        new_pieces, new_chapters = next(feed)  # cause: loader
        turn[0] += 1
        pieces.copy_(new_pieces, non_blocking=variant == "useless")  # cause: delayed
        chapters.copy_(new_chapters, non_blocking=variant == "useless")
        if graph is not None:
            graph.replay()
        else:
            learn()
        if turn[0] % EACH == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
