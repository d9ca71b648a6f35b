# SPDX-License-Identifier: Apache-2.0
"""PyTorch: recordings of a choir are taken apart into its voices. What a voice sounds like at each note is known, 64 spectra in
all, and how loud each of them is in each of 6144 moments is found by rounds: the spectra as they were heard are divided by
what the notes would make of them, and notes that are too soft become louder. A step is a recording, with 16 rounds.

Wrong: how far the sound is from the recording, and how loud the loudest note is, are read by .item() in each round, and the GPU
has nothing to do until the host launches more.
fix: these numbers stay on the device; nothing is read in the loop (sync-bound).
fix2: the two halves of a round are two CUDA graphs; the numbers are read as before (launch-bound).
useless: the array of what was heard by what was made is made once.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=8)
torch = fixable.load_torch()

VOICES, PITCHES, BINS, MOMENTS, RECORDINGS, ROUNDS, OVERTONES, LEAST = 4, 16, 1025, 6144, 8, 16, 12, 1e-4
NOTES = VOICES * PITCHES


def spectra():
    """What each note sounds like, (BINS, NOTES): a peak at each overtone, by the vowel of the voice."""
    bins = torch.arange(BINS, dtype=torch.float32, device="cuda")[:, None]
    voice = torch.arange(VOICES, dtype=torch.float32, device="cuda").repeat_interleave(PITCHES)
    pitch = torch.arange(PITCHES, dtype=torch.float32, device="cuda").repeat(VOICES)
    lowest = 9.0 * torch.exp2((5.0 * voice + pitch) / 12.0)
    sound = torch.full((BINS, NOTES), 1e-3, device="cuda")
    for overtone in range(1, OVERTONES + 1):
        place = overtone * lowest
        strong = torch.exp(-(place - 60.0 * (voice + 1.0)).square() / 40000.0) / overtone
        sound += strong * torch.exp(-0.5 * ((bins - place) / 1.5).square())
    return sound / sound.sum(dim=0)


def recorded(sound):
    """Spectra of each recording, (BINS, MOMENTS): a few notes at a time, held for 64 moments, and some noise."""
    for _ in range(RECORDINGS):
        sung = (torch.rand(NOTES, MOMENTS // 64, device="cuda") < 0.08) * torch.rand(NOTES, MOMENTS // 64, device="cuda")
        noise = 1e-3 * torch.rand(BINS, MOMENTS, device="cuda")
        yield 100.0 * (sound @ sung.repeat_interleave(64, dim=1)) + noise


def make(variant):
    fixable.seed(torch)
    sound = spectra()
    recordings = list(recorded(sound))
    heard = torch.zeros(BINS, MOMENTS, device="cuda")
    loud = torch.ones(NOTES, MOMENTS, device="cuda")
    kept = torch.zeros(BINS, MOMENTS, device="cuda") if variant == "useless" else None
    curve, told, turn = collections.deque(maxlen=2 * ROUNDS), [(0.0, 0.0)] * RECORDINGS, [0]

    def compare():
        """How far the notes are from what was heard, and what was heard by what they make."""
        made = torch.mm(sound, loud).add_(LEAST)
        ratio = heard / made if kept is None else torch.div(heard, made, out=kept)
        far = (heard * ratio.log() - heard + made).mean()
        return far, ratio

    def louder(ratio):
        """Makes notes louder or softer, and tells the loudest."""
        loud.mul_(torch.mm(sound.t(), ratio))
        return loud.amax()

    if variant == "fix2":
        first, (far_there, ratio_there) = fixable.capture(torch, compare)
        second, loudest_there = fixable.capture(torch, lambda: louder(ratio_there))

    def one_round():
        if variant == "fix2":
            first.replay()
            curve.append(far_there.item())
            second.replay()
            curve.append(loudest_there.item())
            return
        far, ratio = compare()
        curve.append(far if variant == "fix" else far.item())  # cause: wait,copy
        loudest = louder(ratio)
        curve.append(loudest if variant == "fix" else loudest.item())  # cause: wait,copy

    def step():
        number = turn[0] % RECORDINGS
        heard.copy_(recordings[number])
        loud.fill_(1.0)
        for _ in range(ROUNDS):
            one_round()  # cause: wait,copy
        told[number] = (curve[-2], curve[-1])
        turn[0] += 1

    def values():
        """How far each recording was from its notes at last, and its loudest one."""
        return [float(number) for pair in told for number in pair]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
