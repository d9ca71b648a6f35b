# SPDX-License-Identifier: Apache-2.0
"""timm: waste on the belt of a plant is sorted by a vision transformer, 96 pictures at a time; behind each of its blocks a
small head says of which of eight kinds each thing is, and the later blocks are spared where all heads are sure.

Wrong: behind each block the host asks whether all are sure, and has nothing launched while it waits for the answer.
fix: it asks behind every fourth block; a thing keeps the kind that the first sure head told (sync-bound).
fix2: each block, with its head, is one CUDA graph, and it asks behind each one (launch-bound).
useless: the answer comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=15)
torch, timm = fixable.load_torch("timm")
nn = torch.nn

THINGS, SIZE, KINDS, SETS, SURE, ASK_EVERY = 96, 224, 8, 5, 0.95, 4


def belt():
    """Pictures of things with stripes on a dark belt: (THINGS, 3, SIZE, SIZE)."""
    at = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    y, x = torch.meshgrid(at, at, indexing="ij")
    for _ in range(SETS):
        tall, wide, stripes, turned = [torch.rand(THINGS, 1, 1, device="cuda") for _ in range(4)]
        inside = ((x / (0.3 + 0.6 * wide)).abs() < 1.0) & ((y / (0.3 + 0.6 * tall)).abs() < 1.0)
        drawn = (40.0 * stripes * (x * turned + y * (1.0 - turned))).sin() * inside
        color = torch.randn(THINGS, 3, 1, 1, device="cuda")
        yield (drawn.unsqueeze(1) * color + 0.1 * torch.randn(THINGS, 3, SIZE, SIZE, device="cuda")).bfloat16()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = timm.create_model("vit_small_patch16_224", pretrained=False, num_classes=0).cuda().bfloat16().eval()
    depth, width = len(model.blocks), model.embed_dim
    heads = nn.ModuleList(nn.Linear(width, KINDS) for _ in range(depth)).cuda().bfloat16()
    for number, head in enumerate(heads):  # the deeper, the surer
        nn.init.normal_(head.weight, std=0.2 * (number + 1) / depth)
    pictures = list(belt())
    kinds = torch.zeros(THINGS, dtype=torch.long, device="cuda")
    known = torch.zeros(THINGS, dtype=torch.bool, device="cuda")
    landing = torch.zeros((), dtype=torch.bool, pin_memory=True) if variant == "useless" else None
    turn, mean = [0], [0.0, 0.0]

    def pieces(picture):
        return model.norm_pre(model._pos_embed(model.patch_embed(picture)))

    def judge(number, x):
        """The kinds of those things that were not known before; whether all are known now."""
        chances = heads[number](model.norm(x[:, 0])).float().softmax(dim=1)
        chance, kind = chances.max(dim=1)
        kinds.copy_(torch.where(known, kinds, kind))
        known.logical_or_(chance > SURE)
        return known.all()

    def block(number, x):
        x = model.blocks[number](x)
        return x, judge(number, x)

    graphs = []
    if variant == "fix2":
        place = pieces(pictures[0]).clone()

        def in_place(number):
            x, done = block(number, place)
            place.copy_(x)
            return done

        graphs = [fixable.capture(torch, lambda number=number: in_place(number)) for number in range(depth)]

    def yes(done):
        if variant == "useless":
            landing.copy_(done, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.item()
        return done.item()  # cause: wait

    @torch.no_grad()
    def step():
        x = pieces(pictures[turn[0] % SETS])
        turn[0] += 1
        known.zero_()
        if variant == "fix2":
            place.copy_(x)
        for number in range(depth):
            if variant == "fix2":
                graph, done = graphs[number]
                graph.replay()
            else:
                x, done = block(number, x)
            if variant != "fix" or (number + 1) % ASK_EVERY == 0:
                if yes(done):  # cause: wait
                    break
        told = torch.stack((kinds.float().mean(), known.float().mean())).tolist()  # the arms of the plant would take the kinds
        mean[:] = [old + 0.05 * (new - old) for old, new in zip(mean, told)]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
