# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a printer of paper money looks at each sheet of 32 notes before it is cut. The picture of a sheet, 3072 by 4096 in three
colours, is freed of the lamp's unevenness and split into its soft background and its fine lines; both are compared with the design.
How far the colours are off, how well the lines are engraved, and which share is spoilt is told for each note. A step is a sheet.

Wrong: the memory of each sheet, five arrays of 151 MB and three of 50 MB, is given back to the driver behind it, and taken
anew for the next one.
fix: the memory is kept by PyTorch from sheet to sheet (alloc-bound).
useless: what is told of the notes, which is read once in 25 sheets, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=420, warm_up=10)
torch = fixable.load_torch()

HIGH, WIDE, ROWS, COLUMNS, SHEETS, READ, SPOILT = 3072, 4096, 8, 4, 5, 25, 0.12
average = torch.nn.functional.avg_pool2d


def design():
    """The design of a sheet, from 0 to 1, (3, HIGH, WIDE): coloured grounds with guilloches, the same on each note."""
    down = torch.linspace(0.0, ROWS * 6.2831853, HIGH, device="cuda")[:, None]
    right = torch.linspace(0.0, COLUMNS * 6.2831853, WIDE, device="cuda")
    planes = []
    for colour in range(3):
        ground = 0.5 + 0.2 * torch.sin(down + colour) * torch.cos(right - colour)
        planes.append(ground + 0.15 * torch.sin(40.0 * right + 9.0 * torch.sin(down)) * torch.sin(30.0 * down + colour))
    return torch.stack(planes)


def printed(drawn, lamp):
    """Pictures of sheets as bytes: the ink is not even, and some places are spoilt."""
    for _ in range(SHEETS):
        blots = torch.rand(1, 3, 48, 64, device="cuda")
        spoilt = torch.nn.functional.interpolate((blots > 0.97).float(), size=(HIGH, WIDE), mode="bilinear")[0]
        seen = drawn * (1.0 - 0.4 * spoilt) + 0.02 * torch.randn(3, HIGH, WIDE, device="cuda")
        yield (255.0 * seen * lamp).clamp_(0.0, 255.0).to(torch.uint8)


def make(variant):
    fixable.seed(torch)
    drawn = design()
    lamp = (1.0 - 0.3 * torch.linspace(-1.0, 1.0, WIDE, device="cuda").square()).expand(HIGH, WIDE).contiguous()
    sheets = list(printed(drawn, lamp))
    ground = average(drawn, 5, 1, 2)
    lines = drawn - ground
    usual = torch.zeros(3, ROWS, COLUMNS, device="cuda")
    told = torch.zeros(3, ROWS, COLUMNS, pin_memory=variant == "useless")
    turn = [0]
    torch.cuda.empty_cache()

    def by_note(plane):
        """The mean of each note."""
        return plane.view(ROWS, HIGH // ROWS, COLUMNS, WIDE // COLUMNS).mean(dim=(1, 3))

    def inspect(sheet):
        """What is told of the notes of a sheet."""
        picture = sheet.to(torch.float32)  # cause: alloc
        picture.mul_(1.0 / 255.0).div_(lamp)
        soft = average(picture, 5, 1, 2)  # cause: alloc
        fine = picture - soft  # cause: alloc
        off = soft - ground  # cause: alloc
        worst = off.abs_().amax(dim=0)  # cause: alloc
        engraved = fine * lines  # cause: alloc
        strong = engraved.mean(dim=0)  # cause: alloc
        spoilt = (worst > SPOILT).to(torch.float32)  # cause: alloc
        usual.lerp_(torch.stack((by_note(worst), by_note(strong), by_note(spoilt))), 0.05)  # cause: alloc

    def step():
        inspect(sheets[turn[0] % SHEETS])  # cause: alloc
        if variant != "fix":
            torch.cuda.empty_cache()  # cause: alloc
        turn[0] += 1
        if turn[0] % READ == 0:
            told.copy_(usual)

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.reshape(-1).tolist())


run.main(make)
