# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an LSTM over texts of different lengths, written as a loop of nn.LSTMCell with masks, and trained in small batches.

Wrong: a dozen short kernels for each word, forward and backward, launched by Python.
fix: nn.LSTM on a packed sequence, a few launches of cuDNN for the whole batch (launch-bound).
fix2: the whole step, always as long as the longest text, is one CUDA graph (launch-bound).
useless: the batch comes from pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=5)
torch = fixable.load_torch()
nn = torch.nn

BATCH, LONGEST, WIDTH, VOCABULARY, CLASSES, TEXTS = 16, 40, 256, 2000, 8, 16


class Classifier(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)
        self.whole = None
        if whole:
            self.whole = nn.LSTM(WIDTH, WIDTH, batch_first=True)
            with torch.no_grad():
                for name, weights in self.cell.named_parameters():
                    getattr(self.whole, name + "_l0").copy_(weights)
            del self.cell

    def forward(self, words, lengths, longest):
        x = self.embed(words)
        if self.whole:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            _, (last, _) = self.whole(packed)
            return self.head(last[0])
        h = c = torch.zeros(len(words), WIDTH, device=x.device)
        for at in range(longest):
            going = (lengths > at).unsqueeze(1)  # cause: launch
            new_h, new_c = self.cell(x[:, at], (h, c))  # cause: launch
            h, c = torch.where(going, new_h, h), torch.where(going, new_c, c)  # cause: launch
        return self.head(h)


def make(variant):
    fixable.seed(torch)
    model = Classifier(whole=variant == "fix").cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_of = nn.CrossEntropyLoss()
    random = torch.Generator().manual_seed(21)
    texts = [torch.randint(1, VOCABULARY, (BATCH, LONGEST), generator=random) for _ in range(TEXTS)]
    lengths = [torch.randint(LONGEST // 2, LONGEST + 1, (BATCH,), generator=random) for _ in range(TEXTS)]
    labels = [torch.randint(0, CLASSES, (BATCH,), generator=random) for _ in range(TEXTS)]
    pinned = variant == "useless"
    if pinned:
        texts, lengths, labels = ([t.pin_memory() for t in each] for each in (texts, lengths, labels))
    static = [t[0].cuda() for t in (texts, lengths, labels)]
    turn, seen = [0], []

    def train(words, long, label, longest):
        loss = loss_of(model(words, long, longest), label)
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()
        return loss

    if variant == "fix2":
        graph, static_loss = fixable.capture(torch, lambda: train(*static, LONGEST), before=optimizer.zero_grad)

    def step():
        at = turn[0] % TEXTS
        turn[0] += 1
        words, long, label = texts[at], lengths[at], labels[at]
        if variant == "fix2":
            for there, here in zip(static, (words, long, label)):
                there.copy_(here)
            graph.replay()
            loss = static_loss
        else:
            words, label = words.to("cuda", non_blocking=pinned), label.to("cuda", non_blocking=pinned)
            if variant != "fix":  # pack_padded_sequence takes lengths on the CPU
                long = long.to("cuda", non_blocking=pinned)
            optimizer.zero_grad()
            loss = train(words, long, label, int(lengths[at].max()))
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
