# SPDX-License-Identifier: Apache-2.0
"""transformers: a linguist has recordings of a language with six tones, of which a program for phonetics has listed the pitch as
text: for each syllable some 80 lines of time, hertz, and how sure that is. A syllable becomes a picture of 32 by 32 points
(time and semitones), and a small vision transformer tells which tone it has; how often each tone comes is noted.

Wrong: Python reads the lines of 96 syllables, one by one, in each step, and the GPU waits for their pictures.
fix: the listings are read once, before the loop; the same pictures are copied, and the same kernels launched (host-bound).
fix2: what is launched for a batch is one CUDA graph; the listings are read as they were (launch-bound).
useless: the pictures go to the GPU by way of pinned memory.
"""
import math

import fixable

LOOK_EVERY = 25

run = fixable.Program(__doc__, steps=300, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

SYLLABLES, LINES, BATCHES, SIDE, TONES = 96, 80, 5, 32, 6
LOWEST, SEMITONE, SURE = 80.0, 0.75, 0.3  # hertz, semitones of a point, below which a line is left out


def listings():
    """Batches of texts, one for each syllable, with a slope and a bend by its tone."""
    random = numpy.random.default_rng(20)
    for _ in range(BATCHES):
        texts = []
        for tone in random.integers(0, TONES, SYLLABLES).tolist():
            time = numpy.linspace(0.0, 1.0, LINES, endpoint=False)
            tones = 12.0 + 4.0 * (tone % 3 - 1) * (time - 0.5) + 6.0 * (tone // 3) * (time - 0.5) ** 2
            hertz = LOWEST * 2.0 ** ((tones + random.normal(0.0, 0.3, LINES)) / 12.0)
            sure, lasts = random.uniform(0.1, 1.0, LINES), random.uniform(0.15, 0.35)
            lines = ["%.4f\t%.2f\t%.3f" % line for line in zip((time * lasts).tolist(), hertz.tolist(), sure.tolist())]
            texts.append("%.4f\n%s" % (lasts, "\n".join(lines)))
        yield texts


def read(texts):
    """Pictures (SYLLABLES, 1, SIDE, SIDE) of listings."""
    pictures = numpy.zeros((len(texts), 1, SIDE, SIDE), dtype=numpy.float32)
    for number, text in enumerate(texts):  # cause: loader
        first, *lines = text.split("\n")  # cause: loader
        points, lasts = [0.0] * (SIDE * SIDE), float(first)  # cause: loader
        for line in lines:  # cause: loader
            time, hertz, sure = line.split("\t")  # cause: loader
            sure = float(sure)  # cause: loader
            if sure >= SURE:  # cause: loader
                height = 12.0 * math.log2(float(hertz) / LOWEST)  # cause: loader
                row = min(max(int(height / SEMITONE), 0), SIDE - 1)  # cause: loader
                points[row * SIDE + min(int(float(time) / lasts * SIDE), SIDE - 1)] += sure  # cause: loader
        pictures[number, 0] = numpy.array(points, dtype=numpy.float32).reshape(SIDE, SIDE)  # cause: loader
    return pictures


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    config = transformers.ViTConfig(hidden_size=192, num_hidden_layers=4, num_attention_heads=3, intermediate_size=768,
                                    image_size=SIDE, patch_size=8, num_channels=1, hidden_dropout_prob=0.0,
                                    attention_probs_dropout_prob=0.0)
    model = transformers.ViTModel(config, add_pooling_layer=False).cuda().eval()
    head = torch.nn.Linear(192, TONES).cuda()
    batches = list(listings())
    ready = [read(texts) for texts in batches] if variant == "fix" else None
    picture = torch.zeros(SYLLABLES, 1, SIDE, SIDE, device="cuda")
    usual = torch.full((TONES,), 1.0 / TONES, device="cuda")
    landing = torch.zeros(SYLLABLES, 1, SIDE, SIDE, pin_memory=True) if variant == "useless" else None
    copied = torch.cuda.Event()
    turn, told = [0], []

    def tell():
        """Which tones the syllables in `picture` have, as chances; their means are noted."""
        found = model(pixel_values=picture).last_hidden_state
        chances = torch.softmax(2.0 * head(found[:, 0]), dim=1)
        usual.lerp_(chances.mean(dim=0), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, tell)
    else:
        for _ in range(3):  # as often as before a graph is made
            tell()

    def put(pictures):
        if variant == "useless":
            copied.synchronize()  # what was there before has been copied
            landing.copy_(torch.from_numpy(pictures))
            picture.copy_(landing, non_blocking=True)
            copied.record()
        else:
            picture.copy_(torch.from_numpy(pictures))  # cause: delayed

    @torch.no_grad()
    def step():
        number = turn[0] % BATCHES
        turn[0] += 1
        pictures = ready[number] if variant == "fix" else read(batches[number])  # cause: loader
        put(pictures)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            tell()  # cause: delayed
        if turn[0] % LOOK_EVERY == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
