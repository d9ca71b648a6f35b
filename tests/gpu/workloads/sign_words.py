# SPDX-License-Identifier: Apache-2.0
"""torchvision: films of sign language are searched for words, so that learners find a sign in use: each of 32 clips at a time has
16 pictures, a ResNet-18 looks at each picture, a recurrent network goes through the clip both ways, and tells which of a thousand
words is signed. The films lie on the host as they were decoded, in numbers of 8 bits.

Wrong: the clips lie in plain memory, and .cuda() waits until they are copied; that takes as long as the networks need.
fix: the clips lie in pinned memory, and are copied by non_blocking=True (copy-bound).
fix2: the next clips are copied from plain memory, on another stream, while the networks look at these (copy-bound).
useless: the clips go to an array on the device that is made once.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=600, warm_up=10)
torch, torchvision = fixable.load_torch("torchvision")
nn, functional = torch.nn, torch.nn.functional

CLIPS, PICTURES, SIZE, WORDS, FEATURES, HIDDEN, SETS, COARSE = 32, 16, 112, 1000, 512, 384, 4, 14


class Reader(nn.Module):
    """How likely each word is, of clips of pictures in 8 bits, (CLIPS * PICTURES, 3, SIZE, SIZE)."""

    def __init__(self):
        super().__init__()
        self.eye = torchvision.models.resnet18(weights=None)
        self.eye.fc = nn.Identity()
        self.order = nn.GRU(FEATURES, HIDDEN, batch_first=True, bidirectional=True)
        self.word = nn.Linear(2 * HIDDEN, WORDS)

    def forward(self, pictures):
        x = pictures.half().div_(127.5).sub_(1.0).contiguous(memory_format=torch.channels_last)
        features = functional.layer_norm(self.eye(x).reshape(CLIPS, PICTURES, FEATURES), (FEATURES,))
        through, _ = self.order(features)
        return (8.0 * self.word(through.mean(dim=1)).float()).log_softmax(dim=1)


def films():
    """Clips whose pictures change slowly."""
    for _ in range(SETS):
        still = torch.rand(CLIPS, 1, 3, COARSE, COARSE, device="cuda")
        moves = torch.rand(CLIPS, PICTURES, 3, COARSE, COARSE, device="cuda").cumsum(dim=1) / PICTURES
        small = (0.6 * still + 0.4 * moves).flatten(0, 1)
        large = functional.interpolate(small, size=(SIZE, SIZE), mode="bilinear", align_corners=False)
        yield (255.0 * large).clamp_(0.0, 255.0).to(torch.uint8).cpu()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    reader = Reader().cuda().half().to(memory_format=torch.channels_last).eval()
    clips = list(films())
    if variant == "fix":
        clips = [batch.pin_memory() for batch in clips]
    place = torch.empty_like(clips[0], device="cuda") if variant == "useless" else None
    beside, coming = torch.cuda.Stream(), []
    turn, usual, seen = [0], torch.zeros(2, device="cuda"), []

    def ahead(number):
        """The clips of a step that is to come; the host waits for them, the stream of the networks does not."""
        with torch.cuda.stream(beside):
            batch = clips[number % SETS].cuda()
        batch.record_stream(torch.cuda.current_stream())
        return batch

    def there(number):
        if variant == "fix2":
            return coming.pop() if coming else ahead(number)
        if variant == "useless":
            return place.copy_(clips[number % SETS])
        return clips[number % SETS].cuda(non_blocking=variant == "fix")  # cause: copy

    @torch.no_grad()
    def step():
        pictures = there(turn[0])  # cause: copy
        turn[0] += 1
        chances = reader(pictures)
        sure = chances.amax(dim=1).exp().mean()
        open_to = -(chances.exp() * chances).sum(dim=1).mean()
        usual.lerp_(torch.stack((sure, open_to)), 0.05)
        if variant == "fix2":
            coming.append(ahead(turn[0]))
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
