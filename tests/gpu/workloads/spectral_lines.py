# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an airplane's camera sees 224 colors of the ground (hyperspectral), line by line. One thread brings stretches of lines
to the GPU, a second one takes the noise out of them there, and a third one brings them back, to be written to disks.

Wrong: threads are thought to be enough; all three use the default stream, where copies and kernels wait for each other.
fix: the threads that copy have streams of their own, and events tell what must be done before what (copy-bound).
useless: what comes to the GPU is copied to four places that are made once, in turns.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=800, warm_up=16)
torch = fixable.load_torch()

LINES, SAMPLES, BANDS, KEPT, SETS, AHEAD, BACK = 256, 640, 224, 24, 4, 2, 3
PIXELS = LINES * SAMPLES


def stretches():
    """Numbers of the camera, 12 bits, in pinned memory: some materials in ever other shares, and noise."""
    colors = torch.linspace(0.0, 1.0, BANDS, device="cuda")
    peaks = torch.rand(8, 4, 1, device="cuda")
    materials = 0.3 + 0.15 * torch.exp(-((colors - peaks) / 0.08).square()).sum(dim=1)
    for number in range(SETS):
        shares = (3.0 * torch.randn(PIXELS, 8, device="cuda")).softmax(dim=1)
        light = 400.0 + 2600.0 * (shares @ materials) + 40.0 * torch.randn(PIXELS, BANDS, device="cuda") + 20.0 * number
        place = torch.empty(PIXELS, BANDS, dtype=torch.int16, pin_memory=True)
        place.copy_(light.clamp(0.0, 4095.0).to(torch.int16))
        yield place


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    taken = list(stretches())
    dark = 200.0 + 10.0 * torch.randn(BANDS, device="cuda")
    gain = 1.0 + 0.05 * torch.randn(BANDS, device="cuda")
    sample = (taken[0][::97].cuda().float() - dark) * gain
    mean = sample.mean(dim=0)
    _, _, directions = torch.linalg.svd((sample - mean).t() @ (sample - mean))
    basis = directions[:KEPT].t().contiguous()
    bright = torch.zeros(BANDS, device="cuda")
    written = [torch.empty(PIXELS, BANDS, dtype=torch.int16, pin_memory=True) for _ in range(BACK)]
    rooms = [torch.empty(PIXELS, BANDS, dtype=torch.int16, device="cuda") for _ in range(4)] if variant == "useless" else None
    streams = [torch.cuda.Stream() for _ in range(2)] if variant == "fix" else [torch.cuda.default_stream()] * 2
    turn, seen = [0], [0.0]

    def clean(numbers):
        """The same numbers without most of their noise: what is not among the strongest 24 directions goes."""
        light = (numbers.float() - dark) * gain
        strengths = (light - mean) @ basis
        strengths = strengths * (1.0 - 12.0 / strengths.abs().clamp(min=12.0))
        light = strengths @ basis.t() + mean
        bright.mul_(0.95).add_(light.mean(dim=0), alpha=0.05)
        return (light / gain + dark).round().clamp(0.0, 4095.0).to(torch.int16)

    @torch.no_grad()
    def bring(first, steps, come, failed):
        try:
            with torch.cuda.stream(streams[0]):
                for number in range(first, first + steps):
                    if rooms:
                        there = rooms[number % 4].copy_(taken[number % SETS], non_blocking=True)
                    else:
                        there = taken[number % SETS].to("cuda", non_blocking=True)  # cause: copy
                    come.put((there, streams[0].record_event()))
        except Exception as e:
            failed.append(e)
            come.put(None)

    @torch.no_grad()
    def take_back(steps, done, failed):
        try:
            with torch.cuda.stream(streams[1]):
                for number in range(steps):
                    cleaned, ready = done.get()
                    streams[1].wait_event(ready)
                    place = written[number % BACK].copy_(cleaned, non_blocking=True)  # cause: copy
                    cleaned.record_stream(streams[1])
                    del cleaned
                    back = streams[1].record_event()
                    back.synchronize()
                    seen[0] += 0.05 * (float(place[number % PIXELS, BANDS // 2]) - seen[0])  # the disks would take it now
        except Exception as e:
            failed.append(e)
        while failed and done.get():
            pass

    @torch.no_grad()
    def loop(steps):
        come, done, failed = queue.Queue(AHEAD), queue.Queue(AHEAD), []
        threads = [threading.Thread(target=bring, args=(turn[0], steps, come, failed), name="bring", daemon=True),
                   threading.Thread(target=take_back, args=(steps, done, failed), name="take_back", daemon=True)]
        for thread in threads:
            thread.start()
        stream = torch.cuda.current_stream()
        for _ in range(steps):
            came = come.get()
            if came is None or failed:
                break
            there, ready = came
            stream.wait_event(ready)
            cleaned = clean(there)
            there.record_stream(stream)
            turn[0] += 1
            done.put((cleaned, stream.record_event()))
            del there, came, cleaned
        done.put(None)
        threads[1].join()
        if failed:
            raise failed[0]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: [seen[0]] + bright.tolist())


run.main(make)
