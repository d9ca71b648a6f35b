# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an old film is made twice as large by a small network; a thread with a stream of its own brings the pictures to the
host, where they wait for an encoder, and looks at each one's histogram for a change of scene.

Wrong: the thread takes each picture by .cpu() to new pageable memory, which takes longer than the network.
fix: pictures come to two places in pinned memory, which are made once (copy-bound).
fix2: the GPU makes bytes of the pictures, a quarter of what was copied, still by .cpu() (copy-bound).
fix3: the GPU counts for the histogram, the pictures come as they did (host-bound).
useless: the network writes to four pictures that are made once, in turns.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=250, warm_up=12)
torch = fixable.load_torch()
nn = torch.nn

HEIGHT, WIDTH, CHANNELS, LAYERS, FRAMES, AHEAD, BINS, EACH = 720, 1280, 32, 6, 6, 2, 64, 4


def network():
    layers = [nn.Conv2d(3, CHANNELS, 5, padding=2), nn.ReLU()]
    for _ in range(LAYERS):
        layers += [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU()]
    layers += [nn.Conv2d(CHANNELS, 12, 3, padding=1), nn.PixelShuffle(2)]
    return nn.Sequential(*layers).cuda().half().to(memory_format=torch.channels_last)


def film():
    """Pictures with waves of light that move, and the grain of old film."""
    y, x = torch.linspace(0.0, 9.0, HEIGHT, device="cuda")[:, None], torch.linspace(0.0, 16.0, WIDTH, device="cuda")
    for number in range(FRAMES):
        light = torch.stack([0.5 + 0.3 * torch.sin(x + y + 0.3 * number + color) for color in range(3)])
        light = (light + 0.05 * torch.randn_like(light)).clamp(0.0, 1.0)
        yield light[None].half().contiguous(memory_format=torch.channels_last)


def make(variant):
    fixable.seed(torch)
    model, frames = network(), list(film())
    large = (1, 3, 2 * HEIGHT, 2 * WIDTH)
    places = [torch.empty(large, pin_memory=True) for _ in range(2)] if variant == "fix" else None
    rooms = [torch.empty(large, device="cuda") for _ in range(AHEAD + 2)] if variant == "useless" else None
    waiting, stream, failed = queue.Queue(maxsize=AHEAD), torch.cuda.Stream(), []
    turn, taken, usual = [0], [0], torch.zeros(BINS)
    shown = [None, None]  # the encoder would take them from here

    def histogram(picture):
        sample = picture[0, 1, ::EACH, ::EACH]
        return torch.histc(sample.float(), BINS, 0.0, 255.0) / sample.numel()

    def fetched(picture):
        if variant == "fix":
            place = places[taken[0] % 2]
            place.copy_(picture, non_blocking=True)
            stream.synchronize()
            return place
        return picture.cpu()  # cause: copy

    def take(picture, counts, made):
        stream.wait_event(made)
        with torch.cuda.stream(stream):
            here = shown[taken[0] % 2] = fetched(picture)  # cause: copy
            counts = histogram(here) if counts is None else counts.cpu()
        taken[0] += 1
        usual.lerp_(counts, 0.1)

    def write():
        torch.set_num_threads(1)
        while True:
            item = waiting.get()
            try:
                take(*item)  # cause: copy
            except Exception as e:
                failed.append(e)
            del item
            waiting.task_done()

    threading.Thread(target=write, name="writer", daemon=True).start()

    @torch.no_grad()
    def step():
        if failed:
            raise failed[0]
        frame, number = frames[turn[0] % FRAMES], turn[0]
        turn[0] += 1
        enlarged = (model(frame) + nn.functional.interpolate(frame, scale_factor=2.0)).contiguous()
        picture = torch.mul(enlarged, 255.0, out=rooms[number % len(rooms)]) if rooms else enlarged.float() * 255.0
        picture.clamp_(0.0, 255.0)
        counts = histogram(picture) if variant == "fix3" else None
        picture = picture.byte() if variant == "fix2" else picture
        for tensor in (picture, counts):
            if tensor is not None:
                tensor.record_stream(stream)
        waiting.put((picture, counts, torch.cuda.current_stream().record_event()))

    def wait():
        waiting.join()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: [float(usual @ torch.linspace(0.0, 1.0, BINS))] + usual.tolist())


run.main(make)
