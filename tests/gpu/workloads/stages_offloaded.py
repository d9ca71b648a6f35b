# SPDX-License-Identifier: Apache-2.0
"""transformers: pictures from texts in three stages; each model is brought to the GPU when it is its turn, and back to the host
behind it, "to save memory", as pipelines with CPU offload do.

Wrong: all weights go there and back in pageable memory for each text, while the GPU has nothing to do.
fix: the models stay on the device, where there is room for all of them (copy-bound).
fix2: the weights lie in pinned memory, and are copied with non_blocking=True (copy-bound).
useless: inference_mode instead of no_grad.
"""
import contextlib

import fixable

run = fixable.Program(__doc__, steps=160, warm_up=4)
torch, transformers = fixable.load_torch("transformers")
nn = torch.nn

TEXTS, LENGTH, VOCABULARY, HIDDEN, SIZE, WIDTH, DENOISING = 2, 32, 4096, 384, 32, 192, 4


def text_encoder():
    config = transformers.CLIPTextConfig(vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=4 * HIDDEN,
                                         num_hidden_layers=6, num_attention_heads=6, max_position_embeddings=LENGTH,
                                         projection_dim=HIDDEN, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    return transformers.CLIPTextModel(config)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.words = nn.Conv2d(4, WIDTH, 3, padding=1), nn.Linear(HIDDEN, WIDTH)
        self.blocks = nn.ModuleList(nn.Sequential(nn.GroupNorm(8, WIDTH), nn.SiLU(), nn.Conv2d(WIDTH, WIDTH, 3, padding=1))
                                    for _ in range(8))
        self.last = nn.Conv2d(WIDTH, 4, 3, padding=1)

    def forward(self, x, words):
        x = self.first(x) + self.words(words.mean(dim=1)).view(-1, WIDTH, 1, 1)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


def decoder():
    parts, before = [], 4
    for width in (128, 128, 64):
        parts += [nn.Conv2d(before, width, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=2)]
        before = width
    return nn.Sequential(*parts, nn.Conv2d(before, 3, 3, padding=1))


class Pinned:
    """A model's weights in pinned memory, from where they are copied to the GPU, and back there."""

    def __init__(self, model):
        self.pairs = [(tensor, tensor.detach().pin_memory()) for tensor in [*model.parameters(), *model.buffers()]]

    def there(self):
        for tensor, host in self.pairs:
            tensor.data = host.to("cuda", non_blocking=True)

    def back(self):
        for tensor, host in self.pairs:
            host.copy_(tensor.detach(), non_blocking=True)
            tensor.data = host


def make(variant):
    fixable.seed(torch)
    models = [model.half().eval() for model in (text_encoder(), Denoiser(), decoder())]
    texts = torch.randint(3, VOCABULARY, (4, TEXTS, LENGTH), device="cuda")
    noise = torch.randn(4, TEXTS, 4, SIZE, SIZE, device="cuda", dtype=torch.float16)
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    turn, seen = [0], []
    if variant == "fix":
        for model in models:
            model.to("cuda")
    pinned = {id(model): Pinned(model) for model in models} if variant == "fix2" else {}

    @contextlib.contextmanager
    def on_gpu(model):
        if variant == "fix":
            yield model
        elif variant == "fix2":
            pinned[id(model)].there()
            yield model
            pinned[id(model)].back()
        else:
            model.to("cuda")  # cause: copy
            yield model
            model.to("cpu")  # cause: copy

    def step():
        at = turn[0] % 4
        turn[0] += 1
        with context():
            with on_gpu(models[0]) as encode:
                words = encode(input_ids=texts[at]).last_hidden_state
            with on_gpu(models[1]) as denoise:
                x = noise[at]
                for _ in range(DENOISING):
                    x = x - 0.1 * denoise(x, words)
            with on_gpu(models[2]) as decode:
                seen[:] = [decode(x)]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, seen[0]))


run.main(make)
