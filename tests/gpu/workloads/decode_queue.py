# SPDX-License-Identifier: Apache-2.0
"""torchvision: a thread decodes and crops images into a queue of two batches, from which the training loop takes them.

Wrong: one thread decodes slower than the GPU trains.
fix: six threads decode, each with a queue of its own (host-bound).
useless: the decoded batch is pinned, and copied with non_blocking=True.
"""
import queue
import threading
import zlib

import fixable

THREADS = 6

run = fixable.Program(__doc__, steps=60, warm_up=4, settle={"base": 8, "fix": 8 * THREADS, "useless": 8})
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

IMAGES, BATCH, SIZE, CROP = 32, 48, 256, 192


def files():
    """Pictures as they lie on a disk: smooth, with some noise, and packed."""
    random = numpy.random.default_rng(20)
    rows, columns = numpy.mgrid[0:SIZE, 0:SIZE] / SIZE
    packed = []
    for _ in range(IMAGES):
        waves = random.random((3, 2)) * 12.0
        picture = [numpy.sin(a * rows + b * columns) for a, b in waves]
        picture = 120.0 + 90.0 * numpy.stack(picture, axis=2) + random.normal(0.0, 6.0, (SIZE, SIZE, 3))
        packed.append(zlib.compress(picture.clip(0, 255).astype(numpy.uint8).tobytes(), 3))
    return packed


FILES = files()
MEAN, DEVIATION = numpy.float32([0.485, 0.456, 0.406]), numpy.float32([0.229, 0.224, 0.225])


def decode(number):
    picture = numpy.frombuffer(zlib.decompress(FILES[number % IMAGES]), numpy.uint8).reshape(SIZE, SIZE, 3)
    top, left = number * 7 % (SIZE - CROP), number * 13 % (SIZE - CROP)
    picture = picture[top:top + CROP, left:left + CROP]
    if number % 2:
        picture = picture[:, ::-1]
    return ((picture.astype(numpy.float32) / 255.0 - MEAN) / DEVIATION).transpose(2, 0, 1)


def batch_of(number):
    pictures = [decode(number * BATCH + i) for i in range(BATCH)]
    labels = [(number * BATCH + i) % IMAGES % 10 for i in range(BATCH)]
    return torch.from_numpy(numpy.stack(pictures)), torch.tensor(labels)


def make(variant):
    fixable.seed(torch)
    threads = THREADS if variant == "fix" else 1
    pinned = variant == "useless"
    queues = [queue.Queue(maxsize=2) for _ in range(threads)]
    model = torchvision.models.resnet18(num_classes=10).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    turn, seen = [0], []

    def produce(mine):
        number = mine
        while True:
            x, y = batch_of(number)
            queues[mine].put((x.pin_memory(), y.pin_memory()) if pinned else (x, y))
            number += threads

    for mine in range(threads):
        threading.Thread(target=produce, args=(mine,), daemon=True).start()

    def step():
        x, y = queues[turn[0] % threads].get()  # cause: loader
        turn[0] += 1
        x, y = x.to("cuda", non_blocking=pinned), y.to("cuda", non_blocking=pinned)  # cause: delayed
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
