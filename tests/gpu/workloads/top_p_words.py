# SPDX-License-Identifier: Apache-2.0
"""transformers: stories are written by a recurrent network for 192 readers at once; each word is drawn among the likeliest ones,
which have nine tenths of all chances together and which TopPLogitsWarper looks for.

Wrong: all 65,536 words are put in order for each reader, of which a few hundred count; the GPU is at work throughout (gpu-bound).
fix: only the best 512 are put in order (gpu-bound).
useless: the whole step is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=10)
torch, transformers = fixable.load_torch("transformers")
nn = torch.nn

READERS, VOCABULARY, WIDTH, LAYERS, BEST, SHARE, LOOK_EVERY = 192, 65536, 768, 3, 512, 0.9, 50


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.cells = nn.ModuleList(nn.GRUCell(WIDTH, WIDTH) for _ in range(LAYERS))
        nn.init.normal_(self.head.weight, std=2.2)  # it has learnt to be sure of itself

    def forward(self, words, hidden):
        """How likely each word is behind these; `hidden` goes on."""
        x = self.embed(words)
        for cell, before in zip(self.cells, hidden):
            x = cell(x, before)
            before.copy_(x)
        return self.head(x)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Writer().cuda().eval()
    warper = transformers.TopPLogitsWarper(top_p=SHARE)
    words = torch.randint(0, VOCABULARY, (READERS,), device="cuda")
    hidden = [torch.zeros(READERS, WIDTH, device="cuda") for _ in range(LAYERS)]
    likely = torch.zeros(READERS, device="cuda")
    turn, told = [0], []

    def drawn(scores):
        """One of each row, by its chances."""
        chances = scores.softmax(dim=-1)
        return (chances / torch.empty_like(chances).exponential_(1.0)).argmax(dim=-1, keepdim=True), chances

    def among_all(scores):
        word, chances = drawn(warper(words.unsqueeze(1), scores))
        return word, chances.gather(1, word)

    def among_best(scores):
        best, which = scores.topk(BEST, dim=-1)
        shares = (best - scores.logsumexp(dim=-1, keepdim=True)).exp()
        place, chances = drawn(best.masked_fill(shares.cumsum(dim=-1) - shares >= SHARE, -float("inf")))
        return which.gather(1, place), chances.gather(1, place)

    def write():
        word, chance = (among_best if variant == "fix" else among_all)(model(words, hidden))
        words.copy_(word.squeeze(1))
        likely.mul_(0.95).add_(chance.squeeze(1), alpha=0.05)

    if variant == "useless":
        graph, _ = fixable.capture(torch, write)

    @torch.no_grad()
    def step():
        turn[0] += 1
        if variant == "useless":
            graph.replay()
        else:
            write()
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [likely.mean().item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: told + [h.abs().mean().item() for h in hidden])


run.main(make)
