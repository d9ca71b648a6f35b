# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: a warehouse looks at pallets that come in: 24 pictures of 576 by 1024 points a batch, of cameras at its
gates, are made half as large on the GPU, and a ResNet in half precision tells of each whether it is whole, torn, tilted, wet,
loose or empty. The pictures come from a DataLoader, as the cameras' computers have put them into memory, batch by batch.

Wrong: a batch, 42 MB, is copied from pageable memory, between the work for the one before and its own; the GPU waits for it.
fix: the cameras' computers put batches into pinned memory, from which they are copied without a wait (copy-bound).
fix2: the next batch is copied from pageable memory on another stream, while the GPU works on this one (copy-bound).
fix3: the network is launched as one CUDA graph (launch-bound).
useless: the pictures in half precision are in an array that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12)
torch, models = fixable.load_torch("torchvision.models")
F = torch.nn.functional

PICTURES, HIGH, WIDE, BATCHES, STATES, ROUND = 24, 576, 1024, 4, 6, 400


class Gates(torch.utils.data.Dataset):
    """What the cameras have taken: batches of bytes, which come again and again."""

    def __init__(self, pinned):
        light = torch.linspace(0.2, 1.0, PICTURES).view(PICTURES, 1, 1, 1)
        self.batches = []
        for _ in range(BATCHES):
            noise = torch.randint(0, 256, (1, 3, HIGH, WIDE), dtype=torch.int16).float()
            taken = (noise * light).to(torch.uint8)
            self.batches.append(taken.pin_memory() if pinned else taken)

    def __len__(self):
        return ROUND

    def __getitem__(self, number):
        return self.batches[number % BATCHES]


def endless(loader):
    while True:
        yield from loader


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    network = models.resnet18(weights=None, num_classes=STATES).cuda().eval().half().to(memory_format=torch.channels_last)
    mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").half().view(1, 3, 1, 1)
    spread = torch.tensor([0.229, 0.224, 0.225], device="cuda").half().view(1, 3, 1, 1)
    taken = endless(torch.utils.data.DataLoader(Gates(variant == "fix"), batch_size=None))
    places = [torch.zeros(PICTURES, 3, HIGH, WIDE, dtype=torch.uint8, device="cuda") for _ in range(2)]
    halves = torch.empty(PICTURES, 3, HIGH, WIDE, dtype=torch.float16, device="cuda") if variant == "useless" else None
    usual, turn = torch.zeros(STATES, device="cuda"), [0]

    def look(pictures):
        """How the pallets of these pictures are, which goes to the mean of the last batches."""
        points = halves.copy_(pictures) if variant == "useless" else pictures.half()
        small = F.avg_pool2d(points, 2).div_(255.0).sub_(mean).div_(spread)
        chances = network(small.contiguous(memory_format=torch.channels_last)).float().softmax(dim=1)
        usual.lerp_(chances.mean(dim=0), 0.02)

    if variant == "fix3":
        graph, _ = fixable.capture(torch, lambda: look(places[0]))
        usual.zero_()

    def one_by_one():
        places[0].copy_(next(taken), non_blocking=variant == "fix")  # cause: copy,wait
        if variant == "fix3":
            graph.replay()
        else:
            look(places[0])

    side = torch.cuda.Stream()
    there, free = [torch.cuda.Event(), torch.cuda.Event()], [torch.cuda.Event(), torch.cuda.Event()]

    def fetch(at):
        """The next batch to one of the two places, as soon as what was there is done with."""
        with torch.cuda.stream(side):
            side.wait_event(free[at])
            places[at].copy_(next(taken))
            there[at].record(side)

    def ahead():
        at = turn[0] % 2
        torch.cuda.current_stream().wait_event(there[at])
        look(places[at])
        free[at].record()
        fetch(1 - at)

    if variant == "fix2":
        torch.cuda.synchronize()
        fetch(0)

    @torch.no_grad()
    def step():
        if variant == "fix2":
            ahead()
        else:
            one_by_one()  # cause: copy,wait
        turn[0] += 1

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
