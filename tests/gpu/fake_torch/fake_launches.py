# SPDX-License-Identifier: Apache-2.0
"""Seven kernels a step on the simulated CUDA; fixed: one. For tests of the acceptance script's part `fixes`."""
import fixable

run = fixable.Program(__doc__, steps=400)
torch = fixable.load_torch()


def make(variant):
    model, graph = torch.nn.Sequential(), torch.cuda.CUDAGraph()
    step = graph.replay if variant == "fix" else lambda: model(0)
    return fixable.Work(step, torch.cuda.synchronize, lambda: [1.0, 2.0])


run.main(make)
