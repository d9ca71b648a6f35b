# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network for hearing aids learns which parts of a sound are speech. What it learns from is mixed by NumPy: a clip of
speech is heard in a room, by the room's echo, and noise is laid over it, so and so loud; from twelve clips at a time, of a second
each, it learns a mask for the spectrum of what is heard. An epoch has sixteen batches, and epochs are all alike.

Wrong: the clips are mixed anew in each epoch, by the thread that launches, and the GPU waits for each batch.
fix: the batches of an epoch are mixed once before the loop (host-bound).
fix2: a step of training is one CUDA graph, and clips are mixed as before (launch-bound).
useless: the loss is not read once in 25 steps, but noted on the device.
"""
import fixable

run = fixable.Program(__doc__, steps=220, warm_up=12)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

RATE, LENGTH, ECHO, CLIPS, BATCHES, SPEECH, NOISES, ROOMS = 16000, 16384, 8192, 12, 16, 64, 32, 16
WINDOW, HOP, BANDS, WIDE, SHOWN = 512, 128, 257, 192, 25


def recordings():
    """Speech as tones and their overtones, in syllables; noises, some of them low ones; the echoes of rooms."""
    luck = numpy.random.default_rng(20)
    time = numpy.arange(LENGTH) / RATE
    speech = numpy.zeros((SPEECH, LENGTH))
    for row in speech:
        pitch = luck.uniform(90.0, 260.0) * (1.0 + 0.05 * numpy.sin(2.0 * numpy.pi * luck.uniform(1.0, 4.0) * time))
        phase = 2.0 * numpy.pi * numpy.cumsum(pitch) / RATE
        for over in range(1, 13):
            row += luck.uniform(0.2, 1.0) / over * numpy.sin(over * phase)
        row *= numpy.clip(numpy.sin(2.0 * numpy.pi * luck.uniform(2.0, 5.0) * time + luck.uniform(0.0, 6.0)), 0.0, None)
    noises = luck.standard_normal((NOISES, LENGTH))
    noises[::2] = numpy.cumsum(noises[::2], axis=1)
    noises -= noises.mean(axis=1, keepdims=True)
    noises /= noises.std(axis=1, keepdims=True)
    fades = numpy.exp(-numpy.arange(ECHO) / luck.uniform(400.0, 2000.0, (ROOMS, 1)))
    echoes = 0.1 * fades * luck.standard_normal((ROOMS, ECHO))
    echoes[:, 0] = 1.0
    return [a.astype(numpy.float32) for a in (speech, noises, echoes)]


def make(variant):
    fixable.seed(torch)
    speech, noises, echoes = recordings()
    layers = [nn.Conv1d(BANDS, WIDE, 3, padding=1), nn.ReLU()]
    for far in (1, 2, 4, 8):
        layers += [nn.Conv1d(WIDE, WIDE, 3, padding=far, dilation=far), nn.BatchNorm1d(WIDE), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Conv1d(WIDE, BANDS, 1), nn.Sigmoid()).cuda().train()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=2e-4, weight_decay=0.01, capturable=True)
    window = torch.hann_window(WINDOW, device="cuda")
    heard, clean = torch.zeros(CLIPS, LENGTH, device="cuda"), torch.zeros(CLIPS, LENGTH, device="cuda")
    usual, turn, curve = torch.full((), 0.1, device="cuda"), [0], []

    def in_room(sound, echo):
        return numpy.fft.irfft(numpy.fft.rfft(sound, 2 * LENGTH) * numpy.fft.rfft(echo, 2 * LENGTH))[:LENGTH]  # cause: loader

    def mixed(number):
        """The clips of a batch as they are heard, and as they were spoken."""
        luck = numpy.random.default_rng(number)
        spoken = speech[luck.integers(SPEECH, size=CLIPS)]
        loud = numpy.empty((CLIPS, LENGTH), dtype=numpy.float32)
        for row in range(CLIPS):
            sound = in_room(spoken[row], echoes[luck.integers(ROOMS)])  # cause: loader
            noise = noises[luck.integers(NOISES)]
            much = numpy.sqrt(numpy.square(sound).mean()) * 10.0 ** (-luck.uniform(-5.0, 15.0) / 20.0)  # cause: loader
            loud[row] = sound + much * noise  # cause: loader
        return torch.from_numpy(loud), torch.from_numpy(spoken)

    ready = [mixed(number) for number in range(BATCHES)] if variant == "fix" else None

    def strength(sound):
        """How strong each band is, over time."""
        return torch.stft(sound, WINDOW, HOP, window=window, center=False, return_complex=True).abs()

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the clips in `heard` and `clean`, and notes the loss."""
        loud = strength(heard)
        mask = model(torch.log1p(loud))
        loss = nn.functional.smooth_l1_loss(torch.log1p(mask * loud), torch.log1p(strength(clean)))
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    for place, part in zip((heard, clean), mixed(0)):
        place.copy_(part)
    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        number = turn[0] % BATCHES
        batch = ready[number] if variant == "fix" else mixed(number)  # cause: loader
        for place, part in zip((heard, clean), batch):
            place.copy_(part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.clone() if variant == "useless" else usual.item())

    def values():
        """The loss, and how large the weights of the mask have become."""
        return [usual.item(), float(model[-2].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
