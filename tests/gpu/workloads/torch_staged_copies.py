# SPDX-License-Identifier: Apache-2.0
"""PyTorch, copies of pageable memory of many sizes: on an idle stream and behind a kernel, to memory used before and to
new memory. A class of copies is four sizes to an octave, so each of these has sizes of its own:
1, 1.25, 1.5 and 1.75 times a power of two."""
import common

run = common.Run(__doc__, iterations=12)
torch = common.torch_on_gpu()

TO_DEVICE = range(16, 26)  # powers of two, bytes: beyond 64 KiB a copy engine does it
TO_HOST = range(6, 26)
used = torch.randint(0, 100, (2 << 25,), dtype=torch.uint8)
device = used.cuda()
square = torch.randn(2048, 2048, device="cuda")
kept = []


def bytes_of(power, quarters):
    return (1 << power) + quarters * (1 << power - 2)


def work_ahead():
    torch.mm(square, square)
    torch.mm(square, square)


def to_device(nbytes, new):
    device[:nbytes].copy_(used[:nbytes].clone() if new else used[:nbytes])


def to_host(nbytes, new):
    if new:
        kept[:] = [device[:nbytes].cpu()]
    else:
        used[:nbytes].copy_(device[:nbytes])


def step():
    for copy, powers in ((to_device, TO_DEVICE), (to_host, TO_HOST)):
        for power in powers:
            for quarters, (ahead, new) in enumerate(((False, False), (True, False), (False, True), (True, True))):
                torch.cuda.synchronize()
                if ahead:
                    work_ahead()
                copy(bytes_of(power, quarters), new)


run.steady(step, torch.cuda.synchronize, warm_up=1)
run.finish(common.torch_bytes(torch, device[:4096], used[:4096]))
