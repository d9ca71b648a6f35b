# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a mill looks at its paper by a line camera, 16384 pixels wide, as it runs by: pieces of 2048 lines are looked
through for holes, dark specks and streaks along the web. The camera's driver leaves the pieces in a ring of memory of its own.

Wrong: the ring is not pinned, and so each piece is registered (cudaHostRegister) for its copy, and let go behind it; the driver
takes much longer for that than for the copy.
fix: the whole ring is registered once, when the program begins (alloc-bound).
fix2: pieces are copied as they are, from pageable memory (alloc-bound).
useless: what was found comes to pinned memory.
"""
import mmap

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, numpy = fixable.load_torch("numpy")
F = torch.nn.functional

LINES, PIXELS, RING, CELL, AROUND, KEEP = 2048, 16384, 6, 8, 15, 0.05
BYTES = LINES * PIXELS
ROWS, COLUMNS = LINES // CELL, PIXELS // CELL
DARK, HOLE, STREAK = 0.72, 1.35, 0.03  # of the light around

cudart = torch.cuda.cudart()


def checked(code):
    if int(code):
        raise MemoryError("the CUDA runtime says %d" % int(code))


def camera():
    """The ring, as the driver fills it: one piece behind the other, each a tensor of (LINES, PIXELS)."""
    random = numpy.random.default_rng(20)
    memory = mmap.mmap(-1, RING * BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    ring = numpy.frombuffer(memory, dtype=numpy.uint8).reshape(RING, LINES, PIXELS)
    lamp = 150.0 - 40.0 * numpy.linspace(-1.0, 1.0, PIXELS, dtype=numpy.float32) ** 2
    for piece in ring:
        piece[:] = random.integers(0, 16, (LINES, PIXELS), dtype=numpy.uint8)
        piece += lamp.astype(numpy.uint8)
        for left in random.integers(0, PIXELS - 8, 3):
            piece[:, left:left + 8] -= 9
        for light, often in ((60, 40), (250, 12)):
            for top, left in random.integers(0, (LINES - 12, PIXELS - 12), (often, 2)):
                piece[top:top + 12, left:left + 12] = light
    return torch.from_numpy(ring), torch.from_numpy(lamp)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    ring, lamp = camera()
    gain = (1.0 / lamp).cuda().half()
    place = torch.empty(LINES, PIXELS, dtype=torch.uint8, device="cuda")
    told = torch.zeros(3, pin_memory=True) if variant == "useless" else None
    usual_web = torch.ones(COLUMNS, device="cuda")
    turn, usual, stream = [0], [0.0, 0.0, 0.0], torch.cuda.current_stream()
    if variant == "fix":
        checked(cudart.cudaHostRegister(ring.data_ptr(), RING * BYTES, 0))

    def bring(piece):
        """The piece in the GPU's memory; the camera may have its place in the ring again."""
        if variant in ("fix", "fix2"):
            place.copy_(piece, non_blocking=True)
            return
        checked(cudart.cudaHostRegister(piece.data_ptr(), BYTES, 0))  # cause: alloc
        place.copy_(piece, non_blocking=True)
        stream.synchronize()
        checked(cudart.cudaHostUnregister(piece.data_ptr()))  # cause: alloc

    def look():
        """How many cells have a hole and how many a speck, and the share of the web that has streaks."""
        light = (place.half() * gain)[None, None]
        darkest, brightest = -F.max_pool2d(-light, CELL), F.max_pool2d(light, CELL)
        mean = F.avg_pool2d(light, CELL).float()
        around = F.avg_pool2d(mean, AROUND, stride=1, padding=AROUND // 2, count_include_pad=False)
        specks, holes = (darkest < DARK * around).sum(), (brightest > HOLE * around).sum()
        usual_web.lerp_(mean[0, 0].mean(dim=0), KEEP)
        smooth = F.avg_pool1d(usual_web.view(1, 1, -1), AROUND, stride=1, padding=AROUND // 2, count_include_pad=False)
        streaks = ((usual_web - smooth[0, 0]).abs() > STREAK).float().mean()
        return torch.stack((holes.float(), specks.float(), streaks))

    def read(found):
        if told is None:
            return found.tolist()
        told.copy_(found, non_blocking=True)
        stream.synchronize()
        return told.tolist()

    @torch.no_grad()
    def step():
        bring(ring[turn[0] % RING])  # cause: alloc
        turn[0] += 1
        for number, value in enumerate(read(look())):
            usual[number] += KEEP * (value - usual[number])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
