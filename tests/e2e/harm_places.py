# SPDX-License-Identifier: Apache-2.0
"""Folders in which the tries of test_harm.py run: file systems small enough to be used up."""
import contextlib
import pathlib

from storage_runs import mounted

MEMORY_MIB = 64 # of a container's /dev/shm, unless told otherwise


@contextlib.contextmanager
def overlay_and_small_memory(folder, number):
    """As in a container: recordings go to a layered file system, their live data to a small one in memory."""
    with contextlib.ExitStack() as stack:
        base = stack.enter_context(mounted(folder / 'base', '-t', 'tmpfs', '-o', 'size=512m', 'none'))
        for name in 'lower', 'upper', 'work':
            (base / name).mkdir()
        layers = ','.join(f'{name}dir={base / name}' for name in ('lower', 'upper', 'work'))
        over = stack.enter_context(mounted(folder / 'over', '-t', 'overlay', '-o', layers, 'none'))
        live = stack.enter_context(mounted(folder / 'live', '-t', 'tmpfs', '-o', f'size={MEMORY_MIB}m', 'none'))
        yield {'CUDASPY_OUT': f'{over}/', 'XDG_RUNTIME_DIR': live}


def live_leftovers(t):
    return list(pathlib.Path(t.variables['XDG_RUNTIME_DIR']).iterdir())


@contextlib.contextmanager
def small_output(folder, number):
    """From too small for anything to enough for most of it."""
    kib = 64 + number % 20 * 128
    with mounted(folder / 'small', '-t', 'tmpfs', '-o', f'size={kib}k', 'none') as small:
        yield {'CUDASPY_OUT': f'{small}/'}
