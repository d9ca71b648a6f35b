# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: frames of basketball games are to be told apart, pixel by pixel: court, lines, basket, ball, either team,
referees, and the crowd behind. A fully convolutional ResNet-50 learns it from 32 frames of 256 by 256 a step, in bfloat16 and
channels last; frames and masks are on the GPU as bytes.

Wrong: nothing; the GPU is busy with convolutions all the time, and waits that it makes are for work that is long under way
(gpu-bound).
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

    def learn(pictures, wanted):
        """A step of learning; gives the loss."""
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = model(pictures)["out"]
        loss = nn.functional.cross_entropy(told.float(), wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def step():
        start = turn[0] * BATCH % FRAMES
        pictures = frames[start:start + BATCH].float().div_(127.5).sub_(1.0).contiguous(memory_format=torch.channels_last)
        loss = learn(pictures, kinds[start:start + BATCH].long())
        usual.lerp_(loss, 0.05)
        turn[0] += 1
        if variant != "useless":
            curve.append(loss.item())
        elif turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the weights of the last layer have become."""
        return [usual.item(), float(model.classifier[4].weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
