# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a radar with eight antennas looks for what moves; its buffers are a library's of one's own, which takes them from the
CUDA runtime by ctypes and shows them to PyTorch by __cuda_array_interface__.

Wrong: each look takes its four buffers by cudaMalloc, and gives them back by cudaFree, which waits for the GPU.
fix: the buffers are taken once (alloc-bound).
useless: what was found is read every 250 looks instead of every 25.
"""
import ctypes
import math

import fixable

run = fixable.Program(__doc__, steps=900, warm_up=12)
torch, numpy = fixable.load_torch("numpy")
F = torch.nn.functional

ANTENNAS, PULSES, SAMPLES, BEAMS, AROUND, SETS = 8, 256, 2048, 32, 9, 3
SHAPES = (((ANTENNAS, PULSES, SAMPLES), "<c8"), ((ANTENNAS, PULSES, SAMPLES), "<c8"), ((BEAMS, PULSES * SAMPLES), "<c8"),
          ((BEAMS, PULSES * SAMPLES), "<f4"))

try:
    cudart = ctypes.CDLL("libcudart.so.%s" % str(torch.version.cuda).split(".")[0])  # the one that PyTorch has loaded
except OSError as e:
    fixable.common.skip("no CUDA runtime for ctypes: %s" % e)


class Buffer:
    """Memory of the device."""

    def __init__(self, shape, kind):
        self.place = ctypes.c_void_p()
        failed = cudart.cudaMalloc(ctypes.byref(self.place), ctypes.c_size_t(math.prod(shape) * int(kind[2:])))  # cause: alloc
        if failed:
            raise MemoryError("cudaMalloc: %d" % failed)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": kind, "data": (self.place.value, False), "strides": None,
                                         "version": 2}

    def tensor(self):
        return torch.as_tensor(self, device="cuda")

    def free(self):
        if cudart.cudaFree(self.place):  # cause: alloc
            raise MemoryError("cudaFree")


def received():
    """What the antennas receive: echoes of some things that are somewhere, move and are seen under some angle, and noise."""
    antenna, pulse, sample = (torch.arange(n, device="cuda", dtype=torch.float32) for n in (ANTENNAS, PULSES, SAMPLES))
    cubes = 0.5 * torch.randn(SETS, ANTENNAS, PULSES, SAMPLES, dtype=torch.complex64, device="cuda")
    for cube in cubes:
        for angle, speed, far in (torch.rand(12, 3) * 6.2832).tolist():
            phase = (angle * antenna).view(-1, 1, 1) + (speed * pulse).view(-1, 1) + far * sample
            cube += 0.05 * torch.polar(torch.ones_like(phase), phase)
    return cubes


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    cubes = received()
    window = torch.outer(torch.hann_window(PULSES, device="cuda"), torch.hann_window(SAMPLES, device="cuda"))
    angles = torch.outer(torch.linspace(-3.1, 3.1, BEAMS, device="cuda"), torch.arange(ANTENNAS, device="cuda").float())
    steer = torch.polar(torch.ones_like(angles), angles)
    kept = [Buffer(*shape) for shape in SHAPES] if variant == "fix" else None
    found, level = torch.zeros(BEAMS, device="cuda"), torch.zeros(BEAMS, device="cuda")
    turn, told, look_every = [0], [], 250 if variant == "useless" else 25

    def look(cube, windowed, spectrum, beams, power):
        torch.mul(cube, window, out=windowed)
        torch.fft.fft2(windowed, norm="ortho", out=spectrum)
        torch.mm(steer, spectrum.view(ANTENNAS, -1), out=beams)
        torch.abs(beams, out=power)
        around = F.avg_pool2d(power.view(1, BEAMS, PULSES, SAMPLES), AROUND, stride=1, padding=AROUND // 2)
        found.mul_(0.9).add_((power > 4.0 * around.view(BEAMS, -1)).float().mean(dim=1), alpha=0.1)
        level.mul_(0.9).add_(around.mean(dim=(0, 2, 3)), alpha=0.1)

    @torch.no_grad()
    def step():
        cube = cubes[turn[0] % SETS]
        turn[0] += 1
        buffers = kept or [Buffer(*shape) for shape in SHAPES]
        look(cube, *(buffer.tensor() for buffer in buffers))
        if not kept:
            for buffer in buffers:
                buffer.free()
        if turn[0] % look_every == 0:
            told[:] = found.tolist()

    return fixable.Work(step, torch.cuda.synchronize, level.tolist)


run.main(make)
