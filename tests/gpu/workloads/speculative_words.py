# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a language model writes a text for one reader, by guesses (speculative decoding): its first two layers guess four
words one after the other, and all of its layers then check them at once; the words that both agree on are shown to the reader.

Wrong: three hundred short kernels are launched one by one for each round, and take the GPU less time than the host.
fix: a round, from the first guess to the words that are taken, is one CUDA graph; its words are still waited for (launch-bound).
fix2: the words stay on the device, where the next round finds them, and are read every 16 rounds (sync-bound).
fix3: the mask of the attention is made of numbers once for all layers, not by each of them (launch-bound).
useless: the words of a round are put together in a tensor that is allocated once.
"""
import fixable

LOOK_EVERY = 16

run = fixable.Program(__doc__, steps=960, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
nn, F = torch.nn, torch.nn.functional

WIDTH, HEADS, LAYERS, EARLY, AHEAD = 512, 8, 12, 2, 4
KNOWN, LENGTH, PROMPT, SHARP = 8192, 512, 64, 2.0


class Layer(nn.Module):
    """A layer of a GPT, which keeps the keys and values of all words until now."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.asked, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("keys", torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))
        self.register_buffer("values", torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))

    def forward(self, x, positions, mask):
        parts = self.asked(self.before(x)).view(1, -1, 3, HEADS, WIDTH // HEADS).transpose(1, 3)  # cause: launch
        query, key, value = parts.unbind(2)
        self.keys.index_copy_(2, positions, key)  # cause: launch
        self.values.index_copy_(2, positions, value)  # cause: launch
        seen = F.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)  # cause: launch
        x = x + self.joined(seen.transpose(1, 2).reshape(1, -1, WIDTH))  # cause: launch
        return x + self.narrow(F.gelu(self.wide(self.between(x))))  # cause: launch


class Writer(nn.Module):
    def __init__(self, numbered):
        super().__init__()
        self.numbered = numbered
        self.words, self.places = nn.Embedding(KNOWN, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers, self.last = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, KNOWN, bias=False)
        self.register_buffer("numbers", torch.arange(LENGTH))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("hidden", torch.full((), -torch.inf))
        for name, weight in self.named_parameters():
            if weight.dim() > 1:  # later layers do not change much of what the first ones have found
                nn.init.normal_(weight, std=1.0 if "words" in name else 0.004 if "narrow" in name or "joined" in name else 0.04)

    def forward(self, words, positions, layers):
        mask = self.numbers <= positions.unsqueeze(1)  # cause: launch
        if self.numbered:
            mask = self.hidden.where(~mask, self.seen)
        x = (self.words(words) + self.places(positions)).unsqueeze(0)  # cause: launch
        for layer in self.layers[:layers]:
            x = layer(x, positions, mask)  # cause: launch
        return self.head(self.last(x[0]))  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Writer(variant == "fix3").cuda().bfloat16().eval()
    luck = -torch.empty(LENGTH + 1, KNOWN, device="cuda").exponential_().log()  # by which a word is drawn at each place
    text, at = torch.randint(0, KNOWN, (LENGTH,), device="cuda"), torch.tensor([PROMPT - 1], device="cuda")
    further = torch.arange(AHEAD + 1, device="cuda")
    place = torch.zeros(AHEAD + 2, dtype=torch.long, device="cuda") if variant == "useless" else None
    turn, shown, rounds, pending = [0], [0.0], [0], []

    def draw(words, positions, layers):
        chances = model(words, positions, layers).float() * SHARP  # cause: launch
        return (chances + luck[positions + 1]).argmax(dim=1)  # cause: launch

    def write():
        """A round: how many words are taken, and the words, of which the last ones may be wrong. Where the text is full, the next
        one begins."""
        guessed = [text[at]]  # cause: launch
        for k in range(AHEAD):
            guessed.append(draw(guessed[-1], at + k, EARLY))  # cause: launch
        guessed = torch.cat(guessed)  # cause: launch
        places = at + further  # cause: launch
        right = draw(guessed, places, LAYERS)  # cause: launch
        taken = (right[:-1] == guessed[1:]).long().cumprod(dim=0).sum(dim=0, keepdim=True) + 1  # cause: launch
        text.index_copy_(0, places + 1, right)  # cause: launch
        at.add_(taken)  # cause: launch
        at.masked_fill_(at > LENGTH - AHEAD - 2, PROMPT - 1)  # cause: launch
        return torch.cat((taken, right), out=place)  # cause: launch

    model(text[:PROMPT], torch.arange(PROMPT, device="cuda"), LAYERS)
    if variant == "fix":
        graph, given = fixable.capture(torch, write)
        at.fill_(PROMPT - 1)

    def show(told):
        shown[0] += told[0]
        rounds[0] += 1

    @torch.no_grad()
    def step():
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            show(given.tolist())
            return
        told = write()  # cause: launch
        if variant == "fix2":
            pending.append(told)
            if turn[0] % LOOK_EVERY == 0:
                for numbers in torch.stack(pending).tolist():
                    show(numbers)
                pending.clear()
        else:
            show(told.tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [shown[0] / max(1, rounds[0])])


run.main(make)
