# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which topics the sections of a country's statutes are about, and since when, is learnt by an autoencoder over counts
of words (ProdLDA, as in Pyro's tutorial on topic models): a batch has 1024 sections and how often each of 12000 words is in them.

Wrong: a batch is 49 MB of mostly zeros in pageable memory, and comes to the GPU by a copy that waits; the GPU has nothing to
do meanwhile, and learns in much less time.
fix: the same batches are in pinned memory, and the host does not wait for their copies (copy-bound).
fix2: the kernels of a step are one CUDA graph, behind the same copy (launch-bound).
useless: the mean loss is read at the end only, not every 25 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

SECTIONS, WORDS, TOPICS, HIDDEN, BATCHES, EACH = 1024, 12000, 50, 128, 8, 25


@torch.no_grad()
def batches():
    """Counts of words that were drawn from topics, (SECTIONS, WORDS), on the host."""
    words = (2.5 * torch.randn(TOPICS, WORDS, device="cuda")).softmax(dim=1)
    for _ in range(BATCHES):
        about = (2.0 * torch.randn(SECTIONS, TOPICS, device="cuda")).softmax(dim=1)
        length = 80.0 + 320.0 * torch.rand(SECTIONS, 1, device="cuda")
        yield torch.poisson(about @ words * length).cpu()


class ProdLDA(nn.Module):
    def __init__(self):
        super().__init__()
        self.deep = nn.Sequential(nn.Linear(WORDS, HIDDEN), nn.Softplus(), nn.Linear(HIDDEN, HIDDEN), nn.Softplus())
        self.mean = nn.Sequential(nn.Linear(HIDDEN, TOPICS), nn.BatchNorm1d(TOPICS))
        self.spread = nn.Sequential(nn.Linear(HIDDEN, TOPICS), nn.BatchNorm1d(TOPICS))
        self.words = nn.Linear(TOPICS, WORDS, bias=False)
        self.norm = nn.BatchNorm1d(WORDS, affine=False)

    def forward(self, counts):
        """The bound of -log p, by word: what the words cost, and how far topics are from those that were held likely before."""
        hidden = self.deep(torch.log1p(counts))
        mean, spread = self.mean(hidden), self.spread(hidden)
        about = (mean + torch.randn_like(mean) * (0.5 * spread).exp()).softmax(dim=1)
        chances = F.log_softmax(self.norm(self.words(about)), dim=1)
        misses = -(counts * chances).sum()
        apart = -0.5 * (1.0 + spread - mean.square() - spread.exp()).sum()
        return (misses + apart) / counts.sum()


def make(variant):
    fixable.seed(torch)
    ready = [batch.pin_memory() if variant == "fix" else batch for batch in batches()]
    model = ProdLDA().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.95, 0.999), capturable=True)
    counts = torch.ones(SECTIONS, WORDS, device="cuda")
    usual, graph, turn, told = torch.zeros((), device="cuda"), None, [0], [0.0]

    def learn():
        optimizer.zero_grad()
        loss = model(counts)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.05)

    if variant == "fix2":
        begun = [(tensor, tensor.clone()) for tensor in model.state_dict().values()]
        graph, _ = fixable.capture(torch, learn)
        with torch.no_grad():  # what the capture's warm-up has learnt is forgotten
            for tensor, first in begun:
                tensor.copy_(first)
            for state in optimizer.state.values():
                for tensor in state.values():
                    tensor.zero_()
            usual.zero_()
    torch.manual_seed(21)  # so that the noise is the same, whatever has been drawn

    def step():
        batch = ready[turn[0] % BATCHES]
        turn[0] += 1
        if variant == "fix":
            counts.copy_(batch, non_blocking=True)
        else:
            counts.copy_(batch)  # cause: copy,wait
        if graph is not None:
            graph.replay()
        else:
            learn()
        if variant != "useless" and turn[0] % EACH == 0:
            told[0] = usual.item()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
