# SPDX-License-Identifier: Apache-2.0
"""PyTorch: hides of leather are looked at for scars, bites and folds before they are cut (PatchCore): a network has made 512
numbers of each of 1024 patches of a picture; how far they are from the nearest of 65536 patches of good leather tells how
strange a patch is, and the strangest one speaks for its picture. Eight pictures are judged at a time.

Wrong: nothing; a step is nine kernels, nearly all of its time goes to one product of large matrices, and the host is far
ahead of the GPU (gpu-bound).
useless: what is noted is not read every 20 steps, but once behind the loop.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch = fixable.load_torch()

PICTURES, PATCHES, NUMBERS, GOOD, SETS, KINDS, TOLD = 8, 1024, 512, 65536, 6, 64, 20


def leather():
    """Numbers of patches: of good leather (GOOD, NUMBERS), and of pictures, (SETS, PICTURES * PATCHES, NUMBERS)."""
    kinds = torch.randn(KINDS, NUMBERS, device="cuda")

    def some(count):
        of = torch.randint(KINDS, (count,), device="cuda")
        return kinds[of] + 0.4 * torch.randn(count, NUMBERS, device="cuda")
    good = some(GOOD)
    pictures = torch.stack([some(PICTURES * PATCHES) for _ in range(SETS)])
    scars = torch.arange(PICTURES, device="cuda") * PATCHES + 100  # one in each picture
    strength = torch.linspace(0.0, 1.5, PICTURES, device="cuda")[:, None]
    pictures[:, scars] += strength * torch.randn(SETS, PICTURES, NUMBERS, device="cuda")
    return good, pictures


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    good, pictures = leather()
    across, lengths = good.t(), good.square().sum(dim=1)
    strange, told, turn = torch.zeros(PICTURES, device="cuda"), [0.0] * PICTURES, [0]

    def judge(patches):
        """How far each picture's strangest patch is from good leather."""
        apart = torch.addmm(lengths, patches, across, alpha=-2.0)
        own = torch.linalg.vector_norm(patches, dim=1)
        nearest = apart.amin(dim=1).addcmul_(own, own)
        return nearest.clamp_min_(0.0).sqrt_().view(PICTURES, PATCHES).amax(dim=1)

    @torch.no_grad()
    def step():
        strange.lerp_(judge(pictures[turn[0] % SETS]), 0.05)
        turn[0] += 1
        if turn[0] % TOLD == 0 and variant != "useless":
            told[:] = strange.tolist()

    return fixable.Work(step, torch.cuda.synchronize, strange.tolist)


run.main(make)
