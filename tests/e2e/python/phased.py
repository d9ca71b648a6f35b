# SPDX-License-Identifier: Apache-2.0
"""Copies and waits a lot at its start, then in a loop makes something on the host, copies that and has the GPU work on it."""
import ctypes
import os
import time

from planted import FUNCTION, MEMORY, SIZE, cuda, start

ONE = ctypes.c_uint(1)
BUFFER = ctypes.create_string_buffer(1 << 20)


def load():
    for _ in range(40):
        for _ in range(8):
            cuda.cuMemcpyHtoDAsync_v2(MEMORY, BUFFER, SIZE(1 << 20), None) # start-up
        for _ in range(300):
            launch()
        cuda.cuStreamSynchronize(None) # long wait
        time.sleep(0.002)


def launch():
    cuda.cuLaunchKernel(FUNCTION, ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None)


def make():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass


def step():
    make()
    cuda.cuMemcpyHtoDAsync_v2(MEMORY, BUFFER, SIZE(1 << 17), None) # loop
    for _ in range(6):
        launch()
    cuda.cuStreamSynchronize(None) # wait


start()
load()
for _ in range(400):
    step()
print(os.getpid())
