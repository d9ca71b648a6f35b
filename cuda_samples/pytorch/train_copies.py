# SPDX-License-Identifier: Apache-2.0
"""A training loop with a habit: a batch is repeated and permuted into new memory at every step.

`repeat` and `permute(...).contiguous()` write the whole batch anew though it is the same, and the loss is fetched with
`.item()` at every step, which waits for the GPU. With --fixed the batch is laid out once, before the loop, and the loss
is fetched at the end; the numbers are the same.
"""
import argparse

import steps

ROWS, COPIES, FEATURES = 256, 8, 512


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--fixed', action='store_true', help='without the habit')
    parser.add_argument('--steps', type=int, default=500)
    arguments = parser.parse_args()

    torch = steps.torch_on_gpus()
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(FEATURES, ROWS, device='cuda')
    targets = torch.randn(COPIES, ROWS, 1, device='cuda')
    seen = []

    def repeated():
        return batch.unsqueeze(0).repeat(COPIES, 1, 1).permute(0, 2, 1).contiguous()

    once = repeated()

    def step(number):
        optimizer.zero_grad(set_to_none=True)
        out = model(once if arguments.fixed else repeated())
        loss = torch.nn.functional.mse_loss(out, targets)
        loss.backward()
        optimizer.step()
        seen.append(loss.detach() if arguments.fixed else loss.item())

    steps.timed(torch, step, arguments.steps)
    print(f'last loss {float(seen[-1]):.6f}')


if __name__ == '__main__':
    main()
