# SPDX-License-Identifier: Apache-2.0
"""PyTorch: texts are written word by word for 128 users; the model's step is a CUDA graph already, but after each one the words are
read, the texts so far are put together anew, and the host looks whether all have come to their end.

Wrong: while Python handles the words, the GPU has nothing.
fix: the words come to pinned memory, and are handled while the next ones are computed (sync-bound).
fix2: a text grows by its new word, instead of being put together anew (host-bound).
useless: the words come by way of pinned memory, and are waited for all the same.
"""
import fixable

LENGTH = 256

run = fixable.Program(__doc__, steps=6 * LENGTH, warm_up=LENGTH, multiple=LENGTH)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn
F = nn.functional

USERS, WIDTH, HEADS, BLOCKS, VOCABULARY = 128, 768, 12, 8, 4096
END = VOCABULARY  # which the model never writes: each text is as long as it may be
STOPS = ("\n\n", " Question:", " User:")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(USERS, HEADS, LENGTH, WIDTH // HEADS))

    def forward(self, x, at, mask):
        q, k, v = (part.view(USERS, 1, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        self.keys.index_copy_(2, at, k)
        self.values.index_copy_(2, at, v)
        found = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.out(found.transpose(1, 2).reshape(USERS, 1, WIDTH))
        return x + self.mlp(self.norm2(x))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words, at, mask):
        x = self.words(words)[:, None] + self.places(at)
        for block in self.blocks:
            x = block(x, at, mask)
        return self.head(self.norm(x))[:, 0].float()


def vocabulary():
    random = numpy.random.default_rng(20)
    letters = list("etaoinshrdlucmfwypvbgk")
    return [("##" if number % 3 == 0 else "") + "".join(random.choice(letters, random.integers(2, 6)))
            for number in range(VOCABULARY)] + ["<end>"]


class Streamer:
    """The texts of all users, as far as they are written."""

    def __init__(self, vocabulary, grow):
        self.vocabulary, self.grow = vocabulary, grow
        self.begin()

    def begin(self):
        self.words = [[] for _ in range(USERS)]
        self.texts = ["" for _ in range(USERS)]
        self.ended = [False] * USERS

    def put(self, words):
        """Takes a word for each user; whether all texts are at their end."""
        for user, word in enumerate(words):
            mine = self.words[user]
            mine.append(word)
            if self.grow:
                piece = self.vocabulary[word]
                self.texts[user] += piece[2:] if piece.startswith("##") else " " + piece
            else:
                self.texts[user] = " ".join([""] + [self.vocabulary[w] for w in mine]).replace(" ##", "")
            if word == END or self.texts[user].endswith(STOPS):
                self.ended[user] = True
        return all(self.ended)


def make(variant):
    fixable.seed(torch)
    model = Writer().to("cuda", torch.float16).eval()
    words = torch.zeros(USERS, dtype=torch.int64, device="cuda")
    at = torch.zeros(1, dtype=torch.int64, device="cuda")
    places = torch.arange(LENGTH, device="cuda")
    chance = -torch.log(-torch.log(torch.rand(LENGTH, USERS, VOCABULARY, device="cuda").clamp(1e-6, 1.0 - 1e-6)))
    streamer = Streamer(vocabulary(), grow=variant == "fix2")
    landing = [torch.zeros(USERS, dtype=torch.int64).pin_memory() for _ in range(2)]
    copied = [torch.cuda.Event() for _ in range(2)]

    def write():
        scores = model(words, at, (places <= at).view(1, 1, 1, LENGTH))
        words.copy_((scores + chance.index_select(0, at)[0]).argmax(dim=-1))
        at.add_(1)

    with torch.no_grad():
        graph, _ = fixable.capture(torch, write, before=at.zero_)

    def one_text():
        for number in range(LENGTH):
            graph.replay()
            if variant == "useless":
                landing[0].copy_(words, non_blocking=True)
                copied[0].record()
                copied[0].synchronize()
                ended = streamer.put(landing[0].tolist())
            else:
                ended = streamer.put(words.tolist())  # cause: wait
            if ended:
                break

    def one_text_ahead():
        for number in range(LENGTH + 1):
            if number < LENGTH:
                graph.replay()
                landing[number % 2].copy_(words, non_blocking=True)
                copied[number % 2].record()
            if number > 0:
                copied[(number - 1) % 2].synchronize()
                if streamer.put(landing[(number - 1) % 2].tolist()):
                    break

    def loop(steps, alive=(model, places, chance)):  # which the graph reads, and does not keep
        for _ in range(steps // LENGTH):
            words.zero_()
            at.zero_()
            streamer.begin()
            one_text_ahead() if variant == "fix" else one_text()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: [float(len(text)) for text in streamer.texts])


run.main(make)
