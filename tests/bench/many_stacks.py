# SPDX-License-Identifier: Apache-2.0
"""Calls of the simulated driver from as many stacks as there are numbers: usage: many_stacks.py COUNT"""
import ctypes
import sys

cuda = ctypes.CDLL('libcuda.so.1')
DEPTH = 16


def left(path, depth):
    if depth:
        (left if path & 1 else right)(path >> 1, depth - 1)
    else:
        cuda.cuCtxSynchronize()


def right(path, depth):
    if depth:
        (left if path & 1 else right)(path >> 1, depth - 1)
    else:
        cuda.cuCtxSynchronize()


context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
for number in range(int(sys.argv[1])):
    left(number, DEPTH)
