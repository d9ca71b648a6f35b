# SPDX-License-Identifier: Apache-2.0
"""PyTorch, torchvision: a photographer has thousands of photos of a wedding to put right, of six million pixels each. A DataLoader
gives them one by one; torchvision's functions soften the noise, warm the colours, and set contrast and brightness on the GPU; the
finished photo goes to its place in the album, in the host's memory. How light the photos are is noted on the GPU.

Wrong: the photos as they were taken and the album are in pageable memory, so 18 MB go there and 18 MB back at a slow pace.
fix: both are in pinned memory (copy-bound).
fix2: pageable memory, but the next photo comes and the last one goes on another stream, while this one is put right (copy-bound).
useless: the photo on the GPU has a place that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=350, warm_up=12)
torch, vf = fixable.load_torch("torchvision.transforms.v2.functional")
data = torch.utils.data

PHOTOS, HIGH, WIDE, SOFT, SLOW = 12, 2000, 3000, [5, 5], 0.05


def taken():
    """Photos in bytes, (PHOTOS, 3, HIGH, WIDE): guests as spots of colour in a hall, and noise."""
    photos = torch.empty(PHOTOS, 3, HIGH, WIDE, dtype=torch.uint8)
    for number in range(PHOTOS):
        coarse = torch.rand(1, 3, 20, 30, device="cuda")
        seen = torch.nn.functional.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        seen = seen * (0.4 + 0.04 * number) + 0.05 * torch.randn(3, HIGH, WIDE, device="cuda") + 0.2
        photos[number] = (255.0 * seen).clamp_(0.0, 255.0).to(torch.uint8).cpu()
    return photos


def make(variant):
    fixable.seed(torch)
    photos = taken()
    if variant == "fix":
        photos = photos.pin_memory()
    album = torch.zeros(PHOTOS, 3, HIGH, WIDE, dtype=torch.uint8, pin_memory=variant == "fix")
    loader = data.DataLoader(data.TensorDataset(photos, torch.arange(PHOTOS)), batch_size=None)
    warm = torch.tensor([1.05, 1.0, 0.93], device="cuda").view(3, 1, 1)
    place = torch.empty(3, HIGH, WIDE, dtype=torch.uint8, device="cuda")
    light = torch.zeros((), device="cuda")

    def again_and_again():
        while True:
            yield from loader

    photo_after_photo = again_and_again()

    def put_right(photo):
        """The finished photo in bytes."""
        fine = vf.gaussian_blur(vf.to_dtype(photo, torch.float32, scale=True), SOFT, [1.2, 1.2])
        fine = vf.adjust_saturation(fine.mul_(warm).clamp_(0.0, 1.0), 1.15)
        fine = vf.adjust_brightness(vf.adjust_contrast(fine, 1.1), 1.05)
        light.lerp_(fine.mean(), SLOW)
        return vf.to_dtype(fine, torch.uint8, scale=True)

    def step():
        photo, number = next(photo_after_photo)
        if variant == "useless":
            there = place.copy_(photo, non_blocking=True)
        else:
            there = photo.to("cuda", non_blocking=True)  # cause: wait,copy
        album[number].copy_(put_right(there))  # cause: wait,copy

    main, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    ahead, behind = [], []  # the photo that has come, and the one that has still to go, each with its number and an event

    def come():
        photo, number = next(photo_after_photo)
        with torch.cuda.stream(aside):
            ahead.append((photo.to("cuda", non_blocking=True), number, aside.record_event()))

    def go():
        finished, number, ready = behind.pop(0)
        with torch.cuda.stream(aside):
            aside.wait_event(ready)
            album[number].copy_(finished)

    def step_beside():
        if not ahead:
            come()
        photo, number, here = ahead.pop(0)
        main.wait_event(here)
        photo.record_stream(main)
        finished = put_right(photo)
        finished.record_stream(aside)
        behind.append((finished, number, main.record_event()))
        come()
        if len(behind) > 1:
            go()

    def wait():
        while behind:
            go()
        torch.cuda.synchronize()

    def values():
        """How light the photos are, and some pixels of each."""
        wait()
        return [light.item()] + (album[:, :, 700:720, 900:920].float().mean(dim=(2, 3)) / 255.0).flatten().tolist()

    return fixable.Work(step_beside if variant == "fix2" else step, wait, values)


run.main(make)
