# SPDX-License-Identifier: Apache-2.0
"""PyTorch: 60,000 launches of one kernel; the first 2,000 run about 30 us each, the rest 5 us.

Wrong: nothing that the host could mend; the GPU is busy (gpu-bound). The estimate of the kernel's mean time is what counts:
`kernel_ns:` is what CUPTI says by torch.profiler, printed where several variants are measured.
useless: no step is counted on the host.
"""
import fixable

run = fixable.Program(__doc__, steps=60000, warm_up=0, settle=dict.fromkeys(fixable.VARIANTS, 0), fixed=True)
torch = fixable.load_torch()

LONG, LONG_US, SHORT_US = 2000, 30.0, 5.0


def make(variant):
    rate = getattr(torch.cuda.get_device_properties(0), "clock_rate", 1755000) / 1000.0  # cycles a microsecond
    done = []

    def loop(steps):
        for number in range(steps):
            torch.cuda._sleep(int(rate * (LONG_US if number < LONG else SHORT_US)))
            if variant != "useless":
                done[:] = [number]

    if variant == "base" and not run.alone:
        kinds = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[kinds.CUDA]) as seen:
            loop(run.default)
            torch.cuda.synchronize()
        spins = [e for e in seen.key_averages() if "spin" in e.key]
        if spins:
            total = sum(getattr(e, "self_device_time_total", 0) for e in spins)
            print("kernel_ns: %.1f" % (1000.0 * total / max(1, sum(e.count for e in spins))), flush=True)
    return fixable.Work(loop=loop, wait=torch.cuda.synchronize)


run.main(make)
