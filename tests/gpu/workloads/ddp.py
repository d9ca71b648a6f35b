# SPDX-License-Identifier: Apache-2.0
"""What the programs with DistributedDataParallel on two GPUs share: one process a GPU, which all run the same loops."""
import os
import socket

import common
import fixable

RANKS = 2


def rank_main(rank, doc, told, program, make):
    common.told = told
    run = fixable.Program(doc, **program)
    import torch
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=RANKS)

    def agree(steps):
        both = torch.tensor([steps], device="cuda")
        torch.distributed.broadcast(both, 0)
        return int(both.item())

    run.agree = agree
    if rank:
        run.say = lambda text: None
    run.main(lambda variant: make(torch, rank, variant))
    torch.distributed.destroy_process_group()


def main(doc, make, **program):
    """make(torch, rank, variant) gives a rank's Work."""
    fixable.Program(doc, **program)  # says what is wrong with the command line
    torch = fixable.load_torch(gpus=RANKS)
    if not torch.distributed.is_nccl_available():
        common.skip("this PyTorch has no NCCL")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    torch.multiprocessing.spawn(rank_main, args=(doc, common.told, program, make), nprocs=RANKS)
