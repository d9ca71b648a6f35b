# SPDX-License-Identifier: Apache-2.0
"""torchaudio: six people talk at once around a table with six microphones; who says what is found out, wherever they
sit (independent vector analysis, AuxIVA): for each pitch a matrix parts the voices, and gets better in 30 iterations.

Wrong: torch.linalg.solve waits for the GPU, to tell whether a matrix was singular, for each voice of each iteration; and what
has changed is read behind each iteration, for a log.
fix: torch.linalg.solve_ex does not look, and the changes are read once for each recording (sync-bound).
fix2: what all voices' matrices need of the recording is computed at once, not voice by voice (launch-bound).
useless: the parted voices are computed in a tensor that is made once.
"""
import math

import fixable

TIMES = 30

run = fixable.Program(__doc__, steps=1200, warm_up=TIMES, multiple=TIMES)
torch, torchaudio = fixable.load_torch("torchaudio")

VOICES, RATE, LENGTH, RECORDINGS, WINDOW, HOP = 6, 16000, 8 * 16000, 4, 1024, 256
BANDS, LOADING = WINDOW // 2 + 1, 1e-4


def recordings():
    """Voices that hum at their own pitch and pause at their own pace, as each microphone hears them: later and weaker."""
    time = torch.arange(LENGTH, device="cuda") / RATE
    for number in range(RECORDINGS):
        heard = 0.01 * torch.randn(VOICES, LENGTH, device="cuda")
        for voice in range(VOICES):
            pitch = 90.0 + 27.0 * voice + 5.0 * number
            speaks = (torch.sin(2.0 * math.pi * (0.3 + 0.11 * voice) * time + voice) > 0.0).float()
            sound = sum(torch.sin(2.0 * math.pi * pitch * k * time) / k for k in range(1, 20))
            sound = speaks * (sound + 0.3 * torch.randn(LENGTH, device="cuda"))
            for microphone in range(VOICES):
                far = 1 + abs(voice - microphone)
                heard[microphone] += torch.roll(sound, 7 * far) / far
        yield heard


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    spectra = torchaudio.transforms.Spectrogram(n_fft=WINDOW, hop_length=HOP, power=None).cuda()
    heard = [spectra(sound).transpose(0, 1).contiguous() for sound in recordings()]  # (BANDS, microphones, windows)
    heard = [sound / sound.abs().mean() for sound in heard]
    windows = heard[0].shape[2]
    eye = torch.eye(VOICES, dtype=torch.complex64, device="cuda")
    room = torch.empty(BANDS, VOICES, windows, dtype=torch.complex64, device="cuda") if variant == "useless" else None
    parting, turn, pending, changes, usual = [None], [0], [], [], [0.0]

    def covariance(sound, weight):
        """Of the recording, where windows in which a voice is loud count less: (BANDS, microphones, microphones)."""
        return (sound * weight) @ sound.mH / windows + LOADING * eye

    def rows_of(matrix, voice):
        """The row that parts a voice, before it has its length."""
        wanted = eye[:, voice:voice + 1].expand(BANDS, VOICES, 1)
        if variant == "fix":
            return torch.linalg.solve_ex(matrix, wanted)[0]
        return torch.linalg.solve(matrix, wanted)  # cause: wait

    def iterate(sound):
        """All voices' rows become better; how much they have changed."""
        before, matrices = parting[0], parting[0].clone()
        voices = torch.matmul(matrices, sound, out=room)
        loud = voices.abs().square().sum(dim=0).sqrt()  # (VOICES, windows)
        weights = 1.0 / loud.clamp(min=1e-3)
        if variant == "fix2":
            weighted = (weights[None, :, None, :] * sound[:, None]).view(BANDS, VOICES * VOICES, windows)
            all_of_them = (weighted @ sound.mH / windows).view(BANDS, VOICES, VOICES, VOICES) + LOADING * eye
        for voice in range(VOICES):
            loads = all_of_them[:, voice] if variant == "fix2" else covariance(sound, weights[voice])
            row = rows_of(matrices @ loads, voice)  # cause: wait
            length = (row.mH @ loads @ row).real.clamp(min=1e-12).sqrt()
            matrices[:, voice] = (row / length).mH[:, 0]
        parting[0] = matrices
        return (matrices - before).abs().mean()

    def note(change):
        changes.append(change)
        del changes[:-TIMES]

    @torch.no_grad()
    def step():
        number = turn[0] % TIMES
        sound = heard[turn[0] // TIMES % RECORDINGS]
        if number == 0:
            parting[0] = eye.repeat(BANDS, 1, 1)
        turn[0] += 1
        change = iterate(sound)  # cause: wait
        if variant == "fix":
            pending.append(change)
            if number == TIMES - 1:
                for one in torch.stack(pending).tolist():
                    note(one)
                pending.clear()
        else:
            note(change.item())  # cause: wait
        if number == TIMES - 1:
            usual[0] += 0.2 * (sum(changes) / TIMES - usual[0])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
