#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What call sites cost: a stack of Python's by depth, in each CPython that is found (TEST_PYTHONS: more of them, between
colons), and how long 100,000 stacks take to be told.

usage: sites.py [--quick] [--stacks] BUILD    --stacks: what a stack costs, alone
"""
import glob
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACKS = 50000 # of each of two processes


def interpreters():
    paths = os.environ.get('TEST_PYTHONS', '').split(':') + sorted(
        glob.glob('/usr/bin/python3.[0-9]*[0-9]') + glob.glob(os.path.expanduser('~/.pyenv/versions/3.*/bin/python3')) +
        glob.glob(str(ROOT / 'build/deps/pythons/3.*/usr/bin/python3.*')))
    return [p for p in paths if p]


def costs(build, quick):
    for python in interpreters()[:1 if quick else None]:
        p = subprocess.run([python, '-B', ROOT / 'tests/e2e/python/frames.py', build / 'tests/e2e/libframe_reader.so', 'cost',
                            'quick' if quick else 'all'],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        print(python, p.stdout if p.returncode == 0 else 'is not read', sep='\n', flush=True)


def symbols(build, quick, name, command, options=()):
    """Two processes, as their recordings have 65,536 stacks at most."""
    stacks = 500 if quick else STACKS
    folder = pathlib.Path(tempfile.mkdtemp(prefix='cudaspy-bench-'))
    env = {**os.environ, 'LD_LIBRARY_PATH': str(build / 'sim'), 'LD_PRELOAD': str(build / 'libcudaspy.so'), 'CUDASPY_OUT': f'{folder}/',
           'CUDASPY_RUN_ID': 'bench', 'CUDASPY_SITES': 'all', 'CUDASPY_GPU': 'off', 'CUDASPY_QUIET': '1', 'SIM_COST': '0'}
    try:
        for _ in range(2):
            subprocess.run([*command, str(stacks)], env=env, check=True)
        best = None
        for _ in range(1 if quick else 3):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([build / 'cudaspy', 'report', *options, folder], stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = time.monotonic() - start, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            best = min(best, took) if best else took
        print(f'report of {2 * stacks:,} stacks, {name}: {best[0]:.2f} s, {best[1]:.2f} s of CPU time')
    finally:
        shutil.rmtree(folder)


def main():
    quick = '--quick' in sys.argv
    build = pathlib.Path(sys.argv[-1]).resolve()
    costs(build, quick)
    if '--stacks' in sys.argv:
        return
    symbols(build, quick, '17 frames of Python', [sys.executable, '-B', ROOT / 'tests/bench/many_stacks.py'])
    symbols(build, quick, '18 native frames', [build / 'bench/many_stacks'])
    symbols(build, quick, 'of 15 native frames in ten libraries, with those inlined 67', [build / 'bench/many_libraries'])


if __name__ == '__main__':
    main()
