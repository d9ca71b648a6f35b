# SPDX-License-Identifier: Apache-2.0
"""timm: a radio station wants to know which instruments play in each piece of its archive, and a small vision transformer learns
to tell that from spectrograms. Examples are mixed on the GPU, where recordings of single instruments lie: three of forty play
together, loud or soft, with some noise; 192 mixtures of 2.56 seconds a step, in bfloat16.

Wrong: nothing (gpu-bound), but where the host is slow its launches take nearly as long as the GPU.
fix: the whole step is one CUDA graph (launch-bound).
useless: the mean loss is never looked at, instead of every 20 steps.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, timm = fixable.load_torch("timm")
functional = torch.nn.functional

INSTRUMENTS, PHRASES, NOTES, TOGETHER, CLIPS, TONES = 40, 8, 4, 3, 192, 12
RATE, WINDOW, HOP, FRAMES, MELS = 16000.0, 1024, 160, 256, 128
SAMPLES = HOP * FRAMES


def recordings():
    """What each instrument plays by itself, (INSTRUMENTS, PHRASES, SAMPLES): notes with overtones that die away."""
    time = torch.arange(SAMPLES // NOTES, device="cuda") / RATE
    keys = torch.randint(36, 80, (INSTRUMENTS, PHRASES, NOTES, 1), device="cuda").float()
    pitches = 440.0 * 2.0 ** ((keys - 69.0) / 12.0)
    fades = 1.0 + 12.0 * torch.rand(INSTRUMENTS, 1, 1, 1, device="cuda")
    sound = torch.zeros(INSTRUMENTS, PHRASES, NOTES, SAMPLES // NOTES, device="cuda")
    for tone in range(1, TONES + 1):
        loud = torch.rand(INSTRUMENTS, 1, 1, 1, device="cuda").square() / tone ** 0.5
        sound += loud * (6.2832 * tone * pitches * time).sin() * (-fades * tone ** 0.5 * time).exp()
    sound = sound.view(INSTRUMENTS, PHRASES, SAMPLES)
    return 0.1 * sound / sound.std(dim=2, keepdim=True)


def mel_bank():
    """By how much each frequency counts for each of the bands, which are even in mel: (MELS, WINDOW // 2 + 1)."""
    highest = 2595.0 * torch.log10(torch.tensor(1.0 + 0.5 * RATE / 700.0)).item()
    mels = torch.linspace(0.0, highest, MELS + 2, device="cuda")
    edges = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    often = torch.linspace(0.0, 0.5 * RATE, WINDOW // 2 + 1, device="cuda")
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    return torch.minimum((often - low) / (middle - low), (high - often) / (high - middle)).clamp(min=0.0)


def make(variant):
    fixable.seed(torch)
    stems, bank, window = recordings(), mel_bank(), torch.hann_window(WINDOW, device="cuda")
    model = timm.create_model("vit_small_patch16_224", pretrained=False, in_chans=1, img_size=(MELS, FRAMES),
                              num_classes=INSTRUMENTS).cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.05, fused=True,
                             capturable=variant == "fix")
    usual, turn, seen = torch.full((), 0.3, device="cuda"), [0], []

    @torch.no_grad()
    def mixed():
        """Sounds, (CLIPS, SAMPLES), and which instruments are in them, (CLIPS, INSTRUMENTS)."""
        which = torch.randint(INSTRUMENTS, (CLIPS, TOGETHER), device="cuda")
        phrase = torch.randint(PHRASES, (CLIPS, TOGETHER), device="cuda")
        loud = 0.3 + 0.7 * torch.rand(CLIPS, TOGETHER, 1, device="cuda")
        sound = (stems[which, phrase] * loud).sum(dim=1)
        sound += 0.01 * torch.randn(CLIPS, SAMPLES, device="cuda")
        return sound, torch.zeros(CLIPS, INSTRUMENTS, device="cuda").scatter_(1, which, 1.0)

    @torch.no_grad()
    def spectrogram(sound):
        """Logarithms of the bands' strength, as a picture."""
        waves = torch.stft(sound, WINDOW, hop_length=HOP, window=window, return_complex=True)[:, :, :FRAMES]
        strong = torch.matmul(bank, waves.abs().square())
        return ((strong + 1e-4).log() * 0.25).unsqueeze(1)

    def learn():
        sound, there = mixed()
        picture = spectrogram(sound)
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=variant != "fix"):
            chances = model(picture)
        loss = functional.binary_cross_entropy_with_logits(chances.float(), there)
        loss.backward()
        adam.step()
        usual.lerp_(loss.detach(), 0.02)

    graph = fixable.capture(torch, learn, adam.zero_grad)[0] if variant == "fix" else None

    def step():
        if graph:
            graph.replay()
        else:
            adam.zero_grad()
            learn()
        turn[0] += 1
        if variant != "useless" and turn[0] % LOOK_EVERY == 0:
            seen[:] = [usual.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
