# SPDX-License-Identifier: Apache-2.0
"""PyTorch: before a network learns to find illnesses in X-ray pictures of the chest, it learns what such pictures look like,
from many that no doctor has looked at: it sees a quarter of a picture's patches, and tells what is in the others (masked
autoencoder).

Wrong: a step is products of large matrices in bfloat16, with flash attention and a fused AdamW, but they are launched one by one,
some thousand a step, and the loss is read. Where the host is fast the GPU is busy all the same, as it was meant (gpu-bound).
fix: the whole step is one CUDA graph (launch-bound).
useless: the losses stay on the device, and are read every 20 steps.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=100, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
nn = torch.nn
F = nn.functional

BATCH, SIZE, PATCH, SETS, SHOWN = 96, 256, 16, 4, 0.25
WIDTH, HEADS, BLOCKS, NARROW, FEW_HEADS, FEW_BLOCKS = 1024, 16, 12, 512, 8, 4
ACROSS = SIZE // PATCH
PATCHES, SEEN, DOTS = ACROSS * ACROSS, int(SHOWN * ACROSS * ACROSS), PATCH * PATCH


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.three, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, long, width = x.shape
        parts = self.three(self.first(x)).view(batch, long, 3, self.heads, width // self.heads)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(dim=2))
        heed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.out(heed.transpose(1, 2).reshape(batch, long, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Guesser(nn.Module):
    """Tells the dots of all patches of a picture, by some of them."""

    def __init__(self):
        super().__init__()
        self.first, self.places = nn.Linear(DOTS, WIDTH), nn.Parameter(0.02 * torch.randn(PATCHES, WIDTH))
        self.wide = nn.Sequential(*(Block(WIDTH, HEADS) for _ in range(BLOCKS)), nn.LayerNorm(WIDTH))
        self.between, self.hidden = nn.Linear(WIDTH, NARROW), nn.Parameter(0.02 * torch.randn(NARROW))
        self.where = nn.Parameter(0.02 * torch.randn(PATCHES, NARROW))
        self.narrow = nn.Sequential(*(Block(NARROW, FEW_HEADS) for _ in range(FEW_BLOCKS)), nn.LayerNorm(NARROW))
        self.last = nn.Linear(NARROW, DOTS)

    def forward(self, patches, order):
        """`order`: the patches of each picture in some order; the first ones are seen."""
        seen = order[:, :SEEN]
        known = patches.gather(1, seen.unsqueeze(2).expand(-1, -1, DOTS))
        x = self.between(self.wide(self.first(known) + self.places[seen]))
        unseen = self.hidden.to(x.dtype).expand(len(x), PATCHES - SEEN, NARROW)
        x = torch.cat((x, unseen), dim=1) + self.where[order]
        return self.last(self.narrow(x)[:, SEEN:])


def archive():
    """Pictures in pinned memory: ribs, lungs and a heart, as the archive's bytes."""
    y, x = torch.meshgrid(torch.linspace(-1.0, 1.0, SIZE), torch.linspace(-1.0, 1.0, SIZE), indexing="ij")
    for _ in range(SETS):
        tall, wide, ribs, turn = (0.5 + torch.rand(4, BATCH, 1, 1)).unbind(0)
        lungs = torch.exp(-(((x.abs() - 0.45) / (0.25 * wide)).square() + (y / (0.6 * tall)).square()))
        heart = torch.exp(-(((x - 0.12) / 0.2).square() + ((y - 0.25) / 0.25).square()))
        bones = 0.2 * torch.sin(12.0 * ribs * (y + 0.3 * x.abs()) + 6.0 * turn)
        light = 0.6 - 0.4 * lungs + 0.3 * heart + bones + 0.03 * torch.randn(BATCH, SIZE, SIZE)
        yield (255.0 * light.clamp(0.0, 1.0)).to(torch.uint8).pin_memory()


def make(variant):
    fixable.seed(torch)
    model = Guesser().cuda().train()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.05, fused=True,
                             capturable=variant == "fix")
    pictures = list(archive())
    turn, pending, usual = [0], [], [1.0]

    def patches_of(picture):
        parts = picture.float().view(BATCH, ACROSS, PATCH, ACROSS, PATCH).transpose(2, 3).reshape(BATCH, PATCHES, DOTS)
        return parts / 127.5 - 1.0

    def note(loss):
        usual[0] += 0.05 * (loss - usual[0])

    def learn(picture):
        patches = patches_of(picture)
        order = torch.rand(BATCH, PATCHES, device="cuda").argsort(dim=1)
        wanted = patches.gather(1, order[:, SEEN:].unsqueeze(2).expand(-1, -1, DOTS))
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=variant != "fix"):
            guess = model(patches, order)
        loss = F.mse_loss(guess.float(), wanted)
        loss.backward()  # cause: launch
        adam.step()
        return loss.detach()

    def forget():
        adam.zero_grad()

    landing = pictures[0].cuda()
    graph, lost = fixable.capture(torch, lambda: learn(landing), forget) if variant == "fix" else (None, None)

    def step():
        picture = pictures[turn[0] % SETS]
        turn[0] += 1
        if graph:
            landing.copy_(picture, non_blocking=True)
            graph.replay()
            loss = lost
        else:
            forget()
            loss = learn(picture.to("cuda", non_blocking=True))  # cause: launch
        if variant != "useless":
            note(loss.item())
            return
        pending.append(loss)
        if turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(pending).tolist():
                note(one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
