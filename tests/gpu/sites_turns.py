#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What call sites cost a program: in one process, turns with them and turns without, one after the other.

usage: LD_PRELOAD=build/libcudaspy.so python3 tests/gpu/sites_turns.py [--turns 200] [--steps 100] [mlp|training|waits ...]

Needs PyTorch and a GPU; `waits` alone runs on the simulated CUDA too, by ctypes. A turn without is one in which the shim is
told that no call is long enough (the word `site_from` of its gate, found by its symbol table): what follows of
CUDASPY_SITES=on in a program that is already recorded. Prints medians of both, and the ratio with a 95 % interval by
resampling pairs of turns.
"""
import argparse
import ctypes
import random
import statistics
import struct
import time

SITE_FROM = 32 # bytes into the gate: shim/base/gate.h


def symbol(path, name):
    """The value of a symbol of an ELF file, those that are not exported too."""
    with open(path, 'rb') as file:
        data = file.read()
    sections, size, count = struct.unpack_from('<Q', data, 40)[0], *struct.unpack_from('<HH', data, 58)
    tables = [struct.unpack_from('<IIQQQQIIQQ', data, sections + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in tables:
        if kind != 2: # SHT_SYMTAB
            continue
        names = tables[link][4]
        for at in range(offset, offset + length, entry):
            start, _, _, _, value, _ = struct.unpack_from('<IBBHQQ', data, at)
            if data.startswith(name + b'\0', names + start):
                return value
    raise SystemExit(f'{path} has no symbol table')


def gate():
    """The word in this process' shim."""
    with open('/proc/self/maps', encoding='ascii') as maps:
        line = next(l for l in maps if 'libcudaspy.so' in l)
    base, path = int(line.split('-')[0], 16), line.split()[-1]
    return ctypes.c_uint64.from_address(base + symbol(path, b'spy_gate_page') + SITE_FROM)


def waits(steps):
    """Calls alone: as many sites as there can be."""
    cuda = ctypes.CDLL('libcuda.so.1')
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0

    def step():
        p = ctypes.c_uint64()
        cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(1 << 20))
        cuda.cuCtxSynchronize()
        cuda.cuMemFree_v2(p)

    def turn():
        for _ in range(steps):
            step()
    return turn


def torch_model(layers, width):
    import torch
    return torch, torch.nn.Sequential(*(m for _ in range(layers) for m in (torch.nn.Linear(width, width), torch.nn.ReLU()))).cuda()


def mlp(steps):
    """Launch-bound: batch 1, and a result that is looked at every tenth time."""
    torch, model = torch_model(3, 256)
    x = torch.randn(1, 256, device='cuda')

    def turn():
        with torch.no_grad():
            for i in range(steps):
                y = model(x)
                if i % 10 == 9:
                    y.sum().item()
        torch.cuda.synchronize()
    return turn


def training(steps):
    torch, model = torch_model(4, 1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, target = torch.randn(64, 1024, device='cuda'), torch.randn(64, 1024, device='cuda')

    def turn():
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            loss = torch.nn.functional.mse_loss(model(x), target)
            loss.backward()
            optimizer.step()
            loss.item()
        torch.cuda.synchronize()
    return turn


def measure(name, turn, turns, steps):
    word = gate()
    for _ in range(5):
        turn()
    time.sleep(1.5) # by now the shim knows its clock's rate, and sets the word no more
    on = word.value
    assert on, 'no call sites are taken: CUDASPY_SITES, or another build'
    times = {True: [], False: []}
    for i in range(turns):
        for with_sites in (True, False) if i % 2 else (False, True):
            word.value = on if with_sites else 0
            start = time.perf_counter()
            turn()
            times[with_sites].append((time.perf_counter() - start) / steps * 1e6)
    word.value = on
    ratios = [a / b - 1 for a, b in zip(times[True], times[False])]
    middles = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(1000))
    print(f'{name}: {statistics.median(times[True]):.3f} us a step with, {statistics.median(times[False]):.3f} us without; '
          f'{100 * statistics.median(ratios):+.3f} % ({100 * middles[25]:+.3f} to {100 * middles[975]:+.3f})')


def main():
    options = argparse.ArgumentParser()
    options.add_argument('programs', nargs='*', default=['mlp', 'training'])
    options.add_argument('--turns', type=int, default=200)
    options.add_argument('--steps', type=int, default=100)
    given = options.parse_args()
    for name in given.programs:
        measure(name, globals()[name](given.steps), given.turns, given.steps)


if __name__ == '__main__':
    main()
