# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a server talks with more users than it wants to keep on the GPU: what the model has computed of a chat so far (keys and
values) goes to the host when the answer is there, and comes back when its user says something.

Wrong: the host's memory for the chats is pageable: both copies hold the host up, and take many times what the GPU computes.
fix: that memory is pinned, and both copies are made with non_blocking=True (copy-bound).
fix2: only what is new goes to the host, which has the rest (copy-bound).
useless: the chat comes to a tensor on the device that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=12)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

CHATS, LENGTH, PROMPT, WORDS, TEXTS, VOCABULARY = 6, 4096, 1024, 512, 8, 8192
LAYERS, HEADS, KEPT, SIZE = 8, 16, 4, 64  # four heads of keys and values for sixteen that ask
WIDTH = HEADS * SIZE


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.asks, self.keeps = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, 2 * KEPT * SIZE, bias=False)
        self.joined = nn.Linear(WIDTH, WIDTH, bias=False)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, kept, at, mask):
        """New words from place `at` on; what is kept of each word so far gets theirs as well."""
        y, end = self.before(x), at + WORDS
        kept[at:end] = self.keeps(y).view(WORDS, 2, KEPT, SIZE)
        many = kept[:end].permute(1, 2, 0, 3).unsqueeze(2).expand(2, KEPT, HEADS // KEPT, end, SIZE).reshape(2, 1, HEADS, end, SIZE)
        asks = self.asks(y).view(1, WORDS, HEADS, SIZE).transpose(1, 2)
        looked = F.scaled_dot_product_attention(asks, many[0], many[1], attn_mask=mask)
        x = x + self.joined(looked.transpose(1, 2).reshape(WORDS, WIDTH))
        return x + self.outer(F.gelu(self.inner(self.between(x))))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, words, cache, at, mask):
        """The first word of the answer."""
        x = self.embed(words) + self.places.weight[at:at + WORDS]
        for number, layer in enumerate(self.layers):
            x = layer(x, cache[:, number], at, mask)
        return self.head(self.norm(x[-1])).argmax()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Language().to("cuda", torch.float16).eval()
    texts = torch.randint(0, VOCABULARY, (TEXTS, WORDS), device="cuda")
    masks = {at: torch.ones(WORDS, at + WORDS, dtype=torch.bool, device="cuda").tril(at) for at in range(PROMPT, LENGTH, WORDS)}
    chats = [torch.randn(LENGTH, LAYERS, 2, KEPT, SIZE).half() for _ in range(CHATS)]
    pinned = variant == "fix"
    if pinned:
        chats = [chat.pin_memory() for chat in chats]
    static = torch.empty_like(chats[0], device="cuda") if variant == "useless" else None
    ends = [PROMPT + number * WORDS for number in range(CHATS)]
    said, turn = [0] * CHATS, [0]

    @torch.no_grad()
    def step():
        which = turn[0] % CHATS
        chat, at, words = chats[which], ends[which], texts[turn[0] % TEXTS]
        turn[0] += 1
        # In pinned memory a chat is only touched by copies, and all of them are on one stream: it goes before it comes again.
        cache = chat.to("cuda", non_blocking=pinned) if static is None else static.copy_(chat)  # cause: copy
        said[which] = model(words, cache, at, masks[at]).item()
        if variant == "fix2":
            chat[at:at + WORDS].copy_(cache[at:at + WORDS])
        else:
            chat.copy_(cache, non_blocking=pinned)  # cause: copy
        ends[which] = at + WORDS if at + 2 * WORDS <= LENGTH else PROMPT  # a new chat, behind the same prompt

    return fixable.Work(step, torch.cuda.synchronize, lambda: chats[0][PROMPT::256, :, 0, 0].float().abs().reshape(-1).tolist())


run.main(make)
