# SPDX-License-Identifier: Apache-2.0
"""Inference with four linear layers (1024-1024-1024-1024-512, ReLU between): the case cudaspy began with.

Eager at batch 1 and 16, the host launches for longer than the GPU computes; at batch 1280 the GPU is the limit. `graph`
replays the step as one CUDA graph; `streams` copies the next input on a second stream while the layers run.
"""
import argparse

import steps


def layers(torch):
    sizes = (1024, 1024, 1024, 1024, 512)
    made = []
    for width, height in zip(sizes, sizes[1:]):
        made += [torch.nn.Linear(width, height), torch.nn.ReLU()]
    return torch.nn.Sequential(*made[:-1]).cuda().eval()


def eager(torch, model, batch):
    x = torch.randn(batch, 1024, device='cuda')
    return lambda number: model(x)


def graph(torch, model, batch):
    x = torch.randn(batch, 1024, device='cuda')
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # what is allocated and chosen at the first runs must not be captured
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        model(x)
    return lambda number: captured.replay()


def streams(torch, model, batch):
    """Two inputs take turns: one is read by the layers while the other is written by the copy."""
    host = [torch.randn(batch, 1024).pin_memory() for _ in range(2)]
    device = [torch.empty(batch, 1024, device='cuda') for _ in range(2)]
    copied = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]
    side = torch.cuda.Stream()

    def copy(slot):
        side.wait_event(used[slot])
        with torch.cuda.stream(side):
            device[slot].copy_(host[slot], non_blocking=True)
            copied[slot].record()

    def step(number):
        slot = number % 2
        copy(1 - slot)
        torch.cuda.current_stream().wait_event(copied[slot])
        model(device[slot])
        used[slot].record()

    copy(0)
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--batch', type=int, default=1, help='rows of the input: 1, 16 and 1280 are the cases (%(default)s)')
    parser.add_argument('--mode', choices=('eager', 'graph', 'streams'), default='eager')
    parser.add_argument('--steps', type=int, default=2000)
    arguments = parser.parse_args()

    torch = steps.torch_on_gpus()
    make = {'eager': eager, 'graph': graph, 'streams': streams}[arguments.mode]
    with torch.inference_mode():
        steps.timed(torch, make(torch, layers(torch), arguments.batch), arguments.steps)


if __name__ == '__main__':
    main()
