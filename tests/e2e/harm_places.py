# SPDX-License-Identifier: Apache-2.0
"""Folders in which the tries of test_harm.py run: file systems small enough to be used up."""
import contextlib
import os
import pathlib

import pytest

from storage_runs import mounted

MEMORY_MIB = 64 # of a container's /dev/shm, unless told otherwise
CGROUP_MIB = 96


def layered(folder, base):
    """A layered file system at folder/over, its layers in `base`."""
    for name in 'lower', 'upper', 'work':
        (base / name).mkdir()
    layers = ','.join(f'{name}dir={base / name}' for name in ('lower', 'upper', 'work'))
    return mounted(folder / 'over', '-t', 'overlay', '-o', layers, 'none')


@contextlib.contextmanager
def overlay_and_small_memory(folder, number):
    """As in a container: recordings go to a layered file system, their live data to a small one in memory."""
    with contextlib.ExitStack() as stack:
        base = stack.enter_context(mounted(folder / 'base', '-t', 'tmpfs', '-o', 'size=512m', 'none'))
        over = stack.enter_context(layered(folder, base))
        live = stack.enter_context(mounted(folder / 'live', '-t', 'tmpfs', '-o', f'size={MEMORY_MIB}m', 'none'))
        yield {'CUDASPY_OUT': f'{over}/', 'XDG_RUNTIME_DIR': live}


def live_leftovers(t):
    return list(pathlib.Path(t.variables['XDG_RUNTIME_DIR']).iterdir())


@contextlib.contextmanager
def in_a_small_cgroup(folder, number):
    """As in a container with as little memory, but all of the machine's in /dev/shm. The program enters it by `cgroup`.
    What is written to its layers stays in memory as well, and counts there."""
    mounts = pathlib.Path('/sys/fs/cgroup/memory'), pathlib.Path('/sys/fs/cgroup')
    top = next((m for m in mounts if (m / 'cgroup.procs').exists()), None)
    try:
        cgroup = top / f'cudaspy-test-{os.getpid()}-{folder.parent.name}-{folder.name}'
        cgroup.mkdir()
    except (OSError, TypeError):
        pytest.skip('no cgroup can be made here')
    try:
        try:
            (cgroup / ('memory.max' if top == mounts[1] else 'memory.limit_in_bytes')).write_text(str(CGROUP_MIB << 20))
        except OSError:
            pytest.skip('no memory cgroup can be made here')
        with contextlib.ExitStack() as stack:
            stack.enter_context(mounted(folder / 'live', '-t', 'tmpfs', '-o', 'size=512m', 'none'))
            base = stack.enter_context(mounted(folder / 'layers', '-t', 'tmpfs', '-o', 'size=512m', 'none'))
            stack.enter_context(layered(folder, base))
            (folder / 'cgroup').symlink_to(cgroup)
            yield {'CUDASPY_OUT': f'{folder}/over/', 'XDG_RUNTIME_DIR': folder / 'live'}
    finally:
        cgroup.rmdir()


@contextlib.contextmanager
def small_output(folder, number):
    """From too small for anything to enough for most of it."""
    kib = 64 + number % 20 * 128
    with mounted(folder / 'small', '-t', 'tmpfs', '-o', f'size={kib}k', 'none') as small:
        yield {'CUDASPY_OUT': f'{small}/'}
