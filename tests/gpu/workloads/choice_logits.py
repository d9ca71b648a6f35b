# SPDX-License-Identifier: Apache-2.0
"""PyTorch: questions with four answers to choose from; a language model says at the end of each text which answer it believes.

Wrong: it says for each word of a text how likely each of 65,536 words is behind it, and all but the last of that is thrown away;
the GPU is at work throughout (gpu-bound).
fix: only the last word's vector goes through the last layer (gpu-bound).
useless: the whole step is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=270, warm_up=4)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

TEXTS, LENGTH, WIDTH, HEADS, BLOCKS, VOCABULARY, SETS, LOOK_EVERY = 32, 512, 768, 12, 6, 65536, 4, 25
ANSWERS = (317, 347, 327, 360)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        shape = (TEXTS, LENGTH, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.parts(self.before(x)).chunk(3, dim=-1))
        looked = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(looked.transpose(1, 2).reshape(TEXTS, LENGTH, WIDTH))
        return x + self.outer(F.gelu(self.inner(self.between(x))))


class Language(nn.Module):
    def __init__(self, only_last):
        super().__init__()
        self.only_last = only_last
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(BLOCKS))), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, words):
        x = self.blocks(self.embed(words) + self.places.weight)
        if self.only_last:
            x = x[:, -1:]
        return self.head(self.norm(x))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Language(only_last=variant == "fix").to("cuda", torch.bfloat16).eval()
    texts = torch.randint(0, VOCABULARY, (SETS, TEXTS, LENGTH), device="cuda")
    right = torch.randint(0, len(ANSWERS), (SETS, TEXTS), device="cuda")
    answers = torch.tensor(ANSWERS, device="cuda")
    hits, sure = torch.zeros((), dtype=torch.long, device="cuda"), torch.zeros((), device="cuda")
    turn, told = [0], []

    def choose(words, wanted):
        chances = model(words).float().log_softmax(dim=-1)[:, -1].index_select(1, answers)
        hits.add_((chances.argmax(dim=1) == wanted).sum())
        sure.mul_(0.9).add_(chances.max(dim=1).values.mean(), alpha=0.1)

    if variant == "useless":
        static = [texts[0].clone(), right[0].clone()]
        graph, _ = fixable.capture(torch, lambda: choose(*static))

    @torch.no_grad()
    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "useless":
            static[0].copy_(texts[at])
            static[1].copy_(right[at])
            graph.replay()
        else:
            choose(texts[at], right[at])
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [hits.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [sure.item()])


run.main(make)
