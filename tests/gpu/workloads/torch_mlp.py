# SPDX-License-Identifier: Apache-2.0
"""PyTorch, eager inference of a small multilayer perceptron: launch-bound at batch 1, GPU-bound at 1280."""
import common

run = common.Run(__doc__, iterations=2000, batch=1)
torch = common.torch_on_gpu()
nn = torch.nn

model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                      nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda().eval()
x = torch.randn(run.batch, 1024).cuda()

with torch.inference_mode():
    run.steady(lambda: model(x), torch.cuda.synchronize)
    y = model(x)
run.finish(common.torch_bytes(torch, y))
