# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: a garage lets a network listen to engines, to tell knocks, loose belts and other faults. Recordings of five
seconds stay on the GPU; 96 of them a step become spectrograms on the mel scale, which a small vision transformer of timm takes
apart into patches, and it learns in bfloat16 with smoothed labels.

Wrong: nothing; the GPU is busy with products of matrices all the time (gpu-bound).
useless: the loss is not read once in 20 steps.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=100, warm_up=6)
torch, timm, losses = fixable.load_torch("timm", "timm.loss")
nn = torch.nn

RECORDINGS, BATCH, RATE, SECONDS, WINDOW, HOP, BANDS, FRAMES, FAULTS, SHOWN = 576, 96, 16000, 5, 1024, 160, 128, 496, 14, 20


def recorded():
    """Recordings, (RECORDINGS, RATE * SECONDS), and their faults: a fault has its own pitch, and its own rhythm of knocks."""
    faults = torch.arange(RECORDINGS, device="cuda") * 5 % FAULTS
    time = torch.arange(RATE * SECONDS, device="cuda") / RATE
    pitch = 60.0 + 25.0 * faults[:, None] + 4.0 * torch.rand(RECORDINGS, 1, device="cuda")
    knocks = (torch.sin(2.0 * math.pi * (3.0 + faults[:, None]) * time) > 0.95).float()
    hum = torch.sin(2.0 * math.pi * pitch * time) + 0.5 * torch.sin(6.0 * math.pi * pitch * time)
    return 0.2 * hum + (0.1 + 0.4 * knocks) * torch.randn(RECORDINGS, RATE * SECONDS, device="cuda"), faults


def mel_bands():
    """How much each frequency counts in each band, (BANDS, WINDOW // 2 + 1)."""
    top = 2595.0 * math.log10(1.0 + RATE / 1400.0)
    edges = 700.0 * (10.0 ** (torch.linspace(0.0, top, BANDS + 2, device="cuda") / 2595.0) - 1.0)
    edges[1:] += torch.arange(BANDS + 1, device="cuda") * 0.5  # none is empty at the low end
    found = torch.linspace(0.0, RATE / 2.0, WINDOW // 2 + 1, device="cuda")
    up = (found - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - found) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(up, down).clamp_(min=0.0)


def make(variant):
    fixable.seed(torch)
    recordings, faults = recorded()
    bands, window = mel_bands(), torch.hann_window(WINDOW, device="cuda")
    model = timm.create_model("vit_small_patch16_224", pretrained=False, img_size=(BANDS, FRAMES), in_chans=1,
                              num_classes=FAULTS).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True)
    loss_of = losses.LabelSmoothingCrossEntropy(smoothing=0.1)
    usual, turn, curve = torch.full((), 2.6, device="cuda"), [0], []

    def spectrograms(sounds):
        """Pictures of one channel, (BATCH, 1, BANDS, FRAMES)."""
        waves = torch.stft(sounds, WINDOW, HOP, window=window, return_complex=True)[:, :, :FRAMES]
        power = waves.real.square() + waves.imag.square()
        return (0.25 * torch.log(bands @ power + 1e-5))[:, None]

    def step():
        first = turn[0] * BATCH % RECORDINGS
        with torch.no_grad():
            pictures = spectrograms(recordings[first:first + BATCH])
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(pictures)
        loss = loss_of(told.float(), faults[first:first + BATCH])
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.05)
        turn[0] += 1
        if variant != "useless" and turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the faults have become."""
        return [usual.item(), float(nn.utils.parameters_to_vector(model.head.parameters()).detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
