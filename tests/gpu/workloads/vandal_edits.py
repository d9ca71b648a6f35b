# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an encyclopedia looks for vandals: a language model tells how odd each article has become by an edit. The GPU's
memory is for other programs, so the model's twelve blocks lie on the host, in pinned memory; each comes over for its turn.

Wrong: a block's weights are copied on the stream of the kernels: no block is copied while the one before it computes.
fix: copies have a stream of their own and two places, and are a block ahead (copy-bound).
fix2: the weights are kept as bytes, and become numbers of 16 bits on the GPU; one stream (copy-bound).
useless: the weights come to one place that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=100, warm_up=6)
torch = fixable.load_torch()
F = torch.nn.functional

ARTICLES, LENGTH, WORDS, WIDTH, HEADS, BLOCKS, SETS, WIDE = 6, 1024, 16384, 1536, 24, 12, 8, 0.02
SHAPES = ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH))
SIZES = [rows * columns for rows, columns in SHAPES]
LEVEL = 4.5 * WIDE / 127.0  # of the bytes


def weights(as_bytes):
    """All weights of each block in one row, in pinned memory."""
    for _ in range(BLOCKS):
        row = WIDE * torch.randn(sum(SIZES), device="cuda")
        row = (row / LEVEL).round().clamp(-127.0, 127.0).to(torch.int8) if as_bytes else row.to(torch.bfloat16)
        yield torch.empty(row.shape, dtype=row.dtype, pin_memory=True).copy_(row)


def edits():
    """Articles as numbers of words; some have nonsense in them."""
    for _ in range(SETS):
        words = (3.0 * torch.rand(ARTICLES, LENGTH + 1).clamp(min=1e-4).pow(-1.0)).long()  # few words are frequent
        nonsense = torch.rand(ARTICLES, LENGTH + 1) < 0.2 * torch.rand(ARTICLES, 1).square()
        words = torch.where(nonsense, torch.randint(0, WORDS, words.shape), words)
        yield words.remainder(WORDS).pin_memory()


def block(x, row):
    """What a block makes of its articles, with all of its weights in a row."""
    three, out, up, down = (part.view(shape) for part, shape in zip(row.split(SIZES), SHAPES))
    parts = F.linear(F.layer_norm(x, (WIDTH,)), three).view(ARTICLES, LENGTH, 3, HEADS, WIDTH // HEADS)
    query, key, value = (part.transpose(1, 2) for part in parts.unbind(dim=2))
    heed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    x = x + F.linear(heed.transpose(1, 2).reshape(ARTICLES, LENGTH, WIDTH), out)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (WIDTH,)), up)), down)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    rows, articles = list(weights(variant == "fix2")), list(edits())
    words = (WIDE * torch.randn(WORDS, WIDTH, device="cuda")).to(torch.bfloat16)
    places = [torch.empty_like(rows[0], device="cuda") for _ in range({"fix": 2, "useless": 1}.get(variant, 0))]
    turn, usual = [0], [0.0, 0.0]
    if variant == "fix":
        copies, (arrived, used) = torch.cuda.Stream(), ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        copies.wait_stream(torch.cuda.current_stream())

    def send(number):
        at = number % 2
        with torch.cuda.stream(copies):
            copies.wait_event(used[at])  # by the block before the last one
            places[at].copy_(rows[number % BLOCKS], non_blocking=True)
            arrived[at].record()

    def ahead(x, number):
        """The block of this number, while the next one comes."""
        send(number + 1)
        torch.cuda.current_stream().wait_event(arrived[number % 2])
        x = block(x, places[number % 2])
        used[number % 2].record()
        return x

    def in_turn(x, number):
        row = rows[number % BLOCKS]
        if variant == "useless":
            return block(x, places[0].copy_(row, non_blocking=True))
        there = row.to("cuda", non_blocking=True)  # cause: copy
        return block(x, there.to(torch.bfloat16).mul_(LEVEL) if variant == "fix2" else there)

    through = ahead if variant == "fix" else in_turn

    def oddness(article):
        """How badly each article's words can be told from those before them."""
        x = F.embedding(article[:, :-1], words) / WIDE
        for number in range(turn[0] * BLOCKS, (turn[0] + 1) * BLOCKS):
            x = through(x, number)  # cause: copy
        scores = F.linear(F.layer_norm(x, (WIDTH,)), words)
        losses = F.cross_entropy(scores.view(-1, WORDS).float(), article[:, 1:].reshape(-1), reduction="none")
        return losses.view(ARTICLES, LENGTH).mean(dim=1)

    if variant == "fix":
        send(0)

    @torch.no_grad()
    def step():
        told = oddness(articles[turn[0] % SETS].to("cuda", non_blocking=True)).tolist()  # cause: copy
        turn[0] += 1
        usual[0] += 0.05 * (max(told) - usual[0])  # someone would look at this article
        usual[1] += 0.05 * (sum(told) / ARTICLES - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
