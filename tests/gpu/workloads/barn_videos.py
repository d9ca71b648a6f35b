# SPDX-License-Identifier: Apache-2.0
"""transformers: cameras in barns watch cows, so that the farmer hears when one is about to calve: a small vision transformer
looks at each of 16 pictures of a clip, and a GRU tells from what it saw whether the cow lies, stands, walks, eats, drinks or is
restless.

Wrong: the clips come as a library has made them ready, as float32 in pageable memory, and are sent as they are; the GPU has
nothing to do until a copy is done.
fix: the clips are made ready in pinned memory, and sent with non_blocking=True (copy-bound).
fix2: the bytes of the pictures are sent, a quarter as many, and made ready on the GPU; their memory is pageable as before
(copy-bound).
useless: the clips are copied to a tensor on the device that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=240, warm_up=8)
torch, transformers = fixable.load_torch("transformers")
nn = torch.nn

CLIPS, FRAMES, SIZE, SETS, WIDTH, LAYERS, SEEN, KEPT = 8, 16, 224, 3, 384, 4, 256, 192
ACTS = "lies", "stands", "walks", "eats", "drinks", "is restless"


class Watcher(nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.CLIPVisionConfig(hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=LAYERS,
                                               num_attention_heads=6, patch_size=16, image_size=SIZE, projection_dim=SEEN)
        self.look = transformers.CLIPVisionModelWithProjection(config).to(torch.bfloat16)
        self.follow, self.tell = nn.GRU(SEEN, KEPT, batch_first=True), nn.Linear(KEPT, len(ACTS))

    def forward(self, pixels):
        """How likely each act is, for each clip."""
        seen = self.look(pixel_values=pixels.flatten(0, 1).to(torch.bfloat16)).image_embeds
        kept, _ = self.follow(seen.float().view(CLIPS, FRAMES, SEEN))
        return self.tell(kept[:, -1]).softmax(dim=1)


def recorded():
    """Clips of something that moves over straw, as bytes: (CLIPS, FRAMES, 3, SIZE, SIZE)."""
    at = torch.linspace(-1.0, 1.0, SIZE)
    for _ in range(SETS):
        begin, speed = torch.rand(2, CLIPS, 1, 1, 1, 1) - 0.5
        moved = begin + 0.1 * speed * torch.arange(FRAMES).view(1, FRAMES, 1, 1, 1)
        cow = ((at - moved).square() + 2.0 * at.view(SIZE, 1).square() < 0.2).float()
        light = torch.rand(CLIPS, 1, 3, 1, 1) * 60.0
        straw = 110.0 + 25.0 * torch.randn(CLIPS, 1, 3, SIZE, SIZE)
        yield (straw + light - 90.0 * cow).clamp(0.0, 255.0).to(torch.uint8)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Watcher().cuda().eval()
    mean = torch.tensor([0.481, 0.458, 0.408]).view(3, 1, 1)
    deviation = torch.tensor([0.269, 0.261, 0.276]).view(3, 1, 1)
    there = mean.cuda(), deviation.cuda()

    def prepared(pictures, mean, deviation):
        return (pictures.float() / 255.0 - mean) / deviation

    clips = list(recorded())
    if variant != "fix2":
        clips = [prepared(clip, mean, deviation) for clip in clips]
    if variant == "fix":
        clips = [clip.pin_memory() for clip in clips]
    room = torch.empty(clips[0].shape, device="cuda") if variant == "useless" else None
    turn, usual = [0], [1.0 / len(ACTS)] * len(ACTS)

    def send(clip):
        if variant == "fix":
            return clip.to("cuda", non_blocking=True)
        if variant == "fix2":
            return prepared(clip.cuda(), *there)
        if variant == "useless":
            return room.copy_(clip)
        return clip.cuda()  # cause: copy

    def note(chances):
        """The farmer would be called if a cow had been restless for long."""
        for act in range(len(ACTS)):
            usual[act] += 0.05 * (sum(row[act] for row in chances) / CLIPS - usual[act])

    @torch.no_grad()
    def step():
        pixels = send(clips[turn[0] % SETS])  # cause: copy
        turn[0] += 1
        note(model(pixels).tolist())

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
