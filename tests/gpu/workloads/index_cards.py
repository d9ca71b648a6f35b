# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a library had the cards of its old catalogue typed off, and a tagger learns which words of a card are author, title,
place, printer, year and shelf, from windows of 48 words that librarians have marked: a small nn.TransformerEncoder, and behind
it a conditional random field (CRF), as in the tutorial on BiLSTM-CRF, for 16 windows at a time.

Wrong: the sum over all ways to tag a window goes word by word, on 208 numbers, forward and backward; some 1000 kernels of two
microseconds are launched by Python and by autograd one after the other.
fix: the same kernels of a step are one CUDA graph (launch-bound).
useless: the mean loss is read at the end only, not every 50 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

WINDOWS, LENGTH, WIDTH, HEADS, LAYERS, SETS, EACH = 16, 48, 128, 4, 2, 8, 50
FIELDS = ((2, 5), (4, 16), (1, 3), (2, 5), (1, 2), (1, 3))  # words of author, title, place, printer, year, shelf: least and most
TAGS, COMMON, SEPARATORS = 2 * len(FIELDS) + 1, 600, 20  # tag 0: separators; a field has one for its first word, one for others
VOCABULARY = SEPARATORS + COMMON * len(FIELDS)


def window(random):
    """Words and tags of cards, one behind the other, of which a window is cut."""
    words, tags = [], []
    begin = int(random.integers(0, 12))
    while len(words) < begin + LENGTH:
        for field, (least, most) in enumerate(FIELDS):
            for number in range(int(random.integers(least, most + 1))):
                often = min(COMMON - 1, int(random.exponential(90.0)))
                other = field if random.random() < 0.85 else int(random.integers(0, len(FIELDS)))  # a word of another field
                words.append(SEPARATORS + COMMON * other + often)
                tags.append(2 * field + (1 if number == 0 else 2))
            words.append(int(random.integers(0, SEPARATORS)))
            tags.append(0)
    return words[begin:begin + LENGTH], tags[begin:begin + LENGTH]


def windows():
    """Sets of words, (WINDOWS, LENGTH), and of marks, (WINDOWS, LENGTH, TAGS), one at the right tag."""
    random = numpy.random.default_rng(20)
    for _ in range(SETS):
        words, tags = zip(*[window(random) for _ in range(WINDOWS)])
        marks = numpy.eye(TAGS, dtype=numpy.float32)[numpy.array(tags)]
        yield torch.tensor(words, device="cuda"), torch.from_numpy(marks).cuda()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, TAGS)
        self.begin = nn.Parameter(torch.zeros(TAGS))
        self.moves = nn.Parameter(0.1 * torch.randn(TAGS, TAGS))

    def forward(self, words, marks):
        """The mean over windows of -log p(tags), by word."""
        scores = self.head(self.encoder(self.words(words) + self.places))  # cause: launch
        first, *others = scores.unbind(1)
        ways = self.begin + first
        for score in others:
            ways = torch.logsumexp(ways.unsqueeze(2) + self.moves, dim=1) + score  # cause: launch
        every = torch.logsumexp(ways, dim=1)
        moved = ((marks[:, :-1] @ self.moves) * marks[:, 1:]).sum(dim=(1, 2))
        right = (scores * marks).sum(dim=(1, 2)) + moved + marks[:, 0] @ self.begin
        return (every - right).mean() / LENGTH


def make(variant):
    fixable.seed(torch)
    ready = list(windows())
    model = Tagger().cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, capturable=True)
    words, marks = ready[0][0].clone(), ready[0][1].clone()
    usual, graph, turn, told = torch.zeros((), device="cuda"), None, [0], [0.0]

    def learn():
        optimizer.zero_grad()
        loss = model(words, marks)  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.05)

    if variant == "fix":
        begun = [(tensor, tensor.clone()) for tensor in model.state_dict().values()]
        graph, _ = fixable.capture(torch, learn)
        with torch.no_grad():  # what the capture's warm-up has learnt is forgotten
            for tensor, first in begun:
                tensor.copy_(first)
            for state in optimizer.state.values():
                for tensor in state.values():
                    tensor.zero_()
            usual.zero_()

    def step():
        new_words, new_marks = ready[turn[0] % SETS]
        turn[0] += 1
        words.copy_(new_words)
        marks.copy_(new_marks)
        if graph is not None:
            graph.replay()
        else:
            learn()  # cause: launch
        if variant != "useless" and turn[0] % EACH == 0:
            told[0] = usual.item()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
