# SPDX-License-Identifier: Apache-2.0
"""PyTorch: beam search over a GRU language model; candidates are sorted, and repeated pairs of words are left out, in Python.

Wrong: at each word the GPU waits until Python has put the beams in order.
fix: beams, scores and the pairs already used stay on the device (host-bound).
useless: the candidates come by way of pinned memory.
"""
import fixable

LENGTH = 40

run = fixable.Program(__doc__, steps=1200, warm_up=LENGTH, multiple=LENGTH)
torch = fixable.load_torch()
nn = torch.nn

TEXTS, BEAMS, WIDTH, LAYERS, VOCABULARY, CANDIDATES = 8, 4, 768, 2, 512, 24
ROWS = TEXTS * BEAMS
NEVER = -1e30


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.cells = nn.ModuleList(nn.GRUCell(WIDTH, WIDTH) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words, states):
        x, after = self.embed(words), []
        for cell, state in zip(self.cells, states):
            x = cell(x, state)
            after.append(x)
        return torch.log_softmax(4.0 * self.head(x), dim=-1), after


class Beam:
    """A text so far, as Python keeps it."""

    def __init__(self, score=0.0, words=(0,), pairs=frozenset()):
        self.score, self.words, self.pairs = score, list(words), set(pairs)

    def longer(self, score, word):
        beam = Beam(score, self.words, self.pairs)
        beam.pairs.add((self.words[-1], word))
        beam.words.append(word)
        return beam


def make(variant):
    fixable.seed(torch)
    model = Language().cuda().eval()
    landing = [torch.empty(ROWS, CANDIDATES).pin_memory(), torch.empty(ROWS, CANDIDATES, dtype=torch.long).pin_memory()]
    first_of_text = torch.arange(TEXTS, device="cuda").repeat_interleave(BEAMS) * BEAMS
    rows = torch.arange(ROWS, device="cuda")
    starts = torch.randn(LAYERS, TEXTS, WIDTH, device="cuda").repeat_interleave(BEAMS, dim=1)
    best = []

    def advance(words, states):
        with torch.inference_mode():
            return model(words, states)

    def read(values, found):
        if variant == "useless":
            landing[0].copy_(values, non_blocking=True)
            landing[1].copy_(found, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            values, found = landing
        return values.tolist(), found.tolist()

    def choose(beams, values, found):
        """The beams to go on with, and from which rows they come."""
        chosen, sources = [], []
        for text in range(TEXTS):
            candidates = []
            for row in range(text * BEAMS, (text + 1) * BEAMS):
                beam = beams[row]
                for value, word in zip(values[row], found[row]):
                    if (beam.words[-1], word) not in beam.pairs:
                        candidates.append((beam.score + value, row, word))
            candidates.sort(key=lambda c: -c[0])
            for score, row, word in candidates[:BEAMS]:
                chosen.append(beams[row].longer(score, word))
                sources.append(row)
        return chosen, sources

    def on_host():
        beams = [Beam(0.0 if row % BEAMS == 0 else NEVER) for row in range(ROWS)]
        words, states = torch.zeros(ROWS, dtype=torch.long, device="cuda"), list(starts)
        for _ in range(LENGTH):
            chances, states = advance(words, states)
            beams, sources = choose(beams, *read(*chances.topk(CANDIDATES, dim=-1)))  # cause: loader
            order = torch.tensor(sources, device="cuda")  # cause: delayed
            states = [state.index_select(0, order) for state in states]
            words = torch.tensor([beam.words[-1] for beam in beams], device="cuda")
        best[:] = [beam.score for beam in beams[::BEAMS]]

    def on_device():
        used = torch.zeros(ROWS, VOCABULARY, VOCABULARY, dtype=torch.bool, device="cuda")
        scores = torch.full((TEXTS, BEAMS), NEVER, device="cuda")
        scores[:, 0] = 0.0
        words, states = torch.zeros(ROWS, dtype=torch.long, device="cuda"), list(starts)
        with torch.inference_mode():
            for _ in range(LENGTH):
                chances, states = advance(words, states)
                chances = chances.masked_fill(used[rows, words], 2.0 * NEVER).view(TEXTS, BEAMS, VOCABULARY)
                scores, found = (scores.unsqueeze(-1) + chances).flatten(1).topk(BEAMS, dim=-1)
                order = (first_of_text + (found // VOCABULARY).flatten())
                before, words = words[order], (found % VOCABULARY).flatten()
                used = used.index_select(0, order)
                used[rows, before, words] = True
                states = [state.index_select(0, order) for state in states]
        best[:] = scores[:, 0].tolist()

    def loop(steps):
        for _ in range(steps // LENGTH):
            on_device() if variant == "fix" else on_host()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(best))


run.main(make)
