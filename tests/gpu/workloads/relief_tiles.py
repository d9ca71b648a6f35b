# SPDX-License-Identifier: Apache-2.0
"""PyTorch: from a model of the ground's heights a map of its relief is drawn: how much of the sky can be seen from each point
(sky view factor), tile by tile. Tiles are stored as differences from point to point, which are packed by zlib.

Wrong: the main thread unpacks a tile and adds up its differences, and only then the GPU looks at the sky, and is waited for.
fix: six threads unpack the next tiles; zlib and NumPy leave Python's lock to the others meanwhile (host-bound).
fix2: the GPU adds up the differences (host-bound).
fix3: a tile's map is taken when the next tile has been launched (sync-bound).
useless: heights and maps are copied from and to pinned memory.
"""
import concurrent.futures
import math
import zlib

import fixable

run = fixable.Program(__doc__, steps=240, warm_up=12)
torch, numpy = fixable.load_torch("numpy")
F = torch.nn.functional

SIZE, TILES, WAYS, FAR, STRIDE, CELL, THREADS, AHEAD = 1024, 12, 8, 8, 3, 30.0, 6, 8


def ground(random, number):
    """Heights in decimetres, of mountains with valleys and some roughness."""
    y, x = numpy.arange(SIZE)[:, None] / SIZE, numpy.arange(SIZE)[None] / SIZE
    height = sum(numpy.sin(k * (3.0 * x + number) + k) * numpy.cos(k * 2.0 * y - number) / k for k in range(1, 12))
    return (6000.0 + 2500.0 * height + 6.0 * random.standard_normal((SIZE, SIZE))).astype(numpy.int16)


def packed(tile):
    return zlib.compress(numpy.diff(tile, axis=1, prepend=numpy.zeros((SIZE, 1), numpy.int16)).tobytes(), 6)


def differences(stored):
    return numpy.frombuffer(zlib.decompress(stored), dtype=numpy.int16).reshape(SIZE, SIZE).copy()


def unpacked(stored):
    return numpy.cumsum(differences(stored), axis=1, dtype=numpy.int16)


def sky(heights):
    """From each point, how much of the sky is above the horizon, as a byte."""
    heights = F.pad(heights.float()[None] * 0.1, (FAR * STRIDE,) * 4, mode="replicate")[0]
    middle, seen, reach = heights[FAR * STRIDE:-FAR * STRIDE, FAR * STRIDE:-FAR * STRIDE], 0.0, FAR * STRIDE
    for way in range(WAYS):
        angle, steepest = 2.0 * math.pi * way / WAYS, torch.zeros_like(middle)
        for k in range(1, FAR + 1):
            down, right = round(k * STRIDE * math.sin(angle)), round(k * STRIDE * math.cos(angle))
            other = heights[reach + down:reach + down + SIZE, reach + right:reach + right + SIZE]
            steepest = torch.maximum(steepest, (other - middle) / (CELL * math.hypot(down, right)))
        seen = seen + steepest / (1.0 + steepest.square()).sqrt()
    return (255.0 * (1.0 - seen / WAYS)).to(torch.uint8)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    stored = [packed(ground(random, number)) for number in range(TILES)]
    pool = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="unpack") if variant == "fix" else None
    coming = [pool.submit(unpacked, stored[number % TILES]) for number in range(AHEAD)] if pool else []
    into, out = [torch.zeros(SIZE, SIZE, dtype=kind, pin_memory=variant == "useless") for kind in (torch.int16, torch.uint8)]
    turn, mean, before = [0], [0.0], []

    def heights():
        """The next tile, on the GPU."""
        number = turn[0]
        turn[0] += 1
        if variant == "fix":
            coming.append(pool.submit(unpacked, stored[(number + AHEAD) % TILES]))
            return torch.from_numpy(coming.pop(0).result()).cuda()
        if variant == "fix2":
            tile = torch.from_numpy(differences(stored[number % TILES])).cuda()
            return tile.cumsum(dim=1, dtype=torch.int32)
        tile = torch.from_numpy(unpacked(stored[number % TILES]))  # cause: loader
        if variant == "useless":
            return into.copy_(tile).to("cuda", non_blocking=True)
        return tile.cuda()  # cause: delayed

    def drawn(shades):
        """The map comes to the host, where it will be put to the others."""
        if variant == "useless":
            out.copy_(shades, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            shades = out
        else:
            shades = shades.cpu()
        mean[0] += 0.05 * (float(shades[::8, ::8].numpy().mean()) - mean[0])

    @torch.no_grad()
    def step():
        shades = sky(heights())  # cause: delayed
        if variant != "fix3":
            drawn(shades)
            return
        before.append(shades)
        if len(before) == 2:
            drawn(before.pop(0))

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
