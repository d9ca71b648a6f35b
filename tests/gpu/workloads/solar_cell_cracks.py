# SPDX-License-Identifier: Apache-2.0
"""PyTorch and timm: cracks in solar cells are seen where a cell that gives off light (electroluminescence) looks like no patch of
a good cell. For that, a bank of patches is filled: a ResNet-18 sees 64 pictures of good cells at once, and what its second and
third stages say of 28 by 28 places each is put together and goes to the host, which has room for the bank.

Wrong: the patches, 77 MB, come by .cpu() to new pageable memory, and the GPU has nothing to do until they are there.
fix: they come to a bank in pinned memory, and the host does not wait (copy-bound).
fix2: they come to pageable memory on another stream, while the next pictures are seen (copy-bound).
fix3: the network is one CUDA graph; the patches come by .cpu() (launch-bound).
useless: the patches go to an array on the device that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=10)
torch, timm, functional = fixable.load_torch("timm", "torch.nn.functional")

CELLS, SIZE, PLACES, CHANNELS, SETS = 64, 224, 28, 128 + 256, 8


def pictures():
    """Gray pictures of cells, with their grains and wires, (SETS, CELLS, 1, SIZE, SIZE)."""
    grains = torch.rand(SETS * CELLS, 1, 20, 20, device="cuda")
    light = functional.interpolate(grains, size=(SIZE, SIZE), mode="bilinear", align_corners=False)
    light = 90.0 + 110.0 * light
    light[:, :, :, 70:74] = 20.0
    light[:, :, :, 150:154] = 20.0
    light += 6.0 * torch.randn(light.shape, device="cuda")
    return light.clamp_(0.0, 255.0).byte().view(SETS, CELLS, 1, SIZE, SIZE)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = timm.create_model("resnet18", pretrained=False, features_only=True, out_indices=(2, 3), in_chans=1).cuda().eval()
    cells = pictures()
    seen = cells[0].clone()
    kept_out = torch.empty(CELLS, CHANNELS, PLACES, PLACES, device="cuda") if variant == "useless" else None
    centre = torch.zeros(CHANNELS, device="cuda")
    side = torch.cuda.Stream() if variant == "fix2" else None
    turn, pending = [0], []
    if variant == "fix":
        bank = [torch.empty(CELLS, CHANNELS, PLACES, PLACES, pin_memory=True) for _ in range(SETS)]
    else:
        bank = [None] * SETS

    def look():
        """What the network says of each place of the pictures, (CELLS, CHANNELS, PLACES, PLACES)."""
        light = (seen.float() / 255.0 - 0.5) / 0.25
        second, third = model(light)
        second = functional.avg_pool2d(second, 3, stride=1, padding=1)
        third = functional.avg_pool2d(third, 3, stride=1, padding=1)
        third = functional.interpolate(third, size=(PLACES, PLACES), mode="bilinear", align_corners=False)
        patches = torch.cat((second, third), dim=1, out=kept_out) if variant == "useless" else torch.cat((second, third), dim=1)
        centre.lerp_(patches.mean(dim=(0, 2, 3)), 0.05)
        return patches

    if variant == "fix3":
        graph, found = fixable.capture(torch, look)
        centre.zero_()

    def behind(patches, ready, number):
        """Patches of the pictures before come on the other stream."""
        with torch.cuda.stream(side):
            side.wait_event(ready)
            bank[number] = patches.cpu()

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        seen.copy_(cells[number])
        if variant == "fix3":
            graph.replay()
            bank[number] = found.cpu()
        elif variant == "fix2":
            patches = look()
            ready = torch.cuda.Event()
            ready.record()
            pending.append((patches, ready, number))
            if len(pending) > 1:
                behind(*pending.pop(0))
        elif variant == "fix":
            bank[number].copy_(look(), non_blocking=True)
        else:
            bank[number] = look().cpu()  # cause: wait,copy

    def wait():
        while pending:
            behind(*pending.pop(0))
        torch.cuda.synchronize()

    def values():
        """The mean of each set of patches, and of the bank's centre."""
        return [float(patches.mean(dtype=torch.float64)) for patches in bank if patches is not None] + [float(centre.mean())]

    return fixable.Work(step, wait, values)


run.main(make)
