# SPDX-License-Identifier: Apache-2.0
"""PyTorch: gradient accumulation over eight micro-batches in bfloat16; the loss is read by .item() at each micro-batch.

Wrong: the host waits at each micro-batch, and only then prepares the next one, while the GPU has nothing.
fix: the loss is added up on the device and read every 10 optimizer steps, as is the gradient's norm (sync-bound).
useless: fused=True for the optimizer.
"""
import fixable

run = fixable.Program(__doc__, steps=480, warm_up=8, multiple=8)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

MICRO, BATCH, LENGTH, WIDTH, VOCABULARY = 8, 32, 256, 768, 4096


class Texts:
    """Makes micro-batches of texts: cut, masked and shifted by NumPy."""

    def __init__(self):
        self.random = numpy.random.default_rng(20)
        self.tokens = self.random.integers(0, VOCABULARY, 1 << 20, dtype=numpy.int64)

    def next(self):
        starts = self.random.integers(0, len(self.tokens) - LENGTH - 1, BATCH)
        rows = numpy.stack([self.tokens[s:s + LENGTH + 1] for s in starts])
        for _ in range(30):
            masked = self.random.random(rows.shape) < 0.01
            rows = numpy.where(masked, self.random.integers(0, VOCABULARY, rows.shape), rows)
        return torch.from_numpy(rows)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 12, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


def make(variant):
    fixable.seed(torch)
    texts = Texts()
    model = Model().cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if variant == "useless" else None)
    logged = []

    def loop(steps):
        total = torch.zeros((), device="cuda") if variant == "fix" else 0.0
        for number in range(steps):
            tokens = texts.next().pin_memory().to("cuda", non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(tokens[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) / MICRO
            loss.backward()
            total += loss.detach() if variant == "fix" else loss.item()  # cause: wait
            if number % MICRO == MICRO - 1:
                norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                if variant != "fix" or number // MICRO % 10 == 9:
                    logged.append((float(total), norm.item()))
                total = total * 0.0
        logged.append((float(total), 0.0))

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize,
                        values=lambda: fixable.sample_of(torch, model.head.bias))


run.main(make)
