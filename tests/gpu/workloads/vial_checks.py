# SPDX-License-Identifier: Apache-2.0
"""PyTorch with torchvision: glass vials with medicine are looked at by four cameras each before they are packed: 12 vials make
48 grey pictures of 640 by 1024 bytes, which are halved, and a ResNet tells for each whether it shows cracks, specks, fibres, a
crooked stopper, a wrong level, or nothing. What a vial is taken for is what its worst camera says.

Wrong: pictures lie in pageable memory, where the cameras' driver has put them, and the copy of 31.5 MB waits for the kernels of
the vials before; the host waits for it, and the GPU computes nothing meanwhile.
fix: pictures are put to pinned memory, and the host does not wait for the copy (copy-bound).
fix2: the pictures of the next vials are copied, from pageable memory, by another stream, behind the launches (copy-bound).
fix3: what is launched behind the copy is one CUDA graph (launch-bound).
useless: the pictures in bfloat16 go to an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10)
torch, torchvision = fixable.load_torch("torchvision")
nn = torch.nn

VIALS, CAMERAS, HIGH, WIDE, KINDS, SETS, TOLD = 12, 4, 640, 1024, 6, 4, 20
PICTURES = VIALS * CAMERAS


def pictures():
    """Pictures of vials, (PICTURES, 1, HIGH, WIDE) of bytes on the host, for each set."""
    for _ in range(SETS):
        across = (torch.arange(WIDE, device="cuda").float() - WIDE / 2) / (WIDE / 2)
        down = torch.arange(HIGH, device="cuda").float()[:, None] / HIGH
        level = 0.3 + 0.1 * torch.rand(PICTURES, 1, 1, 1, device="cuda")
        glass = 120.0 + 60.0 * (1.0 - across.square()) - 35.0 * (down > level)
        specks = torch.rand(PICTURES, 1, HIGH, WIDE, device="cuda").pow_(24).mul_(50.0)
        yield (glass + specks).clamp_(0.0, 255.0).to(torch.uint8).cpu()


def network():
    net = torchvision.models.resnet18(num_classes=KINDS, zero_init_residual=True)
    net.conv1 = nn.Conv2d(1, 64, kernel_size=7, stride=2, padding=3, bias=False)
    return net.eval().to("cuda").to(torch.bfloat16).to(memory_format=torch.channels_last)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    taken = list(pictures())
    if variant == "fix":
        taken = [one.pin_memory() for one in taken]
    net = network()
    frames = torch.zeros(PICTURES, 1, HIGH, WIDE, dtype=torch.uint8, device="cuda")
    kept = torch.zeros(frames.shape, dtype=torch.bfloat16, device="cuda") if variant == "useless" else None
    told, usual, turn = torch.zeros(KINDS, device="cuda"), [0.0] * KINDS, [0]

    def look(frames):
        """Notes how likely each fault is, by the mean of the vials."""
        whole = frames.to(torch.bfloat16) if kept is None else kept.copy_(frames)
        half = nn.functional.avg_pool2d(whole, 2).mul_(1.0 / 64.0).sub_(2.0)
        chances = net(half.contiguous(memory_format=torch.channels_last)).float().softmax(dim=1)
        worst = chances.view(VIALS, CAMERAS, KINDS).amax(dim=1)
        told.lerp_(worst.mean(dim=0), 0.05)

    replay = None
    if variant == "fix3":
        graph, _ = fixable.capture(torch, lambda: look(frames))
        told.zero_()
        replay = graph.replay

    side = torch.cuda.Stream()
    both = [frames, torch.zeros_like(frames)] if variant == "fix2" else []
    ready, done = [torch.cuda.Event() for _ in both], [torch.cuda.Event() for _ in both]

    def ahead(number, into):
        """Copies the pictures of a set by the other stream, once what was in their place has been looked at."""
        side.wait_event(done[into])
        with torch.cuda.stream(side):
            both[into].copy_(taken[number % SETS])
            ready[into].record()

    if both:
        for one in done:
            one.record()
        ahead(0, 0)

    def notes():
        if turn[0] % TOLD == 0:
            usual[:] = told.tolist()

    @torch.no_grad()
    def overlapped():
        now = turn[0] % 2
        torch.cuda.current_stream().wait_event(ready[now])
        look(both[now])
        done[now].record()
        turn[0] += 1
        ahead(turn[0], 1 - now)
        notes()

    @torch.no_grad()
    def step():
        frames.copy_(taken[turn[0] % SETS], non_blocking=variant == "fix")  # cause: copy,wait
        if replay:
            replay()
        else:
            look(frames)
        turn[0] += 1
        notes()

    return fixable.Work(overlapped if both else step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
