# SPDX-License-Identifier: Apache-2.0
"""PyTorch: songs are taken apart into voice, drums, bass and the rest, for people who want to sing or play along: a network sees
the spectrum of ten seconds of both channels, and tells for each tone how much of it belongs to what; six pieces are one batch.

Wrong: sound comes from the host's ordinary memory and goes back to it, and there is four times as much of it on the way back.
fix: both places on the host are pinned memory (copy-bound).
fix2: sound has 16 bits on its way, as the files have it (copy-bound).
useless: the parts' spectra come to a tensor that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn

SETS, PIECES, CHANNELS, PARTS, SAMPLES, WINDOW, HOP, WIDTH = 3, 6, 2, 4, 441000, 2048, 512, 512
TONES, LARGEST = WINDOW // 2 + 1, 32767.0


class Masks(nn.Module):
    """For each moment and tone, how much of it belongs to each part: from the spectrum's size, (PIECES, CHANNELS, TONES, times),
    to (PIECES, PARTS, CHANNELS, TONES, times)."""

    def __init__(self):
        super().__init__()
        self.narrow = nn.Sequential(nn.Linear(CHANNELS * TONES, WIDTH), nn.LayerNorm(WIDTH), nn.Tanh())
        self.around = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 5, padding=2), nn.ReLU(), nn.Conv1d(WIDTH, WIDTH, 5, padding=2))
        self.wide = nn.Linear(WIDTH, PARTS * CHANNELS * TONES)

    def forward(self, size):
        times = size.shape[-1]
        x = self.narrow(torch.log1p(size).reshape(PIECES, CHANNELS * TONES, times).transpose(1, 2))
        x = x + self.around(x.transpose(1, 2)).transpose(1, 2)
        x = self.wide(x).reshape(PIECES, times, PARTS, CHANNELS, TONES)
        return x.float().softmax(dim=2).permute(0, 2, 3, 4, 1)


def songs():
    """Chords that fade, over some noise, with the 16 bits of a file."""
    time = torch.arange(SAMPLES, device="cuda") / 44100.0
    for _ in range(SETS):
        sound = 0.05 * torch.randn(PIECES, CHANNELS, SAMPLES, device="cuda")
        for _ in range(12):
            pitch = 80.0 * 2.0 ** (4.0 * torch.rand(PIECES, 1, 1, device="cuda"))
            sound += 0.05 * torch.sin(6.2831853 * pitch * time) * torch.exp(-(time * 2.0 % 1.0) * 3.0)
        yield (sound.clamp(-1.0, 1.0) * LARGEST).round().to(torch.int16).cpu()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = Masks().cuda().eval()
    short, pinned = variant == "fix2", variant == "fix"
    kind = torch.int16 if short else torch.float32
    batches = [batch if short else batch.float() / LARGEST for batch in songs()]
    if pinned:
        batches = [batch.pin_memory() for batch in batches]
    window = torch.hann_window(WINDOW, device="cuda")
    landed = torch.zeros(PIECES, PARTS, CHANNELS, SAMPLES, dtype=kind, pin_memory=pinned)
    times = SAMPLES // HOP + 1
    room = None
    if variant == "useless":
        room = torch.empty(PIECES, times, PARTS, CHANNELS, TONES, dtype=torch.complex64, device="cuda").permute(0, 2, 3, 4, 1)
    turn, usual = [0], [0.0] * PARTS

    def parted(sound):
        """The sound of each part: (PIECES, PARTS, CHANNELS, SAMPLES)."""
        flat = sound.reshape(PIECES * CHANNELS, SAMPLES)
        spectrum = torch.stft(flat, WINDOW, HOP, window=window, return_complex=True)
        spectrum = spectrum.reshape(PIECES, CHANNELS, TONES, times)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            masks = model(spectrum.abs())
        if room is None:
            parts = masks * spectrum.unsqueeze(1)
        else:
            parts = torch.mul(masks, spectrum.unsqueeze(1), out=room)
        flat = parts.reshape(PIECES * PARTS * CHANNELS, TONES, times)
        return torch.istft(flat, WINDOW, HOP, window=window, length=SAMPLES).reshape(PIECES, PARTS, CHANNELS, SAMPLES)

    @torch.no_grad()
    def step():
        sound = batches[turn[0] % SETS].to("cuda")  # cause: copy
        turn[0] += 1
        if short:
            sound = sound.float() / LARGEST
        parts = parted(sound)
        if short:
            parts = (parts * LARGEST).round().clamp(-LARGEST, LARGEST).to(torch.int16)
        landed.copy_(parts)  # cause: copy
        heard = landed[:, :, 0, ::4410].float() / (LARGEST if short else 1.0)
        for part, loud in enumerate(heard.square().mean(dim=(0, 2)).sqrt().tolist()):
            usual[part] += 0.1 * (loud - usual[part])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
