# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: recorders at 64 ponds send ten seconds of sound each, as numbers of 16 bits, and which of 24 frogs call at each
pond is told by a ResNet of timm, in half precision, from tones on the scale of mel, which are made on the GPU. The sound comes
from a DataLoader, batch by batch, as the radio link has put it into memory.

Wrong: a batch, 41 MB, is copied from pageable memory, between the work for the one before and its own; the GPU waits for it.
fix: the link puts batches into pinned memory, from which they are copied without a wait (copy-bound).
fix2: the next batch is copied from pageable memory on another stream, while the GPU works on this one (copy-bound).
fix3: spectra and network are launched as one CUDA graph (launch-bound).
useless: the sound as numbers of 32 bits is in an array that is made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
torch, timm = fixable.load_torch("timm")

PONDS, SAMPLES, HEARD, WINDOW, HOP, MELS, FROGS, BATCHES, ROUND = 64, 320000, 32000, 1024, 640, 64, 24, 4, 400


class Link(torch.utils.data.Dataset):
    """What the recorders have sent: batches of sound, which come again and again."""

    def __init__(self, pinned):
        time = torch.arange(SAMPLES, device="cuda") / HEARD
        self.batches = []
        for _ in range(BATCHES):
            pitch = 400.0 + 3000.0 * torch.rand(PONDS, 1, device="cuda")
            often = 1.0 + 3.0 * torch.rand(PONDS, 1, device="cuda")
            calls = torch.sin(2.0 * math.pi * pitch * time) * (torch.sin(2.0 * math.pi * often * time) > 0.3)
            sound = 6000.0 * calls + 1000.0 * torch.randn(PONDS, SAMPLES, device="cuda")
            sent = sound.clamp_(-32768.0, 32767.0).to(torch.int16).cpu()
            self.batches.append(sent.pin_memory() if pinned else sent)

    def __len__(self):
        return ROUND

    def __getitem__(self, number):
        return self.batches[number % BATCHES]


def mel_bank():
    """Triangles on the scale of mel, (MELS, tones)."""
    top = 2595.0 * math.log10(1.0 + 0.5 * HEARD / 700.0)
    edges = 700.0 * (10.0 ** (torch.linspace(0.0, top, MELS + 2) / 2595.0) - 1.0)
    tones = torch.linspace(0.0, 0.5 * HEARD, WINDOW // 2 + 1)
    up = (tones - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - tones) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(up, down).clamp_(min=0.0).cuda()


def endless(loader):
    while True:
        yield from loader


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    network = timm.create_model("resnet18", pretrained=False, in_chans=1, num_classes=FROGS)
    network = network.cuda().eval().half().to(memory_format=torch.channels_last)
    bank, window = mel_bank(), torch.hann_window(WINDOW, device="cuda")
    sent = endless(torch.utils.data.DataLoader(Link(variant == "fix"), batch_size=None))
    places = [torch.zeros(PONDS, SAMPLES, dtype=torch.int16, device="cuda") for _ in range(2)]
    numbers = torch.zeros(PONDS, SAMPLES, device="cuda") if variant == "useless" else None
    usual, turn = torch.zeros(FROGS, device="cuda"), [0]

    def listen(sound):
        """Which frogs call, which goes to the mean of the last batches."""
        waves = numbers.copy_(sound) if variant == "useless" else sound.float()
        tones = torch.stft(waves, WINDOW, HOP, window=window, return_complex=True).abs()
        mels = torch.matmul(bank, tones.square_())
        picture = mels.add_(1e4).log_().sub_(20.0).div_(5.0).unsqueeze(1).half()
        chances = network(picture.contiguous(memory_format=torch.channels_last)).float().sigmoid()
        usual.lerp_(chances.mean(dim=0), 0.02)

    if variant == "fix3":
        graph, _ = fixable.capture(torch, lambda: listen(places[0]))
        usual.zero_()

    def one_by_one():
        places[0].copy_(next(sent), non_blocking=variant == "fix")  # cause: copy,wait
        if variant == "fix3":
            graph.replay()
        else:
            listen(places[0])

    side = torch.cuda.Stream()
    there, free = [torch.cuda.Event(), torch.cuda.Event()], [torch.cuda.Event(), torch.cuda.Event()]

    def fetch(at):
        """The next batch to one of the two places, as soon as what was there is done with."""
        with torch.cuda.stream(side):
            side.wait_event(free[at])
            places[at].copy_(next(sent))
            there[at].record(side)

    def ahead():
        at = turn[0] % 2
        torch.cuda.current_stream().wait_event(there[at])
        listen(places[at])
        free[at].record()
        fetch(1 - at)

    if variant == "fix2":
        torch.cuda.synchronize()
        fetch(0)

    @torch.no_grad()
    def step():
        if variant == "fix2":
            ahead()
        else:
            one_by_one()  # cause: copy,wait
        turn[0] += 1

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
