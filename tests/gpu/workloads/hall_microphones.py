# SPDX-License-Identifier: Apache-2.0
"""torchaudio: 64 microphones hang in a factory hall; for each piece of four seconds it is computed from which of 96 directions
how much noise comes, with a spectrogram of each microphone and the delays of sound between them (a beamformer).

Wrong: the recorder gives pieces in usual (pageable) memory, and .cuda() takes many times what the directions take.
fix: the recorder's pieces lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: the pieces come as the 16 bits that the recorder has measured, and become float32 on the GPU (copy-bound).
useless: what is launched for a piece is one CUDA graph; its copy is not.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=8)
torch, torchaudio = fixable.load_torch("torchaudio")

MICROPHONES, RATE, LENGTH, DIRECTIONS, PIECES, LOOK_EVERY = 64, 48000, 4 * 48000, 96, 6, 20
WINDOW, HOP, SOUND, LOUDEST = 1024, 512, 343.0, 32767.0
BANDS = WINDOW // 2 + 1


def recorded(delays):
    """Pieces of machines that hum from some directions, and noise, as the 16 bits of the recorder: (MICROPHONES, LENGTH)."""
    time = torch.arange(LENGTH, device="cuda") / RATE
    for number in range(PIECES):
        sound = 0.05 * torch.randn(MICROPHONES, LENGTH, device="cuda")
        for machine in range(3):
            late = delays[(11 + 31 * machine + 2 * number) % DIRECTIONS].unsqueeze(1)
            pitch = 310.0 * (machine + 1) + 40.0 * number
            sound += 0.1 * torch.sin(2.0 * math.pi * pitch * (time - late))
        yield (sound * LOUDEST).round().clamp(-LOUDEST, LOUDEST).short().cpu()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    places = 2.0 * torch.rand(MICROPHONES, 2, device="cuda")
    angles = 2.0 * math.pi * torch.arange(DIRECTIONS, device="cuda") / DIRECTIONS
    delays = torch.stack((angles.cos(), angles.sin()), dim=1) @ places.t() / SOUND  # (DIRECTIONS, MICROPHONES)
    pitches = torch.arange(BANDS, device="cuda") * (RATE / WINDOW)
    turned = 2.0 * math.pi * pitches.view(BANDS, 1, 1) * delays
    aims = torch.polar(torch.full_like(turned, 1.0 / MICROPHONES), turned)  # (BANDS, DIRECTIONS, MICROPHONES)
    pieces = [piece if variant == "fix2" else piece.float() / LOUDEST for piece in recorded(delays)]
    if variant == "fix":
        pieces = [piece.pin_memory() for piece in pieces]
    spectra = torchaudio.transforms.Spectrogram(n_fft=WINDOW, hop_length=HOP, power=None).cuda()
    usual, turn, loudest = torch.zeros(DIRECTIONS, device="cuda"), [0], []

    def listen(sound):
        heard = spectra(sound).transpose(0, 1)  # (BANDS, MICROPHONES, windows)
        aimed = aims @ heard
        power = torch.view_as_real(aimed).square().sum(dim=(0, 2, 3)) / LENGTH
        usual.lerp_(power, 0.1)

    if variant == "useless":
        place = torch.zeros(MICROPHONES, LENGTH, device="cuda")
        graph, _ = fixable.capture(torch, lambda: listen(place))
        usual.zero_()

    def there(piece):
        if variant == "fix":
            return piece.to("cuda", non_blocking=True)
        if variant == "fix2":
            return piece.cuda().float() / LOUDEST
        return piece.cuda()  # cause: copy

    @torch.no_grad()
    def step():
        piece = pieces[turn[0] % PIECES]
        turn[0] += 1
        if variant == "useless":
            place.copy_(piece)
            graph.replay()
        else:
            listen(there(piece))  # cause: copy
        if turn[0] % LOOK_EVERY == 0:
            loudest[:] = [usual.argmax().item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
