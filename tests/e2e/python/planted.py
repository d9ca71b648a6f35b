# SPDX-License-Identifier: Apache-2.0
"""Calls of CUDA in all kinds of places, and what Python says these places are: a line of JSON for each.

usage: planted.py [PART]    of the simulated driver, by ctypes
"""
import ctypes
import functools
import gc
import json
import os
import sys
import threading
import time

cuda = ctypes.CDLL('libcuda.so.1')
NAME = 'co_qualname' if sys.version_info >= (3, 11) else 'co_name'
MEMORY = ctypes.c_uint64()
FUNCTION = ctypes.c_void_p()
SIZE = ctypes.c_size_t
calls = []


def said(api):
    """The call that stands on the caller's line."""
    stack, frame = [], sys._getframe(1)
    while frame and len(stack) < 128:
        stack.append([frame.f_code.co_filename, getattr(frame.f_code, NAME), frame.f_lineno])
        frame = frame.f_back
    calls.append([api, stack])


def start():
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(MEMORY), SIZE(1 << 20)) == 0
    module = ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), b'simcuda 1\nkernel quick fixed:3000\n') == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(FUNCTION), module, b'quick') == 0
    if 'SITES_READY' in os.environ: # until the collector has found Python (programs/sites_ready.h)
        ctypes.CDLL(os.environ['SITES_READY']).wait_until_ready()
    return context


def item():
    cuda.cuCtxSynchronize(); said('cuCtxSynchronize')


def cpu():
    buffer = ctypes.create_string_buffer(4096)
    cuda.cuMemcpyDtoH_v2(buffer, MEMORY, SIZE(4096)); said('cuMemcpyDtoH_v2')


def allocate():
    p = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(p), SIZE(4096)); said('cuMemAlloc_v2')
    cuda.cuMemFree_v2(p); said('cuMemFree_v2')


def launch():
    one = ctypes.c_uint(1)
    cuda.cuLaunchKernel(FUNCTION, one, one, one, one, one, one, 0, None, None, None); said('cuLaunchKernel')


def nested():
    def inner():
        item()
        launch()
        return (lambda: cpu())()
    inner(), inner()


def generator():
    for i in range(3):
        item()
        launch()
        yield i
    yield from (allocate() for _ in range(2))


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        cpu()
        launch()
        return f(*args)
    return wrapper


@decorated
def step(n):
    if n % 2:
        item()
    allocate()


def deep(n):
    if n:
        return deep(n - 1)
    item()
    launch()


class Trainer:
    def __init__(self):
        item()

    def train(self):
        [item() or launch() for _ in range(2)]
        {i: cpu() for i in range(2)}
        for i in range(3):
            step(i)


def executed():
    exec('for i in range(2):\n    item()\n\nallocate()\nlaunch()', {'item': item, 'allocate': allocate, 'launch': launch})
    exec(compile('\n\n\ndef f():\n    cpu()\nf()', '/no/such/文件.py', 'exec'), {'cpu': cpu})


def everything():
    nested()
    list(generator())
    Trainer().train()
    executed()
    sys.setrecursionlimit(2000)
    deep(500), deep(100), deep(20)


def one_after_the_other(context):
    """The same code in threads: one at a time, so that what was said is whose it is."""
    def there():
        assert cuda.cuCtxSetCurrent(context) == 0
        everything()
    for daemon in False, True:
        t = threading.Thread(target=there, daemon=daemon)
        t.start()
        t.join()


def forks():
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    start()
    calls.clear()
    everything()
    print(json.dumps({'pid': os.getpid(), 'calls': calls}), flush=True)
    os._exit(0)


def several():
    """A second interpreter, as far as this version has them."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    item()
    interpreters.destroy(other)


def daemons(context):
    """Left in their calls when the interpreter ends."""
    def forever():
        cuda.cuCtxSetCurrent(context)
        while True:
            cuda.cuCtxSynchronize()
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.1)


def backward(context):
    """Threads that run no Python work for this one, which waits in a range."""
    library = ctypes.CDLL(sys.argv[2])
    for name, inside in (b'pt_autograd_0', b'backward'), (b'pt_autograd_0', b'again'), (b'loader', None):
        library.backward(context, name, inside)


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else 'all'
    if part == 'forks': # CUDA does not work in the child of a process that used it
        assert cuda.cuDriverGetVersion(ctypes.byref(ctypes.c_int())) == 0
        forks()
    context = start()
    if part == 'several':
        several()
    elif part == 'backward':
        item()
        backward(context)
    elif part == 'daemons':
        daemons(context)
    else:
        everything()
        one_after_the_other(context)
        everything()
        gc.collect()
    print(json.dumps({'pid': os.getpid(), 'calls': calls}), flush=True)


if __name__ == '__main__':
    main()
