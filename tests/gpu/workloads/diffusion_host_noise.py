# SPDX-License-Identifier: Apache-2.0
"""PyTorch: diffusion-like sampling; the scheduler draws each step's noise by NumPy on the host and sends it to the GPU.

Wrong: while the host draws, the GPU has nothing, and the noise is sent from pageable memory.
fix: the noise is drawn on the device (host-bound).
fix2: the noise is drawn into pinned memory, and copied with non_blocking=True while the GPU works (copy-bound).
useless: the noise is sent to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=15, multiple=50)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

BATCH, SIZE, WIDTH, STEPS = 8, 64, 192, 50


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(8))
        self.norms = nn.ModuleList(nn.GroupNorm(8, WIDTH) for _ in range(8))
        self.last = nn.Conv2d(WIDTH, 3, 3, padding=1)

    def forward(self, x, when):
        x = self.first(x + when)
        for block, norm in zip(self.blocks, self.norms):
            x = x + nn.functional.silu(norm(block(x)))
        return self.last(x)


def make(variant):
    fixable.seed(torch)
    model = Denoiser().cuda().eval()
    random = numpy.random.default_rng(20)
    shape = (BATCH, 3, SIZE, SIZE)
    x = torch.randn(shape, device="cuda")
    static = torch.empty(shape, device="cuda")
    pinned = [torch.empty(shape).pin_memory() for _ in range(2)]
    copied = [torch.cuda.Event() for _ in range(2)]
    keep = numpy.linspace(0.99, 0.80, STEPS, dtype=numpy.float32)
    turn = [0]

    def noise():
        """The noise of this step, on the device."""
        if variant == "fix":
            return torch.randn(shape, device="cuda")
        if variant == "fix2":
            at = turn[0] % 2
            copied[at].synchronize()
            random.standard_normal(dtype=numpy.float32, out=pinned[at].numpy())
            there = pinned[at].to("cuda", non_blocking=True)
            copied[at].record()
            return there
        drawn = torch.from_numpy(random.standard_normal(shape, dtype=numpy.float32))  # cause: loader
        return static.copy_(drawn) if variant == "useless" else drawn.cuda()  # cause: delayed

    def step():
        at = turn[0] % STEPS
        turn[0] += 1
        share = float(keep[at])
        with torch.no_grad():
            found = model(x, at / STEPS)
            x.sub_(found, alpha=1.0 - share).mul_(share).add_(noise(), alpha=0.1)

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, x))


run.main(make)
