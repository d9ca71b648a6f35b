# SPDX-License-Identifier: Apache-2.0
"""PyTorch: texts are read by a transformer of which each block has eight experts, two for each word; a loop goes through the
experts and looks for the words of each.

Wrong: torch.where waits for the GPU, since the host must know how many words there are, and the expert is launched only then.
fix: each expert takes its best words, always as many: nothing is waited for (sync-bound).
fix3: the same words for all experts at once, in a batch of products: an eighth of the launches (launch-bound).
fix2: the words are put in order by their experts, and how many each one has is read once a block (sync-bound).
useless: the experts' outputs are added up in a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=520, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

TEXTS, LENGTH, WIDTH, HEADS, INNER, BLOCKS, EXPERTS, EACH, VOCABULARY, LOOK_EVERY = 12, 512, 768, 12, 3072, 6, 8, 2, 8192, 50
WORDS = TEXTS * LENGTH
ROOM = WORDS * EACH // EXPERTS


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x):
        return self.outer(F.gelu(self.inner(x)))


class Experts(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.variant = variant
        self.router, self.experts = nn.Linear(WIDTH, EXPERTS, bias=False), nn.ModuleList(Expert() for _ in range(EXPERTS))
        self.register_buffer("numbers", torch.arange(EXPERTS))
        self.register_buffer("total", torch.zeros(WORDS, WIDTH) if variant == "useless" else None)

    @torch.no_grad()
    def stack(self):
        """The experts' weights in one tensor each, for fix3."""
        for name in ("inner", "outer"):
            layers = [getattr(expert, name) for expert in self.experts]
            self.register_buffer(name + "_weight", torch.stack([layer.weight.t() for layer in layers]))
            self.register_buffer(name + "_bias", torch.stack([layer.bias.unsqueeze(0) for layer in layers]))

    def forward(self, x):
        shares = self.router(x).softmax(dim=1)
        total = torch.zeros_like(x) if self.total is None else self.total.zero_()
        if self.variant == "fix3":
            weights, rows = shares.t().topk(ROOM, dim=1, sorted=False)
            inner = F.gelu(torch.baddbmm(self.inner_bias, x[rows], self.inner_weight))
            outer = torch.baddbmm(self.outer_bias, inner, self.outer_weight) * weights.unsqueeze(2)
            return total.index_add_(0, rows.flatten(), outer.flatten(0, 1))
        if self.variant == "fix":
            weights, rows = shares.t().topk(ROOM, dim=1, sorted=False)
            for number, expert in enumerate(self.experts):
                mine = rows[number]
                total.index_add_(0, mine, expert(x[mine]) * weights[number].unsqueeze(1))
            return total

        weights, chosen = shares.topk(EACH, dim=1)
        if self.variant == "fix2":
            chosen = chosen.flatten()
            counts = (chosen.unsqueeze(1) == self.numbers).sum(dim=0).tolist()
            order = chosen.argsort()
            parts = zip(self.experts, (order // EACH).split(counts), weights.flatten()[order].split(counts))
            for expert, mine, share in parts:
                total.index_add_(0, mine, expert(x[mine]) * share.unsqueeze(1))
            return total

        for number, expert in enumerate(self.experts):
            mine, place = torch.where(chosen == number)  # cause: wait
            total.index_add_(0, mine, expert(x[mine]) * weights[mine, place].unsqueeze(1))
        return total


class Block(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.experts = Experts(variant)

    def forward(self, x):
        shape = (TEXTS, LENGTH, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.parts(self.before(x)).chunk(3, dim=1))
        looked = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(looked.transpose(1, 2).reshape(WORDS, WIDTH))
        return x + self.experts(self.between(x))


class Reader(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block(variant) for _ in range(BLOCKS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, words):
        """A vector for each text."""
        x = (self.embed(words) + self.places.weight).view(WORDS, WIDTH)
        return self.norm(self.blocks(x)).view(TEXTS, LENGTH, WIDTH).mean(dim=1)


def make(variant):
    fixable.seed(torch)
    with torch.device("cuda"):
        model = Reader(variant).to(torch.bfloat16).eval()
    if variant == "fix3":
        for block in model.blocks:
            block.experts.stack()
    texts = torch.randint(0, VOCABULARY, (4, TEXTS, LENGTH), device="cuda")
    turn, seen, told = [0], [], []

    def step():
        turn[0] += 1
        with torch.no_grad():
            seen[:] = [model(texts[turn[0] % 4])]
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [seen[0].float().norm().item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, seen[0].abs()))


run.main(make)
