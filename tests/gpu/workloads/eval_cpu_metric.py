# SPDX-License-Identifier: Apache-2.0
"""torchvision: an evaluation loop; each batch's predictions go to the host by .cpu(), where NumPy counts them.

Wrong: the host waits for each batch, and the GPU then for the host.
fix: the predictions of a batch are read while the next one runs: pinned memory, and an event (sync-bound).
fix2: the counts are kept on the device, and the host does nothing (host-bound).
useless: the predictions come by way of pinned memory, and are waited for all the same.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

BATCH, SIZE, CLASSES = 64, 224, 100


def make(variant):
    fixable.seed(torch)
    form = torch.channels_last
    model = torchvision.models.resnet18(num_classes=CLASSES).to("cuda", torch.float16, memory_format=form).eval()
    images = [torch.randn(BATCH, 3, SIZE, SIZE, device="cuda", dtype=torch.float16).contiguous(memory_format=form) for _ in range(2)]
    labels = numpy.random.default_rng(20).integers(0, CLASSES, (2, BATCH))
    device_labels = torch.from_numpy(labels).cuda()
    counts = numpy.zeros((CLASSES, CLASSES))
    device_counts = torch.zeros(CLASSES * CLASSES, device="cuda")
    ones = torch.ones(BATCH, device="cuda")
    landing = [torch.zeros(BATCH, CLASSES).pin_memory() for _ in range(2)]
    landed = [torch.cuda.Event() for _ in range(2)]

    def metric(chances, truth):
        """A confusion matrix and the top five, as one writes them in NumPy."""
        chances = chances.numpy()
        for _ in range(5):
            order = numpy.argsort(chances, axis=1)
            for row, label in zip(order, truth):
                counts[label, row[-1]] += 1.0
                counts[label, label] += 1e-3 * float(label in row[-5:])

    def predict(number):
        with torch.inference_mode():
            return torch.softmax(model(images[number % 2]).float(), dim=1)

    def loop(steps):
        for number in range(steps):
            chances = predict(number)
            at = number % 2
            if variant == "fix2":
                with torch.inference_mode():
                    top = chances.topk(5, dim=1).indices
                    device_counts.scatter_add_(0, device_labels[at] * CLASSES + top[:, 0], ones)
            elif variant == "fix":
                landing[at].copy_(chances, non_blocking=True)
                landed[at].record()
                if number:
                    landed[1 - at].synchronize()
                    metric(landing[1 - at], labels[1 - at])
            elif variant == "useless":
                landing[at].copy_(chances, non_blocking=True)
                landed[at].record()
                landed[at].synchronize()
                metric(landing[at], labels[at])
            else:
                metric(chances.cpu(), labels[at])  # cause: wait,copy
        if variant == "fix":
            landed[at].synchronize()
            metric(landing[at], labels[at])

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: counts.reshape(-1).tolist())


run.main(make)
