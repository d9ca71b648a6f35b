# SPDX-License-Identifier: Apache-2.0
"""torchvision: ResNet-18 training whose images are decoded and augmented by the main process (num_workers=0).

Wrong: the GPU waits while Python prepares the next batch.
fix: DataLoader with worker processes, which prefetch (host-bound).
useless: pin_memory=True and non_blocking copies; the loader stays in the main process.
"""
import itertools

import fixable

run = fixable.Program(__doc__, steps=60, warm_up=5, settle={"fix": 30})
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")
nn = torch.nn

SIZE, CROP, BATCH = 192, 128, 32


class Images(torch.utils.data.Dataset):
    """Stands for a folder of images: what is read is small, the work is in the augmentation."""

    def __init__(self):
        random = numpy.random.default_rng(20)
        self.raw = random.integers(0, 256, (64, SIZE, SIZE, 3), dtype=numpy.uint8)
        self.mean = numpy.array([0.485, 0.456, 0.406], dtype=numpy.float32)
        self.deviation = numpy.array([0.229, 0.224, 0.225], dtype=numpy.float32)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        random = numpy.random.default_rng(index)
        image = self.raw[index % len(self.raw)].astype(numpy.float32) / 255.0
        image = numpy.clip(image * random.uniform(0.8, 1.2), 0.0, 1.0) ** numpy.float32(random.uniform(0.8, 1.2))
        top, left = random.integers(0, SIZE - CROP, 2)
        image = image[top:top + CROP, left:left + CROP]
        if random.random() < 0.5:
            image = image[:, ::-1]
        image = (image - self.mean) / self.deviation
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1), dtype=numpy.float32)), index % 10


def make(variant):
    fixable.seed(torch)
    more = {"num_workers": 12, "prefetch_factor": 2, "persistent_workers": True} if variant == "fix" else {}
    loader = torch.utils.data.DataLoader(Images(), batch_size=BATCH, pin_memory=variant == "useless", **more)
    model = torchvision.models.resnet18(num_classes=10).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    batches = iter(loader)
    seen = []

    def loop(steps):
        for images, labels in itertools.islice(batches, steps):  # cause: loader
            images = images.to("cuda", non_blocking=variant == "useless")  # cause: delayed
            labels = labels.to("cuda", non_blocking=variant == "useless")
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
        seen[:] = [loss.item()]

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: list(seen))


run.main(make)
