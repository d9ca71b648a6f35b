# SPDX-License-Identifier: Apache-2.0
"""transformers: a railway watches 96 level crossings by cameras; a CLIP looks at the newest picture of each one, and it is told
whether something is on the rails, of what kind it is, and whether it stands still. The driver of the next train is warned where
something has stood there for three pictures.

Wrong: the kind, the change and the stillness of each crossing are read by .item(), one after the other, behind each round of
pictures; the GPU rests until the last of these 288 numbers has come, and only then the host launches the next round.
fix: the warnings are worked out on the device, and the host asks for them every 20 rounds, in one read (sync-bound).
fix2: all numbers of a round are read at once, and the host works the warnings out as before (sync-bound).
useless: each number comes to pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=360, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, transformers = fixable.load_torch("transformers")
F = torch.nn.functional

CROSSINGS, SIZE, ROUNDS, WIDTH, LAYERS, HOLD, KEEP = 96, 224, 8, 512, 4, 3, 0.02
KINDS = ("nothing", "car", "lorry", "bicycle", "person", "animal")


def network():
    config = transformers.CLIPVisionConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=LAYERS,
                                           num_attention_heads=12, patch_size=16, image_size=SIZE, projection_dim=WIDTH,
                                           hidden_act="gelu")
    return transformers.CLIPVisionModelWithProjection(config).to("cuda", torch.bfloat16).eval()


def pictures():
    """Rounds of pictures, as the decoder leaves them in the GPU's memory: rails, trees, and things that come and go."""
    y, x = torch.meshgrid(*[torch.linspace(-1.0, 1.0, SIZE, device="cuda")] * 2, indexing="ij")
    shades = torch.rand(CROSSINGS, 3, 4, 1, 1, device="cuda")
    ground = 60.0 + 90.0 * shades[:, :, 0] + 30.0 * (40.0 * shades[:, :, 1] * x + 30.0 * shades[:, :, 2] * y).sin()
    ground = ground + 60.0 * ((x.abs() - 0.25).abs() < 0.03)
    comes, stays, speed, size = torch.rand(4, CROSSINGS, 1, 1, device="cuda")
    for number in range(ROUNDS):
        since = number - (ROUNDS * comes).floor()
        there = (since >= 0) & (since < 1.0 + 7.0 * stays)
        at = (speed - 0.5).clamp(min=0.0) * since - 0.3
        thing = ((x - at).abs() < 0.1 + 0.2 * size) & ((y - 0.4 * comes).abs() < 0.1 + 0.3 * size) & there
        seen = torch.where(thing[:, None], 250.0 * shades[:, :, 3], ground)
        yield (seen + 4.0 * torch.randn(CROSSINGS, 3, SIZE, SIZE, device="cuda")).clamp(0.0, 255.0).to(torch.uint8)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model, rounds = network(), list(pictures())
    kinds_of = torch.randn(WIDTH, len(KINDS), device="cuda")
    mean = torch.tensor([0.481, 0.458, 0.408], device="cuda").view(3, 1, 1)
    deviation = torch.tensor([0.269, 0.261, 0.276], device="cuda").view(3, 1, 1)
    turn, pending, standing, average = [0], [], [0] * CROSSINGS, [0.0, 0.0, 0.0]
    streak = torch.zeros(CROSSINGS, dtype=torch.long, device="cuda")
    places = {kind: torch.zeros((), dtype=kind, pin_memory=True) for kind in (torch.long, torch.float32)}

    def features(picture):
        picture = (picture.float() / 255.0 - mean) / deviation
        return F.normalize(model(pixel_values=picture.to(torch.bfloat16)).image_embeds.float(), dim=1)

    known = torch.stack([features(picture) for picture in rounds])
    usual, before = known.mean(dim=0), known[-1].clone()  # what a crossing looks like mostly, and did last
    changed = (known - usual).norm(dim=2).median().item()
    still = (known * known.roll(1, dims=0)).sum(dim=2).median().item()

    def look(picture):
        """Of each crossing: the kind of what is there, how much has changed, and how alike the last picture was."""
        seen = features(picture)
        change = seen - usual
        alike = (seen * before).sum(dim=1)
        before.copy_(seen)
        usual.lerp_(seen, KEEP)
        return (change @ kinds_of).argmax(dim=1), change.norm(dim=1), alike

    def read(number):
        if variant == "useless":
            place = places[number.dtype]
            place.copy_(number, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return place.item()
        return number.item()  # cause: wait,copy

    def judge(crossing, kind, change, alike):
        """Whether something is there, and whether the driver is to be warned now."""
        there = kind != 0 and change > changed
        standing[crossing] = (standing[crossing] + 1 if alike > still else 1) if there else 0
        return there, standing[crossing] == HOLD

    def note(there, warned, change):
        """The log's figures."""
        for at, value in enumerate((there, warned, change)):
            average[at] += 0.01 * (value - average[at])

    def one_by_one(kinds, changes, likes):
        there, warned, total = 0, 0, 0.0
        for crossing in range(CROSSINGS):
            kind, change = read(kinds[crossing]), read(changes[crossing])  # cause: wait,copy
            something, warn = judge(crossing, kind, change, read(likes[crossing]))  # cause: wait,copy
            there, warned, total = there + something, warned + warn, total + change
        note(there, warned, total / CROSSINGS)

    def at_once(*told):
        rows = torch.stack([one.float() for one in told], dim=1).tolist()
        judged = [judge(crossing, *row) for crossing, row in enumerate(rows)]
        note(sum(there for there, _ in judged), sum(warn for _, warn in judged), sum(row[1] for row in rows) / CROSSINGS)

    def on_device(kinds, changes, likes):
        there = (kinds != 0) & (changes > changed)
        streak.copy_(torch.where(there, torch.where(likes > still, streak + 1, 1), 0))
        pending.append(torch.stack((there.sum().float(), (streak == HOLD).sum().float(), changes.mean())))
        if turn[0] % LOOK_EVERY == 0:
            for row in torch.stack(pending).tolist():
                note(*row)
            pending.clear()

    decide = {"fix": on_device, "fix2": at_once}.get(variant, one_by_one)

    @torch.no_grad()
    def step():
        told = look(rounds[turn[0] % ROUNDS])
        turn[0] += 1
        decide(*told)  # cause: wait,copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(average))


run.main(make)
