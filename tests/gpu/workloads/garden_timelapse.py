# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: a garden is filmed by one picture an hour, and as clouds go by, the film flickers. Each frame is made as
bright, and as rich in contrast, as the mean of the frames before it, and it is noted how much has changed from one frame to the
next one, since that is what has grown. Frames are small and grey by torchvision's functions where their light is measured.

Wrong: how bright a frame is, its contrast and how much has changed are read by .item() as soon as they are told, and the GPU has
nothing to do until the host launches more.
fix: these numbers stay on the device, where the light is set by them; nothing is read in the loop (sync-bound).
fix2: what is done before and behind the light is set are two CUDA graphs; the numbers are read as before (launch-bound).
useless: the difference of two frames is in an array that is made once.
"""
import collections

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=8)
torch, vf = fixable.load_torch("torchvision.transforms.v2.functional")

FRAMES, HIGH, WIDE, SMALL, SLOW, LEAST, MOST = 12, 1440, 2560, [180, 320], 0.1, 0.6, 1.6


def film():
    """Frames of bytes, (FRAMES, 3, HIGH, WIDE), on the GPU: a plant that grows on its soil, in changing light."""
    down = torch.linspace(0.0, 1.0, HIGH, device="cuda")[:, None]
    right = torch.linspace(0.0, 1.8, WIDE, device="cuda")
    coarse = 0.2 + 0.4 * torch.rand(1, 3, 45, 80, device="cuda")
    soil = torch.nn.functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
    green = torch.tensor([0.2, 0.8, 0.3], device="cuda").view(3, 1, 1)
    frames = torch.empty(FRAMES, 3, HIGH, WIDE, dtype=torch.uint8, device="cuda")
    for number in range(FRAMES):
        leaf = ((down - 0.5).square() + (right - 0.9).square() < (0.1 + 0.02 * number) ** 2).float()
        seen = soil + leaf * (green - soil)
        light, haze = 0.5 + 0.5 * torch.rand((), device="cuda"), 0.2 * torch.rand((), device="cuda")
        frames[number] = (255.0 * (seen * light + haze)).clamp_(0.0, 255.0).to(torch.uint8)
    return frames


def make(variant):
    fixable.seed(torch)
    frames = film()
    picture = torch.zeros(3, HIGH, WIDE, device="cuda")
    evens = [torch.zeros(3, HIGH, WIDE, device="cuda") for _ in range(2)]  # this frame as it is put right, and the one before
    apart = torch.zeros(3, HIGH, WIDE, device="cuda") if variant == "useless" else None
    gain, shift = torch.ones((), device="cuda"), torch.zeros((), device="cuda")
    mean, usual = [0.4, 0.1], torch.tensor([0.4, 0.1], device="cuda")  # of light and contrast, on the host or the device
    notes, graphs = collections.deque(maxlen=FRAMES), []

    def measure(number):
        """How bright a frame is, and its contrast."""
        picture.copy_(frames[number]).mul_(1.0 / 255.0)
        small = vf.resize(vf.rgb_to_grayscale(picture), SMALL, antialias=True)
        contrast, light = torch.std_mean(small)
        return light, contrast

    def put_right(number):
        """Sets the light of the frame, and tells how much has changed."""
        even, before = evens[number % 2], evens[(number + 1) % 2]
        torch.mul(picture, gain, out=even).add_(shift).clamp_(0.0, 1.0)
        changed = even - before if apart is None else torch.sub(even, before, out=apart)
        return changed.abs_().mean()

    def set_light(light, contrast):
        """What a frame is to be multiplied with, and what is added, from two numbers on the host."""
        mean[0] += SLOW * (light - mean[0])
        mean[1] += SLOW * (contrast - mean[1])
        times = min(max(mean[1] / contrast, LEAST), MOST)
        gain.fill_(times)
        shift.fill_(mean[0] - times * light)

    def set_light_there(light, contrast):
        """The same from two numbers on the device."""
        usual.lerp_(torch.stack((light, contrast)), SLOW)
        torch.div(usual[1], contrast, out=gain).clamp_(LEAST, MOST)
        torch.addcmul(usual[0], gain, light, value=-1.0, out=shift)

    if variant == "fix2":
        for number in range(FRAMES):
            graphs.append((*fixable.capture(torch, lambda: measure(number), warm_up=1),
                           *fixable.capture(torch, lambda: put_right(number), warm_up=1)))
        for even in evens:
            even.zero_()

    def one_frame(number):
        light, contrast = measure(number)
        if variant == "fix":
            set_light_there(light, contrast)
            notes.append(put_right(number))
        else:
            set_light(light.item(), contrast.item())  # cause: wait,copy
            notes.append(put_right(number).item())  # cause: wait,copy

    def replayed(number):
        first, (light, contrast), second, changed = graphs[number]
        first.replay()
        set_light(light.item(), contrast.item())
        second.replay()
        notes.append(changed.item())

    def step():
        for number in range(FRAMES):
            if variant == "fix2":
                replayed(number)
            else:
                one_frame(number)  # cause: wait,copy

    def values():
        """How much has changed at each frame, and the light and contrast of the film."""
        return [float(note) for note in notes] + (usual.tolist() if variant == "fix" else mean)

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
