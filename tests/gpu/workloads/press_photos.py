# SPDX-License-Identifier: Apache-2.0
"""transformers: the photographs in a newspaper's archive get words by which they can be found: a CLIP tells for each of 48
photographs at once which of 384 subjects it is most like; a subject is the mean of eight phrases about it ("a photo of a
bridge", "a bridge, seen from far away", ...).

Wrong: the phrases are always the same, but the model reads all of them again for each batch of photographs; the GPU is at work
throughout (gpu-bound).
fix: the phrases are read once (gpu-bound).
useless: the words that were found are read behind 20 batches.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, transformers = fixable.load_torch("transformers")
F = torch.nn.functional

PHOTOS, SIZE, SETS, SUBJECTS, PHRASES, LENGTH, WORDS, WIDTH, BEST = 48, 224, 4, 384, 8, 12, 49408, 512, 3
BEGIN, END = WORDS - 2, WORDS - 1


def model():
    """The two halves of a CLIP, for texts and for pictures."""
    text = transformers.CLIPTextConfig(vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=12,
                                       num_attention_heads=8, projection_dim=WIDTH, bos_token_id=BEGIN, eos_token_id=END)
    vision = transformers.CLIPVisionConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
                                           num_attention_heads=12, patch_size=16, image_size=SIZE, projection_dim=WIDTH)
    halves = transformers.CLIPTextModelWithProjection(text), transformers.CLIPVisionModelWithProjection(vision)
    return [half.to("cuda", torch.bfloat16).eval() for half in halves]


def phrases():
    """All phrases about all subjects as numbers of words: (SUBJECTS * PHRASES, LENGTH)."""
    subjects = torch.randint(1000, BEGIN, (SUBJECTS, 1, 2))
    around = torch.randint(0, 1000, (1, PHRASES, 7))
    texts = torch.full((SUBJECTS, PHRASES, LENGTH), END)
    texts[..., 0] = BEGIN
    texts[..., 1:5], texts[..., 5:7] = around[..., :4], subjects
    for number in range(PHRASES):  # some phrases are longer than others
        more = number % 4
        texts[:, number, 7:7 + more] = around[:, number, 4:4 + more]
    return texts.view(-1, LENGTH).cuda()


def archive():
    """Photographs, as they are decoded by a thread: bytes in pinned memory."""
    at = torch.linspace(0.0, 1.0, SIZE)
    for _ in range(SETS):
        wave = torch.rand(PHOTOS, 3, 2, 1, 1) * 40.0
        drawn = (wave[:, :, 0] * at.view(SIZE, 1)).sin() * (wave[:, :, 1] * at).cos()
        yield (128.0 + 80.0 * drawn + 10.0 * torch.randn(PHOTOS, 3, SIZE, SIZE)).clamp(0.0, 255.0).to(torch.uint8).pin_memory()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    text, vision = model()
    photos, texts = list(archive()), phrases()
    mean = torch.tensor([0.481, 0.458, 0.408], device="cuda").view(3, 1, 1)
    deviation = torch.tensor([0.269, 0.261, 0.276], device="cuda").view(3, 1, 1)
    turn, pending, usual = [0], [], [0.0, 0.0]

    def read_phrases():
        """What each subject is like: (SUBJECTS, WIDTH)."""
        each = F.normalize(text(input_ids=texts).text_embeds.float(), dim=1)
        return F.normalize(each.view(SUBJECTS, PHRASES, WIDTH).mean(dim=1), dim=1)

    kept = read_phrases() if variant == "fix" else None

    def find(picture):
        """The best subjects for each photograph, and how like it they are."""
        subjects = read_phrases() if kept is None else kept
        picture = (picture.to("cuda", non_blocking=True).float() / 255.0 - mean) / deviation
        seen = F.normalize(vision(pixel_values=picture.to(torch.bfloat16)).image_embeds.float(), dim=1)
        return torch.cat((seen @ subjects.t()).topk(BEST, dim=1), dim=1)

    def note(found):
        """The archive would take them."""
        chances = [row[0] for row in found]
        usual[0] += 0.05 * (sum(chances) / PHOTOS - usual[0])
        usual[1] += 0.05 * (max(chances) - usual[1])

    @torch.no_grad()
    def step():
        found = find(photos[turn[0] % SETS])
        turn[0] += 1
        if variant != "useless":
            note(found.tolist())
            return
        pending.append(found)
        if turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(pending).tolist():
                note(one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
