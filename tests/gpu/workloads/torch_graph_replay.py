# SPDX-License-Identifier: Apache-2.0
"""PyTorch, a forward pass captured once into a CUDA graph and replayed, with new input for each replay."""
import common

run = common.Run(__doc__, iterations=500)
torch = common.torch_on_gpu()
nn = torch.nn

model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                      nn.Linear(512, 256)).cuda().eval()
inputs = torch.randn(4, 32, 512).cuda()
static_input = inputs[0].clone()
total = torch.zeros(32, 256).cuda()
turn = 0

with torch.inference_mode():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(static_input)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_output = model(static_input)

    def step():
        global turn
        static_input.copy_(inputs[turn % 4])
        graph.replay()
        total.add_(static_output)
        turn += 1

    run.steady(step, torch.cuda.synchronize)
run.finish(common.torch_bytes(torch, total))
