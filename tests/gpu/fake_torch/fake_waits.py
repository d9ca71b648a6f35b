# SPDX-License-Identifier: Apache-2.0
"""A wait each step on the simulated CUDA; fixed: none. For tests of the acceptance script's parts `stable` and `lines`."""
import fixable

run = fixable.Program(__doc__, steps=200)
torch = fixable.load_torch()


def make(variant):
    model = torch.nn.Sequential()
    model(0)

    def step():
        model(0)
        if variant != "fix":
            torch.driver.library.cuCtxSynchronize()  # cause: wait

    return fixable.Work(step, torch.cuda.synchronize, lambda: [1.0, 2.0])


run.main(make)
