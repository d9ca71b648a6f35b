# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a language model of 12 blocks, whose activations are computed again in the backward pass, "to save memory".

Wrong: a quarter of the GPU's work is done twice, and nothing that the host does would help (gpu-bound).
fix: without torch.utils.checkpoint, since the memory is there (gpu-bound).
useless: the texts come from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=80, warm_up=3)
torch, checkpointing = fixable.load_torch("torch.utils.checkpoint")
nn = torch.nn

BATCH, LENGTH, WIDTH, HEADS, BLOCKS, VOCABULARY = 12, 1024, 1024, 16, 12, 8192


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        shape = (x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.parts(self.before(x)).chunk(3, dim=-1))
        looked = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(looked.transpose(1, 2).flatten(2))
        return x + self.outer(nn.functional.gelu(self.inner(self.between(x))))


class Language(nn.Module):
    def __init__(self, again):
        super().__init__()
        self.again = again
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words):
        x = self.embed(words) + self.places.weight
        for block in self.blocks:
            x = checkpointing.checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return self.head(x)


def make(variant):
    fixable.seed(torch)
    model = Language(again=variant != "fix").cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    texts = [torch.randint(0, VOCABULARY, (BATCH, LENGTH)) for _ in range(4)]
    pinned = variant == "useless"
    if pinned:
        texts = [text.pin_memory() for text in texts]
    turn, seen = [0], []

    def step():
        words = texts[turn[0] % 4].to("cuda", non_blocking=pinned)
        turn[0] += 1
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            chances = model(words)
            loss = nn.functional.cross_entropy(chances[:, :-1].flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
