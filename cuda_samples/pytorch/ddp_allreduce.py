# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel step on two GPUs whose all-reduce is exposed: no kernel runs beside it.

One bucket holds nearly all gradients, so that their all-reduce can start only when the backward pass is done. With
--overlap a bucket holds one layer and is reduced beside the backward pass of the next. Runs by itself (two processes) or under
`torchrun --nproc-per-node 2`.
"""
import argparse
import os
import socket

import steps

RANKS = 2
WIDTH, LAYERS = 4096, 8  # 64 MiB of gradients a layer
ONE_BUCKET_MB, BUCKET_MB = 1 << 14, 64


def train(rank, arguments):
    torch = steps.torch_on_gpus(RANKS)
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group('nccl', rank=rank, world_size=RANKS)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    # Whatever bucket_cap_mb says, the first bucket may end at 1 MiB: it then holds one layer.
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers).cuda(), device_ids=[rank],
        bucket_cap_mb=BUCKET_MB if arguments.overlap else ONE_BUCKET_MB)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(arguments.rows, WIDTH, device='cuda')

    def step(number):
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    steps.timed(torch, step, arguments.steps, say=print if rank == 0 else lambda *text, **options: None)
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--overlap', action='store_true', help='small buckets, reduced beside the backward pass')
    parser.add_argument('--rows', type=int, default=256, help='of the input: more of them, more to compute (%(default)s)')
    parser.add_argument('--steps', type=int, default=200)
    arguments = parser.parse_args()

    torch = steps.torch_on_gpus(RANKS)
    if not torch.distributed.is_nccl_available():
        steps.skip('this PyTorch has no NCCL')
    if 'RANK' in os.environ:  # under torchrun
        train(int(os.environ['RANK']), arguments)
        return
    os.environ['MASTER_ADDR'] = '127.0.0.1'
    os.environ['MASTER_PORT'] = str(free_port())
    torch.multiprocessing.spawn(train, args=(arguments,), nprocs=RANKS)


if __name__ == '__main__':
    main()
