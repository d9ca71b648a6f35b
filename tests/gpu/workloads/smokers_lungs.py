# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: in the chests of people who smoke it is measured how much of the lungs is emphysema. A DataLoader gives a
scan of 96 slices at a time; slices become half as wide, torchvision's LRASPP in half precision finds the lungs in them, and it is
told what share of the lungs holds more air than -950 Hounsfield units.

Wrong: a scan of 50 MB comes from pageable memory at each step, and the GPU has nothing to do meanwhile.
fix: the scans are in pinned memory (copy-bound).
fix2: the next scan is copied, from pageable memory, on another stream, while the network works (copy-bound).
fix3: what is done with a scan is one CUDA graph; the scans are copied as before (launch-bound).
useless: the slices as floats are in an array that is made once.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=250, warm_up=8)
torch, segmentation = fixable.load_torch("torchvision.models.segmentation")

SCANS, SLICES, SIZE, LUNG, AIR, SHOWN, SLOW = 6, 96, 512, 1, -950.0, 20, 0.05


class Chests(torch.utils.data.Dataset):
    """Scans as 16 bit numbers, in Hounsfield units: a body, two lungs, and more or less air in them."""

    def __init__(self, pinned):
        down = torch.linspace(-1.0, 1.0, SIZE, device="cuda")[:, None]
        right = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
        body = (1.2 * down.square() + right.square() < 0.9).float()
        lungs = (down.square() + 4.0 * (right.abs() - 0.42).square() < 0.3).float()
        self.scans = []
        for number in range(SCANS):
            noise = torch.randn(SLICES, SIZE, SIZE, device="cuda")
            scan = -1000.0 + body * 1040.0 - lungs * (840.0 + 15.0 * number) + 40.0 * noise
            scan = scan.clamp_(-1024.0, 3000.0).to(torch.int16).cpu()
            self.scans.append(scan.pin_memory() if pinned else scan)

    def __len__(self):
        return SCANS

    def __getitem__(self, number):
        return self.scans[number]


def without_end(loader):
    while True:
        yield from loader


def make(variant):
    fixable.seed(torch)
    scans = without_end(torch.utils.data.DataLoader(Chests(variant == "fix"), batch_size=None))
    model = segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3)
    model = model.to("cuda", torch.float16, memory_format=torch.channels_last).eval()
    places = [torch.zeros(SLICES, SIZE, SIZE, dtype=torch.int16, device="cuda") for _ in range(2)]  # used in turns
    kept = torch.empty(SLICES, SIZE, SIZE, device="cuda") if variant == "useless" else None
    usual, turn, curve, graphs = torch.zeros(2, device="cuda"), [0], [], []
    ahead, arrived, free = torch.cuda.Stream(), [torch.cuda.Event() for _ in places], [torch.cuda.Event() for _ in places]

    @torch.no_grad()
    def measure(scan):
        """What share of the lungs is emphysema, and what share of the picture lungs."""
        units = scan.float() if kept is None else kept.copy_(scan)
        small = torch.nn.functional.avg_pool2d(units[:, None], 2)
        inside = small.clamp(-1000.0, 400.0).mul_(0.002).half().expand(-1, 3, -1, -1)
        lung = torch.softmax(model(inside.contiguous(memory_format=torch.channels_last))["out"].float(), dim=1)[:, LUNG]
        ill = lung * (small[:, 0] < AIR)
        usual.lerp_(torch.stack((ill.sum() / lung.sum(), lung.mean())), SLOW)

    def bring(number):
        """Copies the next scan on the other stream, as soon as the one that was in its place is measured."""
        place = number % 2
        ahead.wait_event(free[place])
        with torch.cuda.stream(ahead):
            places[place].copy_(next(scans), non_blocking=True)
        arrived[place].record(ahead)

    for scan in places:
        if variant == "fix3":
            graphs.append(fixable.capture(torch, functools.partial(measure, scan), warm_up=2)[0])
        else:
            for _ in range(2):  # as many times as before a graph is made
                measure(scan)
    usual.zero_()
    if variant == "fix2":
        torch.cuda.synchronize()
        bring(0)

    def step():
        place = turn[0] % 2
        if variant == "fix2":
            torch.cuda.current_stream().wait_event(arrived[place])
        else:
            places[place].copy_(next(scans), non_blocking=True)  # cause: wait,copy
        if variant == "fix3":
            graphs[place].replay()
        else:
            measure(places[place])
        turn[0] += 1
        if variant == "fix2":
            free[place].record()
            bring(turn[0])
        if turn[0] % SHOWN == 0:
            curve.append(usual.tolist())

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
