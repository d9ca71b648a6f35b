# SPDX-License-Identifier: Apache-2.0
"""transformers: a robot speaks. A vocoder (HiFi-GAN) makes sound of a spectrogram, a quarter of a second at a time; each piece is
made as loud as the others, faded into the one before, and goes to the loudspeaker.

Wrong: a piece takes hundreds of short kernels, and the host needs longer to launch them than the GPU to do them.
fix: all that makes a piece is one CUDA graph; each piece is still waited for (launch-bound).
fix2: pieces stay on the device, and 20 of them come to the host at once (sync-bound).
useless: a piece comes to pinned memory.
"""
import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=600, warm_up=TOGETHER, multiple=TOGETHER)
torch, transformers = fixable.load_torch("transformers")

PIECE, AROUND, TONES, SPOKEN, CHANNELS = 16, 4, 80, 40, 128  # frames of a piece, and before and behind it; pieces of the speech
HOP, FADE, LOUD = 256, 128, 0.1
LENGTH = PIECE * HOP


def speech():
    """Logarithmic spectrograms of pieces, with neighbours: a voice that rises and falls, with breath between its words."""
    frames = torch.arange(SPOKEN * PIECE + 2 * AROUND, device="cuda").float()[:, None]
    tones = torch.arange(TONES, device="cuda").float()
    pitch = 6.0 + 2.0 * torch.sin(frames / 23.0)
    voice = torch.cos(6.2832 * tones / pitch) - tones / 30.0
    words = torch.sigmoid(4.0 * torch.sin(frames / 9.0))
    spectrogram = -2.0 + 2.0 * words * voice + 0.3 * torch.randn(len(frames), TONES, device="cuda")
    return [spectrogram[at * PIECE:(at + 1) * PIECE + 2 * AROUND].contiguous() for at in range(SPOKEN)]


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    config = transformers.SpeechT5HifiGanConfig(model_in_dim=TONES, upsample_initial_channel=CHANNELS, initializer_range=0.05)
    vocoder = transformers.SpeechT5HifiGan(config).cuda().eval()
    pieces = speech()
    up = torch.linspace(0.0, 1.0, FADE, device="cuda")
    down = 1.0 - up
    tail, level = torch.zeros(FADE, device="cuda"), torch.full((), LOUD, device="cuda")
    landing = torch.empty(LENGTH, dtype=torch.int16, pin_memory=True) if variant == "useless" else None
    turn, pending, heard = [0], [], [None]

    def speak(mel):
        sound = vocoder(mel)[AROUND * HOP:(AROUND + PIECE) * HOP + FADE]  # cause: launch
        level.lerp_(sound.square().mean().sqrt(), 0.05)  # cause: launch
        sound = (sound * (LOUD / level)).clamp(-1.0, 1.0)  # cause: launch
        begin = sound[:FADE] * up + tail * down  # cause: launch
        tail.copy_(sound[LENGTH:])  # cause: launch
        return (torch.cat((begin, sound[FADE:LENGTH])) * 32767.0).to(torch.int16)  # cause: launch

    if variant == "fix":
        place = pieces[0].clone()
        graph, made = fixable.capture(torch, lambda: speak(place))
        tail.zero_()
        level.fill_(LOUD)

    def arrive(sound):
        """The sound on the host, where the loudspeaker would take it from."""
        if variant == "useless":
            landing.copy_(sound, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            heard[0] = landing
        elif variant == "fix2":
            pending.append(sound)
            if len(pending) == TOGETHER:
                heard[0] = torch.stack(pending).cpu()[-1]
                pending.clear()
        else:
            heard[0] = sound.cpu()  # cause: wait,copy

    @torch.no_grad()
    def step():
        mel = pieces[turn[0] % SPOKEN]
        turn[0] += 1
        if variant == "fix":
            place.copy_(mel)
            graph.replay()
            sound = made
        else:
            sound = speak(mel)  # cause: launch
        arrive(sound)  # cause: wait,copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(level)] + (heard[0].float().abs() / 32767.0).tolist())


run.main(make)
