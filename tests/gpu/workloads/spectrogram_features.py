# SPDX-License-Identifier: Apache-2.0
"""PyTorch: log-mel spectrograms of recorded sound, computed on the GPU and kept on the host for a training later.

Wrong: clips go there by .cuda() and spectrograms come back by .cpu(), both in pageable memory, in many times what is computed.
fix: clips and spectrograms lie in pinned memory, and are copied with non_blocking=True (copy-bound).
useless: the clips go to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=6)
torch = fixable.load_torch()

CLIPS, RATE, SECONDS, SETS, WINDOW, HOP, BANDS = 64, 16000, 8, 3, 1024, 256, 128


def mel_bands():
    """Triangles over the frequencies, each as wide as the ear has them."""
    def mel(hertz):
        return 2595.0 * torch.log10(1.0 + hertz / 700.0)

    frequencies = mel(torch.linspace(0.0, RATE / 2, WINDOW // 2 + 1))
    corners = torch.linspace(0.0, float(mel(torch.tensor(RATE / 2.0))), BANDS + 2)
    up = (frequencies - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    down = (corners[2:, None] - frequencies) / (corners[2:] - corners[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0.0)


def sounds():
    """Tones that rise, in noise."""
    chance = torch.Generator().manual_seed(20)
    time = torch.arange(RATE * SECONDS) / RATE
    tones = 100.0 + 3000.0 * torch.rand(SETS * CLIPS, 1, generator=chance)
    found = torch.sin(6.2832 * (tones + 40.0 * time) * time)
    found += 0.1 * torch.randn(RATE * SECONDS, generator=chance)
    return found.view(SETS, CLIPS, RATE * SECONDS)


def make(variant):
    fixable.seed(torch)
    clips = sounds()
    window, bands = torch.hann_window(WINDOW, device="cuda"), mel_bands().cuda()
    place = torch.empty(CLIPS, RATE * SECONDS, device="cuda") if variant == "useless" else None
    kept, turn = [None] * SETS, [0]
    if variant == "fix":
        clips = clips.pin_memory()
        kept = [torch.empty(CLIPS, BANDS, RATE * SECONDS // HOP + 1).pin_memory() for _ in range(SETS)]
        copied = [torch.cuda.Event() for _ in range(SETS)]

    @torch.no_grad()
    def spectrogram(sound):
        found = torch.stft(sound, WINDOW, HOP, window=window, return_complex=True)
        return torch.log(bands @ found.abs().square() + 1e-6)

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if variant == "fix":
            copied[at].synchronize()  # what lay here has been used
            kept[at].copy_(spectrogram(clips[at].cuda(non_blocking=True)), non_blocking=True)
            copied[at].record()
            return
        sound = place.copy_(clips[at]) if variant == "useless" else clips[at].cuda()  # cause: copy
        kept[at] = spectrogram(sound).cpu()  # cause: copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: kept[(turn[0] - 1) % SETS][:, ::8, ::50].reshape(-1).tolist())


run.main(make)
