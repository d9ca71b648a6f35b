# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: frames of basketball games are to be told apart, pixel by pixel: court, lines, basket, ball, either team,
referees, and the crowd behind. A fully convolutional ResNet-50 learns it from 32 frames of 256 by 256 a step, in bfloat16 and
channels last; frames and masks are on the GPU as bytes.

Wrong: nothing, as it was written; the GPU is busy with convolutions all the time, and waits that it makes are for work that is long
under way (gpu-bound).
fix: the step is a CUDA graph; the loss is read as before. Written after the first look, which said launch-bound (launch-bound).
useless: the loss of each step, which is read as soon as it has learnt, is left on the device; it is read every 20 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=100, warm_up=6)
torch, segmentation = fixable.load_torch("torchvision.models.segmentation")
nn = torch.nn

FRAMES, BATCH, SIZE, KINDS, SHOWN = 192, 32, 256, 8, 20


def games():
    """Frames of bytes, (FRAMES, 3, SIZE, SIZE), and what each pixel is, (FRAMES, SIZE, SIZE): patches of each kind's colours."""
    coarse = torch.randn(FRAMES, KINDS, 10, 10, device="cuda")
    kinds = nn.functional.interpolate(coarse, size=(SIZE, SIZE), mode="bilinear", align_corners=False).argmax(1)
    colours = 40.0 + 170.0 * torch.rand(KINDS, 3, device="cuda")
    light = 0.7 + 0.5 * torch.rand(FRAMES, 1, 1, 1, device="cuda")
    frames = colours[kinds] * light + 25.0 * torch.randn(FRAMES, SIZE, SIZE, 3, device="cuda")
    return frames.permute(0, 3, 1, 2).clamp_(0.0, 255.0).to(torch.uint8), kinds.to(torch.uint8)


def make(variant):
    fixable.seed(torch)
    frames, kinds = games()
    model = segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=KINDS)
    model = model.cuda().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    usual, curve, turn = torch.full((), 2.0, device="cuda"), [], [0]

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn(seen, wanted):
        """A step of learning from frames and masks of bytes; gives the loss."""
        pictures = seen.float().div_(127.5).sub_(1.0).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(pictures)["out"]
        loss = nn.functional.cross_entropy(told.float(), wanted.long())
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), 0.05)
        return loss.detach()

    now = [frames[:BATCH].clone(), kinds[:BATCH].clone()]
    if variant == "fix":
        graph, lost = fixable.capture(torch, lambda: learn(*now), before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn(*now)

    def step():
        start = turn[0] * BATCH % FRAMES
        batch = frames[start:start + BATCH], kinds[start:start + BATCH]
        turn[0] += 1
        if variant == "fix":
            for place, own in zip(now, batch):
                place.copy_(own)
            graph.replay()
            loss = lost
        else:
            clear()
            loss = learn(*batch)
        if variant != "useless":
            curve.append(loss.item())
        elif turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the last layer have become."""
        return [usual.item(), float(model.classifier[4].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
