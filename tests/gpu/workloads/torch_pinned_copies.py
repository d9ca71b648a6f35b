# SPDX-License-Identifier: Apache-2.0
"""PyTorch, copies of every kind: pinned and non_blocking on a side stream, pageable, and on the device."""
import common

run = common.Run(__doc__, iterations=100)
torch = common.torch_on_gpu()

COUNT = 1 << 20
pinned_in = torch.randn(COUNT).pin_memory()
pinned_out = torch.empty(COUNT).pin_memory()
pageable = torch.randn(COUNT // 4)
device = torch.zeros(COUNT).cuda()
spare = torch.zeros(COUNT).cuda()
side = torch.cuda.Stream()
arrived = torch.cuda.Event()
kept = []


def step():
    with torch.cuda.stream(side):
        device.copy_(pinned_in, non_blocking=True)
        arrived.record(side)
    torch.cuda.current_stream().wait_event(arrived)
    spare.copy_(device)
    spare.mul_(0.5)
    spare[:COUNT // 4].add_(pageable.cuda())
    pinned_out.copy_(spare, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    spare.zero_()
    kept[:] = [pageable.cuda()[:16].cpu()]


run.steady(step, torch.cuda.synchronize, warm_up=2)
run.finish(common.torch_bytes(torch, pinned_out[:4096], kept[0]))
