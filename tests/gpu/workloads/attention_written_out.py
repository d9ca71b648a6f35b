# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a transformer over long texts, whose attention is written out: a product, a mask, a softmax, a product.

Wrong: the GPU writes and reads tables of length times length for each head; it is never idle (gpu-bound).
fix: scaled_dot_product_attention, which keeps no such table (gpu-bound).
useless: the loss is read every 20 steps instead of at each one.
"""
import fixable

run = fixable.Program(__doc__, steps=60, warm_up=3)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

BATCH, LENGTH, WIDTH, HEADS, BLOCKS, VOCABULARY = 4, 2048, 1024, 16, 6, 4096


class Attention(nn.Module):
    def __init__(self, short):
        super().__init__()
        self.parts, self.joined, self.short = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), short
        self.register_buffer("later", torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1))

    def forward(self, x):
        shape = (x.shape[0], LENGTH, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.parts(x).chunk(3, dim=-1))
        if self.short:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * shape[-1] ** -0.5
            scores = scores.masked_fill(self.later, float("-inf"))
            y = F.softmax(scores, dim=-1).to(v.dtype) @ v
        return self.joined(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, short):
        super().__init__()
        self.attention = Attention(short)
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.thought = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.thought(self.between(x))


def make(variant):
    fixable.seed(torch)
    blocks = [Block(short=variant == "fix") for _ in range(BLOCKS)]
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *blocks, nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    texts = torch.randint(0, VOCABULARY, (4, BATCH, LENGTH + 1), device="cuda")
    turn, losses = [0], []

    def step():
        words = texts[turn[0] % 4]
        turn[0] += 1
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if variant != "useless" or turn[0] % 20 == 0:
            losses[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(losses))


run.main(make)
