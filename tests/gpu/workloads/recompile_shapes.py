# SPDX-License-Identifier: Apache-2.0
"""PyTorch: torch.compile(dynamic=False) and texts of ever new lengths: a new length is compiled anew, within the loop.

Wrong: most of the time is the compiler's, on the host.
fix: each text is padded to one length (host-bound).
useless: the mean of the output is not read at each step.
"""
import os

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # compiled anew at each run, as at the first
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("TRITON_ALWAYS_COMPILE", "1")

import fixable

run = fixable.Program(__doc__, steps=200, warm_up=50, settle=dict.fromkeys(fixable.VARIANTS, 0), multiple=50)
torch = fixable.load_torch()
nn = torch.nn

EACH, WIDTH, MOST = 50, 256, 512  # steps of one length


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer, self.norm = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.norm(x + self.outer(torch.nn.functional.gelu(self.inner(x))))


def make(variant):
    fixable.seed(torch)
    config = torch._dynamo.config
    for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit", "accumulated_cache_size_limit"):
        try:
            setattr(config, name, 10000)
        except (AttributeError, TypeError):
            pass  # its name in another version
    model = nn.Sequential(Block(), Block()).cuda().eval()
    compiled = torch.compile(model, dynamic=False)
    turn, means = [0], []
    # Compiled code is kept by shape, whatever model it was compiled for: each variant has lengths of its own.
    shortest = 200 if variant == "useless" else 32

    def step():
        length = shortest + turn[0] // EACH
        turn[0] += 1
        x = torch.full((length, WIDTH), 0.01 * (turn[0] % 7), device="cuda")
        if variant == "fix":
            x = nn.functional.pad(x, (0, 0, 0, MOST - length))
        with torch.no_grad():
            mean = compiled(x)[:length].square().mean()
        if variant == "useless":
            means[:] = [mean]
        else:
            means[:] = [mean.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(m) for m in means])


run.main(make)
