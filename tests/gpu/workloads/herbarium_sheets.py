# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: a herbarium has photographed its sheets of dried plants, and a transformer learns to tell 240 genera from them.
Pictures are taller than they are wide, as sheets are, and all of them fit on the GPU as bytes. A step takes 128 of them: which
ones, which are seen mirrored, and how strong the lamp was, is drawn by NumPy; the smoothed loss is followed.

Wrong: nothing; the GPU is busy with the layers of the transformer, and the host is far ahead of it (gpu-bound).
useless: what NumPy draws for a step is drawn before the loop, for all steps of a round.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=110, warm_up=6)
torch, numpy, timm = fixable.load_torch("numpy", "timm")

SHEETS, BATCH, GENERA, HIGH, WIDE, DEPTH, PLANS, READ = 1536, 128, 240, 320, 224, 6, 64, 20
PAPER, GREEN = (232.0, 226.0, 205.0), (96.0, 104.0, 60.0)


def sheets():
    """Pictures as bytes, (SHEETS, 3, HIGH, WIDE), and the genus of each: a stem with leaves on yellowed paper."""
    genus = torch.randint(0, GENERA, (SHEETS,), device="cuda")
    down = torch.linspace(0.0, 1.0, HIGH, device="cuda").view(1, HIGH, 1)
    right = torch.linspace(-0.35, 0.35, WIDE, device="cuda").view(1, 1, WIDE)
    paper = torch.tensor(PAPER, device="cuda").view(1, 3, 1, 1)
    green = torch.tensor(GREEN, device="cuda").view(1, 3, 1, 1)
    shown = torch.empty(SHEETS, 3, HIGH, WIDE, dtype=torch.uint8, device="cuda")
    for first in range(0, SHEETS, BATCH):
        kind = genus[first:first + BATCH].float().view(-1, 1, 1)
        leaves, broad = 4.0 + kind % 12.0, 0.05 + 0.012 * (kind // 12.0)
        bent = 0.08 * torch.sin(3.0 * down + 6.28 * torch.rand(BATCH, 1, 1, device="cuda"))
        edge = 0.01 + broad * torch.sin(3.14 * leaves * down).abs() * (1.0 - 0.6 * down)
        plant = torch.sigmoid(200.0 * (edge - (right - bent).abs())).unsqueeze(1)
        seen = paper + plant * (green - paper) + 12.0 * torch.randn(BATCH, 3, HIGH, WIDE, device="cuda")
        shown[first:first + BATCH] = seen.clamp_(0.0, 255.0).to(torch.uint8)
    return shown, genus


def drawn(number):
    """What a step of a round takes: the sheets, whether each is mirrored, and the strength of the lamp."""
    luck = numpy.random.default_rng(number)
    taken = luck.integers(0, SHEETS, BATCH)
    lamps = numpy.stack((luck.random(BATCH) < 0.5, luck.uniform(0.85, 1.15, BATCH))).astype(numpy.float32)
    return torch.from_numpy(taken), torch.from_numpy(lamps)


def make(variant):
    fixable.seed(torch)
    shown, genus = sheets()
    model = timm.create_model("vit_base_patch16_224", pretrained=False, img_size=(HIGH, WIDE), depth=DEPTH,
                              num_classes=GENERA).to("cuda")
    rule = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True)
    plans = [drawn(number) for number in range(PLANS)] if variant == "useless" else None
    usual = torch.zeros((), device="cuda")
    notes, turn = collections.deque(maxlen=50), [0]

    def pictures(taken, lamps):
        """The sheets of a step as they are seen."""
        x = shown[taken].float().mul_(1.0 / 255.0)
        mirrored, strength = lamps.view(2, BATCH, 1, 1, 1)
        x = torch.where(mirrored > 0.5, x.flip(3), x)
        return (x * strength - 0.7) / 0.25

    def learn(taken, lamps):
        """A step of training."""
        x = pictures(taken, lamps)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits.float(), genus[taken], label_smoothing=0.1)
        loss.backward()
        rule.step()
        rule.zero_grad(set_to_none=True)
        usual.lerp_(loss.detach(), 0.05)

    def step():
        number = turn[0] % PLANS
        taken, lamps = plans[number] if plans else drawn(number)
        learn(taken.to("cuda", non_blocking=True), lamps.to("cuda", non_blocking=True))
        turn[0] += 1
        if turn[0] % READ == 0:
            notes.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
