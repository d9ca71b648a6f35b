# SPDX-License-Identifier: Apache-2.0
"""PyTorch with torchvision: a news studio has no green wall, and its presenter is cut out by a network: LR-ASPP, on frames at a
quarter of their size, tells how likely each point is the presenter, and that is made a matte of 1080 by 1920 bytes for each.
Frames are decoded on the GPU, 16 at a time; the mattes go to the host's memory, where the mixer takes them.

Wrong: the mixer's memory is pageable; the copy of 33 MB of mattes waits for the kernels, the host waits for the copy, and the GPU
computes nothing meanwhile.
fix: the mixer's memory is pinned, and the host does not wait for the copy (copy-bound).
fix2: mattes are copied, to pageable memory, by another stream, behind the launches for the next frames (copy-bound).
fix3: what is launched before the copy is one CUDA graph for each set of frames (launch-bound).
useless: frames in half precision go to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
torch, segmentation = fixable.load_torch("torchvision.models.segmentation")
nn = torch.nn
F = nn.functional

FRAMES, HIGH, WIDE, LESS, SETS, TOLD = 16, 1080, 1920, 4, 3, 25


def frames():
    """Frames of each set, (FRAMES, 3, HIGH, WIDE) of bytes on the GPU: somebody who moves before a wall of screens."""
    down = torch.linspace(0.0, 1.0, HIGH, device="cuda")[:, None]
    across = torch.linspace(0.0, 1.0, WIDE, device="cuda")
    wall = 90.0 + 50.0 * torch.sin(40.0 * across) * torch.sin(30.0 * down)
    for number in range(SETS):
        taken = torch.empty(FRAMES, 3, HIGH, WIDE, dtype=torch.uint8, device="cuda")
        for frame in range(FRAMES):
            middle = 0.5 + 0.01 * frame - 0.05 * number
            head = ((across - middle) / 0.09).square() + ((down - 0.35) / 0.16).square() < 1.0
            body = ((across - middle) / 0.22).square() + ((down - 1.0) / 0.50).square() < 1.0
            lit = torch.where(head | body, 170.0, wall) + 6.0 * torch.randn(3, HIGH, WIDE, device="cuda")
            taken[frame] = lit.clamp_(0.0, 255.0).to(torch.uint8)
        yield taken


def smaller(whole):
    return F.avg_pool2d(whole, LESS).mul_(1.0 / 64.0).sub_(2.0)


def network(taken):
    """The network in half precision, whose norms fit the frames."""
    net = segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=2).cuda()
    for norm in net.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.momentum = None
    net.train()
    net(smaller(taken.float()))
    return net.eval().half()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    shown = list(frames())
    net = network(shown[0])
    mattes = [torch.zeros(FRAMES, 1, HIGH, WIDE, dtype=torch.uint8, pin_memory=variant == "fix") for _ in range(SETS)]
    kept = torch.zeros(FRAMES, 3, HIGH, WIDE, dtype=torch.half, device="cuda") if variant == "useless" else None
    told, usual, turn = torch.zeros((), device="cuda"), [0.0], [0]
    side, pending = torch.cuda.Stream(), []

    def look(taken):
        """The mattes of some frames; notes how much of them is the presenter."""
        whole = taken.half() if kept is None else kept.copy_(taken)
        chances = net(smaller(whole))["out"].softmax(dim=1)[:, 1:]
        told.lerp_(chances.float().mean(), 0.05)
        return F.interpolate(chances, size=(HIGH, WIDE), mode="bilinear", align_corners=False).mul_(255.0).to(torch.uint8)

    graphs = []
    if variant == "fix3":
        for taken in shown:
            graphs.append(fixable.capture(torch, lambda taken=taken: look(taken)))
        told.zero_()

    def notes():
        if turn[0] % TOLD == 0:
            usual[0] = told.item()

    def fetch():
        """Copies the mattes that were launched last, by the other stream."""
        while pending:
            matte, ready, number = pending.pop()
            with torch.cuda.stream(side):
                side.wait_event(ready)
                mattes[number].copy_(matte)

    @torch.no_grad()
    def overlapped():
        number = turn[0] % SETS
        turn[0] += 1
        matte, ready = look(shown[number]), torch.cuda.Event()
        ready.record()
        fetch()
        pending.append((matte, ready, number))
        notes()

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        if graphs:
            graph, matte = graphs[number]
            graph.replay()
        else:
            matte = look(shown[number])
        mattes[number].copy_(matte, non_blocking=variant == "fix")  # cause: copy,wait
        notes()

    def wait():
        fetch()
        torch.cuda.synchronize()

    def values():
        """How much is the presenter, by the usual one, and by the mattes on the host."""
        return [told.item()] + [float(matte.float().mean()) / 255.0 for matte in mattes]

    return fixable.Work(overlapped if variant == "fix2" else step, wait, values)


run.main(make)
