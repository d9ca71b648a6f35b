# SPDX-License-Identifier: Apache-2.0
"""PyTorch with torchvision: moths that come to a lit sheet at night are photographed, and a ResNet learns to tell 40 species,
by 16 photos at a time. A Dataset gives each photo: the white of the sheet is taken from the photo's upper edge, colours are set
right by it, and transforms of torchvision make it 96 by 96 points; a DataLoader puts them together, as in the tutorials.

Wrong: NumPy and the transforms do the same for each photo anew in each epoch, in the process that launches (the DataLoader has
no workers), and the GPU waits for that.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: the kernels of a step are one CUDA graph; the DataLoader does what it did (launch-bound).
useless: the DataLoader has pin_memory=True, and the copies do not wait.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, torchvision, numpy, v2 = fixable.load_torch("torchvision", "numpy", "torchvision.transforms.v2")
nn = torch.nn

SPECIES, PHOTOS, LARGE, SMALL, TOGETHER, EDGE, TOLD = 40, 128, 320, 96, 16, 16, 25


class Moths(torch.utils.data.Dataset):
    """Photos of moths as they came from the trap, bytes of (3, LARGE, LARGE), and their species."""

    def __init__(self):
        random = numpy.random.default_rng(20)
        self.species = random.integers(0, SPECIES, PHOTOS).tolist()
        wings = random.uniform(0.2, 1.0, (SPECIES, 3, LARGE // 32, LARGE // 32))
        self.photos = []
        for species in self.species:
            wing = wings[species].repeat(32, axis=1).repeat(32, axis=2)
            wing[:, :EDGE] = 1.0
            lamp = random.uniform(120.0, 220.0, (3, 1, 1))
            grain = 6.0 * random.standard_normal(wing.shape, dtype=numpy.float32)
            self.photos.append((wing * lamp + grain).clip(0.0, 255.0).astype(numpy.uint8))
        self.transform = v2.Compose([
            v2.Resize((SMALL, SMALL), antialias=True),
            v2.Normalize(mean=[0.55, 0.55, 0.55], std=[0.25, 0.25, 0.25])])

    def __len__(self):
        return PHOTOS

    def __getitem__(self, number):
        photo = self.photos[number]
        white = numpy.percentile(photo[:, :EDGE], 80.0, axis=(1, 2))  # cause: loader
        bright = photo * (1.0 / white).astype(numpy.float32)[:, None, None]  # cause: loader
        return self.transform(torch.from_numpy(bright)), self.species[number]  # cause: loader


def endless(batches):
    while True:
        yield from batches


def make(variant):
    fixable.seed(torch)
    loader = torch.utils.data.DataLoader(Moths(), batch_size=TOGETHER, shuffle=False, pin_memory=variant == "useless")
    model = torchvision.models.resnet18(num_classes=SPECIES).cuda().train()
    feed = endless(list(loader) if variant == "fix" else loader)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)
    photos = torch.zeros(TOGETHER, 3, SMALL, SMALL, device="cuda")
    species = torch.zeros(TOGETHER, dtype=torch.int64, device="cuda")
    usual, graph, turn, told = torch.zeros(2, device="cuda"), None, [0], [0.0, 0.0]

    def learn():
        optimizer.zero_grad()
        scores = model(photos)
        loss = nn.functional.cross_entropy(scores, species, label_smoothing=0.2)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        sure = scores.detach().softmax(dim=1).amax(dim=1).mean()
        usual.lerp_(torch.stack((loss.detach(), sure)), 0.05)

    if variant == "fix2":
        begun = [(tensor, tensor.clone()) for tensor in model.state_dict().values()]
        graph, _ = fixable.capture(torch, learn)
        with torch.no_grad():  # what the capture's warm-up has learnt is forgotten
            for tensor, first in begun:
                tensor.copy_(first)
            for state in optimizer.state.values():
                for tensor in state.values():
                    if tensor is not None:
                        tensor.zero_()
            usual.zero_()

    def step():
        new_photos, new_species = next(feed)  # cause: loader
        turn[0] += 1
        photos.copy_(new_photos, non_blocking=variant == "useless")  # cause: delayed
        species.copy_(new_species, non_blocking=variant == "useless")
        if graph is not None:
            graph.replay()
        else:
            learn()
        if turn[0] % TOLD == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
