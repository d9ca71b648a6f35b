# SPDX-License-Identifier: Apache-2.0
"""What the scripts share: PyTorch on a GPU or a clear end, and a timed loop of steps that are NVTX ranges."""
import sys
import time

SKIP = 77  # exit status of a script that cannot run here


def skip(why):
    print(f'skip: {why}', flush=True)
    sys.exit(SKIP)


def torch_on_gpus(count=1):
    """The module torch, where it finds so many CUDA devices."""
    try:
        import torch
    except ImportError as error:
        skip(f'PyTorch cannot be imported: {error}')
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found < count:
        skip(f'{count} CUDA device(s) needed, PyTorch finds {found}')
    torch.manual_seed(1)
    return torch


def timed(torch, step, steps, warm_up=20, say=print):
    """Calls step(number) so often, each in an NVTX range, and prints the mean time of one."""
    for number in range(warm_up):
        step(number)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for number in range(steps):
        torch.cuda.nvtx.range_push('step')
        step(number)
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    say(f'{seconds / steps * 1e6:.1f} us per step ({steps} steps, {seconds:.3f} s)', flush=True)
