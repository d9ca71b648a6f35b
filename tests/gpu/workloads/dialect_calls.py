# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: which of eight dialects a caller speaks is learned from ten seconds of speech as 1024 moments of 128
tones (mel), by a small Audio Spectrogram Transformer: 32 calls a batch, bfloat16 by autocast, AdamW, clipped gradients. The calls
were made to tones once, and are on the GPU.

Wrong: nothing; the GPU is at work all the time, and the host is ahead of it (gpu-bound).
useless: losses that are noted, one of 20, stay on the device to the end.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, transformers = fixable.load_torch("transformers")
F = torch.nn.functional

CALLS, SETS, MOMENTS, TONES, DIALECTS, NOTED = 32, 6, 1024, 128, 8, 20


def calls():
    """Tones of calls, and which dialect each is: dialects differ a bit in where vowels have their strength."""
    middles = torch.linspace(20.0, 100.0, DIALECTS, device="cuda")
    tones = torch.arange(TONES, device="cuda")
    for _ in range(SETS):
        dialects = torch.randint(DIALECTS, (CALLS,), device="cuda")
        vowels = torch.exp(-((tones - middles[dialects][:, None]) / 12.0) ** 2)
        voiced = torch.rand(CALLS, MOMENTS, 1, device="cuda")
        yield 0.5 * voiced * vowels[:, None, :] + torch.randn(CALLS, MOMENTS, TONES, device="cuda"), dialects


def make(variant):
    fixable.seed(torch)
    spoken = list(calls())
    config = transformers.ASTConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536, patch_size=16,
        frequency_stride=10, time_stride=10, max_length=MOMENTS, num_mel_bins=TONES, num_labels=DIALECTS)
    network = transformers.ASTForAudioClassification(config).cuda().train()
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=5e-5, weight_decay=0.01)
    usual = torch.zeros((), device="cuda")
    notes, turn = collections.deque(maxlen=4), [0]

    def step():
        tones, dialects = spoken[turn[0] % SETS]
        turn[0] += 1
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            chances = network(input_values=tones).logits
        loss = F.cross_entropy(chances.float(), dialects, label_smoothing=0.2)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        kept = loss.detach()
        usual.lerp_(kept, 0.05)
        if turn[0] % NOTED == 0:
            notes.append(kept if variant == "useless" else kept.item())

    def values():
        return [float(note) for note in notes] + [float(usual)]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
