# SPDX-License-Identifier: Apache-2.0
"""Launches from places of all kinds, and how often each line gave which kernel: a line of JSON.

usage: launches.py ROUNDS    of the simulated driver, by ctypes
"""
import collections
import ctypes
import functools
import json
import os
import sys
import threading

cuda = ctypes.CDLL('libcuda.so.1')
KERNELS = {'quick': ctypes.c_void_p(), 'slow': ctypes.c_void_p()}
ONE = ctypes.c_uint(1)
NAME = 'co_qualname' if sys.version_info >= (3, 11) else 'co_name'
given = collections.Counter()
lock = threading.Lock()


def start():
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), b'simcuda 1\nkernel quick fixed:3000\nkernel slow fixed:60000\n') == 0
    for name, function in KERNELS.items():
        assert cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
    if 'SITES_READY' in os.environ: # until the collector has found Python (programs/sites_ready.h)
        ctypes.CDLL(os.environ['SITES_READY']).wait_until_ready()
    return context


def count(kernel):
    """The launch on the caller's line."""
    stack, frame = [], sys._getframe(1)
    while frame:
        stack.append((getattr(frame.f_code, NAME), frame.f_lineno))
        frame = frame.f_back
    with lock:
        given[kernel, tuple(stack)] += 1


def nested():
    def inner():
        cuda.cuLaunchKernel(KERNELS['quick'], ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None); count('quick')
    for _ in range(3):
        inner()


def generator():
    for _ in range(2):
        cuda.cuLaunchKernel(KERNELS['slow'], ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None); count('slow')
        yield


def decorated(f):
    @functools.wraps(f)
    def wrapper():
        cuda.cuLaunchKernel(KERNELS['quick'], ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None); count('quick')
        f()
    return wrapper


@decorated
def step():
    [cuda.cuLaunchKernel(KERNELS['slow'], ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None) or count('slow') for _ in range(1)]


def rounds(n):
    for _ in range(n):
        nested()
        list(generator())
        step()
        cuda.cuCtxSynchronize()


def main():
    context = start()
    n = int(sys.argv[1])
    rounds(n)

    def other():
        assert cuda.cuCtxSetCurrent(context) == 0
        rounds(n)
    t = threading.Thread(target=other)
    t.start()
    t.join()
    print(json.dumps({'pid': os.getpid(), 'given': [[kernel, stack, n] for (kernel, stack), n in given.items()]}))


if __name__ == '__main__':
    main()
