# SPDX-License-Identifier: Apache-2.0
"""PyTorch: batches are copied from pinned memory on a stream of their own, and a torch.cuda.synchronize() "makes sure" each time.

Wrong: the wait takes away what the second stream is for: the copy runs alone, then the compute, then the host.
fix: the compute stream waits for the copy by an event, the host for neither (sync-bound).
useless: the output is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=2000, warm_up=20)
torch, numpy = fixable.load_torch("numpy")

ROWS, WIDTH, BUFFERS = 8192, 1024, 4  # 32 MiB a batch


def make(variant):
    fixable.seed(torch)
    source = [torch.randn(ROWS, WIDTH).pin_memory() for _ in range(BUFFERS)]
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / 32.0 for _ in range(2)]
    buffers = [torch.empty(ROWS, WIDTH, device="cuda") for _ in range(2)]
    out = torch.empty(ROWS, WIDTH, device="cuda")
    total = torch.zeros(WIDTH, device="cuda")
    side = torch.cuda.Stream()
    arrived = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]
    random = numpy.random.default_rng(20)

    def fetch(number):
        """Copies a batch to the device, behind the last work that used its buffer."""
        at = number % 2
        with torch.cuda.stream(side):
            side.wait_event(used[at])
            buffers[at].copy_(source[number % BUFFERS], non_blocking=True)
            arrived[at].record(side)
        if variant != "fix":
            torch.cuda.synchronize()  # cause: wait

    def compute(number):
        at = number % 2
        if variant == "fix":
            torch.cuda.current_stream().wait_event(arrived[at])
        y = torch.mm(buffers[at], weights[0], out=out) if variant == "useless" else buffers[at] @ weights[0]
        used[at].record()
        total.add_((torch.relu(y) @ weights[1]).mean(dim=0))

    def loop(steps):
        fetch(0)
        for number in range(steps):
            if number + 1 < steps:
                fetch(number + 1)
            compute(number)
            random.random(20000).sort()  # the host's own work of the step

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: fixable.sample_of(torch, total))


run.main(make)
