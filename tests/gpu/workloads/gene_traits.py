# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which places of the genome have to do with 32 traits of 16384 people is looked for (genome-wide association study);
what each person has at a place is 0, 1 or 2, and places come in blocks of 4096, as they were read from the files.

Wrong: the blocks lie in pageable memory, a byte for each number; their way to the GPU takes longer than the test of all traits.
fix: the blocks lie in pinned memory and are copied with non_blocking=True (copy-bound).
fix2: four numbers are in a byte, as in the files, and the GPU takes them apart; they lie in pageable memory (copy-bound).
useless: the test of a block is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=360, warm_up=12)
torch = fixable.load_torch()

PLACES, PEOPLE, TRAITS, BLOCKS, EFFECTS, STRONG, FEW = 4096, 16384, 32, 6, 40, 4.0, 1e-3


@torch.no_grad()
def study():
    """Blocks of (PLACES, PEOPLE) on the host, and the traits of the people, which some places change a bit."""
    traits, blocks = torch.randn(PEOPLE, TRAITS, device="cuda"), []
    for _ in range(BLOCKS):
        often = 0.05 + 0.45 * torch.rand(PLACES, 1, device="cuda")
        block = sum((torch.rand(PLACES, PEOPLE, device="cuda") < often).to(torch.uint8) for _ in range(2))
        which = torch.randint(0, PLACES, (EFFECTS,), device="cuda")
        traits += block[which].float().t() @ (0.05 * torch.randn(EFFECTS, TRAITS, device="cuda"))
        blocks.append(block.cpu())
    return blocks, (traits - traits.mean(dim=0)) / traits.std(dim=0)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    blocks, traits = study()
    traits = traits.half()
    shifts = torch.tensor([0, 2, 4, 6], dtype=torch.uint8, device="cuda")
    if variant == "fix":
        blocks = [block.pin_memory() for block in blocks]
    elif variant == "fix2":
        fours = [block.view(PLACES, PEOPLE // 4, 4).unbind(2) for block in blocks]
        blocks = [a | (b << 2) | (c << 4) | (d << 6) for a, b, c, d in fours]
    turn, strongest, found = [0], [0.0] * TRAITS, [0.0]

    def tested(block):
        """How much each trait has to do with the places: the strongest one for each trait, and how many are strong."""
        if variant == "fix2":
            block = ((block.unsqueeze(2) >> shifts) & 3).view(PLACES, PEOPLE)
        numbers = block.half()
        mean = numbers.mean(dim=1, dtype=torch.float32)
        square = numbers.square().mean(dim=1, dtype=torch.float32)
        together = (numbers @ traits).float()
        deviation = ((square - mean.square()).clamp(min=FEW) * PEOPLE).sqrt()
        score = ((together - mean[:, None] * traits.sum(dim=0, dtype=torch.float32)) / deviation[:, None]).abs()
        return torch.cat((score.amax(dim=0), (score > STRONG).sum().float().view(1)))

    if variant == "useless":
        place = blocks[0].cuda()
        graph, given = fixable.capture(torch, lambda: tested(place))

    def test(block):
        if variant == "fix":
            return tested(block.to("cuda", non_blocking=True))
        if variant == "useless":
            place.copy_(block)
            graph.replay()
            return given
        return tested(block.to("cuda"))  # cause: copy

    @torch.no_grad()
    def step():
        told = test(blocks[turn[0] % BLOCKS]).tolist()  # cause: copy
        turn[0] += 1
        strongest[:] = [old + 0.05 * (new - old) for old, new in zip(strongest, told)]
        found[0] += 0.05 * (told[-1] - found[0])

    return fixable.Work(step, torch.cuda.synchronize, lambda: strongest + found)


run.main(make)
