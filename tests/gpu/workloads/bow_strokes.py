# SPDX-License-Identifier: Apache-2.0
"""PyTorch with transformers: how a violin's bow is led (legato, staccato, spiccato, ...) is told from short pictures of its
sound, 64 mel bands by 96 frames. A small Audio Spectrogram Transformer learns that, by 12 pictures at a time, as the students
who record them want to see after each lesson what it makes of them.

Wrong: the model and its pictures are small, so a step is hundreds of kernels of two or three microseconds, which Python launches
one by one, slower than they run.
fix: a whole step (forward, backward, clipping, AdamW) is one CUDA graph (launch-bound).
useless: the loss of the curve, which is read every 50 steps, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, transformers = fixable.load_torch("transformers")

BANDS, FRAMES, TOGETHER, BATCHES, LAYERS, WIDE, SHOWN = 64, 96, 12, 40, 6, 192, 50
STROKES = ("detache", "legato", "martele", "staccato", "spiccato", "tremolo", "pizzicato", "col legno")


def sounds():
    """Mel pictures (BATCHES, TOGETHER, FRAMES, BANDS) and the number of the stroke of each."""
    strokes = torch.randint(len(STROKES), (BATCHES, TOGETHER), device="cuda")
    number = strokes[:, :, None, None].float()
    time = torch.arange(FRAMES, device="cuda").float()[:, None]
    band = torch.arange(BANDS, device="cuda").float()
    pitch = 6.0 + 10.0 * torch.rand(BATCHES, TOGETHER, 1, 1, device="cuda")
    begin = 6.28 * torch.rand(BATCHES, TOGETHER, 1, 1, device="cuda")
    tones = torch.cos(6.2832 * band / pitch).clamp_min(0.0) * torch.exp(-band / (14.0 + 3.0 * number))
    strength = 0.6 + 0.4 * torch.sin(begin + time * (0.08 + 0.07 * number))
    fading = torch.exp(-0.01 * number * (time % (12.0 + 4.0 * number)))
    pictures = 4.0 * tones * strength * fading - 1.0
    return pictures + 0.7 * torch.randn(pictures.shape, device="cuda"), strokes


def network():
    config = transformers.ASTConfig(
        hidden_size=WIDE, num_hidden_layers=LAYERS, num_attention_heads=3, intermediate_size=4 * WIDE, patch_size=16,
        frequency_stride=16, time_stride=16, max_length=FRAMES, num_mel_bins=BANDS, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, num_labels=len(STROKES))
    return transformers.ASTForAudioClassification(config).cuda().train()


def make(variant):
    fixable.seed(torch)
    pictures, strokes = sounds()
    model = network()
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=2e-4, weight_decay=0.02, capturable=True)
    picture, stroke = pictures[0].clone(), strokes[0].clone()
    usual = torch.full((), 2.0, device="cuda")
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    turn, curve = [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the pictures in `picture`, and notes the loss."""
        found = model(input_values=picture).logits  # cause: launch
        loss = torch.nn.functional.cross_entropy(found, stroke, label_smoothing=0.1)  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(weights, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def shown():
        """The loss, for the curve that the students see."""
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.item()
        return usual.item()

    def step():
        number = turn[0] % BATCHES
        picture.copy_(pictures[number])
        stroke.copy_(strokes[number])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(shown())

    def values():
        """The loss, and how large the weights of the last layer have become."""
        with torch.no_grad():
            last = model.classifier.dense.weight
            return [float(usual), float(last.abs().mean()), float(last.square().sum().sqrt())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
