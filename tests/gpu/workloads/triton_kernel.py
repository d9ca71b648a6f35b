# SPDX-License-Identifier: Apache-2.0
"""Triton, a kernel launched directly: its launcher calls the driver without a CUDA runtime."""
import common

run = common.Run(__doc__, iterations=300)
torch = common.torch_on_gpu()
triton = common.require("triton")
tl = common.require("triton.language")


@triton.jit
def blend_kernel(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside)
    tl.store(out + at, a * 0.75 + b * 0.25, mask=inside)


COUNT = 100_000
first = torch.randn(COUNT).cuda()
other = torch.randn(COUNT).cuda()
out = torch.empty_like(first)


def step():
    blend_kernel[(triton.cdiv(COUNT, 1024),)](first, other, out, COUNT, BLOCK=1024)
    blend_kernel[(triton.cdiv(COUNT, 1024),)](out, other, first, COUNT, BLOCK=1024)


run.steady(step, torch.cuda.synchronize, warm_up=3)
run.finish(common.torch_bytes(torch, first[:4096], out[:4096]))
