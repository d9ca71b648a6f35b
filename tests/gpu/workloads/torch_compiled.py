# SPDX-License-Identifier: Apache-2.0
"""PyTorch, a model compiled by torch.compile: fused Triton kernels launched by generated code."""
import common

run = common.Run(__doc__, iterations=200)
torch = common.torch_on_gpu()
nn = torch.nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + torch.tanh(self.inner(x)) * 0.5 + torch.sigmoid(x))


model = nn.Sequential(Block(512), Block(512), nn.Linear(512, 128)).cuda().eval()
compiled = torch.compile(model)
x = torch.randn(64, 512).cuda()

with torch.inference_mode():
    run.steady(lambda: compiled(x), torch.cuda.synchronize, warm_up=3)
    y = compiled(x)
run.finish(common.torch_bytes(torch, y))
