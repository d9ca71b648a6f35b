# SPDX-License-Identifier: Apache-2.0
"""timm: photographs from auctions are compared with a register of 160 thousand stolen works of art: a vision transformer makes
a vector of each photograph and of its mirror image, and the three works that are most like one of them are shown to an expert.

Wrong: nothing (gpu-bound). 96 photographs at once are large products of matrices in bfloat16, the next ones come from pinned memory on a
stream of their own, and the wait for the answer costs little.
useless: the answers are read behind 20 batches.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, timm = fixable.load_torch("timm")
F = torch.nn.functional

PHOTOS, TAKEN, SIZE, SETS, WORKS, SHOWN = 96, 256, 224, 4, 160000, 3


def auctions():
    """Photographs in pinned memory, as threads decode them: (PHOTOS, 3, TAKEN, TAKEN) bytes."""
    at = torch.linspace(-1.0, 1.0, TAKEN)
    frame = (at.view(TAKEN, 1).abs() > 0.9) | (at.abs() > 0.9)
    for _ in range(SETS):
        waves = 20.0 * torch.rand(PHOTOS, 3, 2, 1, 1)
        paint = 120.0 + 90.0 * (waves[:, :, 0] * at.view(TAKEN, 1)).sin() * (waves[:, :, 1] * at).cos()
        photos = torch.where(frame, 60.0, paint) + 6.0 * torch.randn(PHOTOS, 3, TAKEN, TAKEN)
        yield photos.clamp(0.0, 255.0).to(torch.uint8).pin_memory()


class Ahead:
    """Brings the next photographs to the GPU beside the kernels for these."""

    def __init__(self, batches):
        self.batches, self.turn, self.stream = batches, 0, torch.cuda.Stream()
        self.bring()

    def bring(self):
        photos = self.batches[self.turn % SETS]
        self.turn += 1
        with torch.cuda.stream(self.stream):
            self.next = photos.to("cuda", non_blocking=True)

    def take(self):
        now = torch.cuda.current_stream()
        now.wait_stream(self.stream)
        photos = self.next
        photos.record_stream(now)
        self.bring()
        return photos


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = timm.create_model("vit_base_patch16_224", pretrained=False, num_classes=0).cuda().bfloat16().eval()
    register = F.normalize(torch.randn(WORKS, model.num_features, device="cuda"), dim=1).bfloat16()
    mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(3, 1, 1)
    ahead, edge = Ahead(list(auctions())), (TAKEN - SIZE) // 2
    turn, pending, usual = [0], [], [0.0, 0.0]

    def compare(photos):
        """For each photograph how like it the likest works are, and which they are: (PHOTOS, 2 * SHOWN)."""
        inner = photos[:, :, edge:edge + SIZE, edge:edge + SIZE]
        pixels = ((inner.float() / 255.0 - mean) / deviation).bfloat16()
        vectors = F.normalize(model(torch.cat((pixels, pixels.flip(3)))).float(), dim=1).bfloat16()
        likeness = vectors @ register.t()
        best, which = torch.maximum(likeness[:PHOTOS], likeness[PHOTOS:]).float().topk(SHOWN, dim=1)
        return torch.cat((best, which.float()), dim=1)

    def note(found):
        """An expert would see the works."""
        likeness = [row[0] for row in found]
        usual[0] += 0.05 * (sum(likeness) / PHOTOS - usual[0])
        usual[1] += 0.05 * (max(likeness) - usual[1])

    @torch.no_grad()
    def step():
        found = compare(ahead.take())
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
