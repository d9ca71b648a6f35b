# SPDX-License-Identifier: Apache-2.0
"""Runs that must end well whatever happens to their recording, and the file systems to try them on."""
import contextlib
import ctypes
import os
import subprocess

import pytest

from conftest import BUILD, SHIM, environment

LAUNCHES = 5000
PROGRAM = BUILD / 'tests/e2e/close_all' # grows the file after its start: eight threads, each with rings
CALLS = 6 + 10 + 8 * (LAUNCHES + 1)


def go(folder, program=PROGRAM, args=(LAUNCHES, '/dev/null'), prepare=None, preload=(SHIM,), cwd=None, **variables):
    """Runs it with the environment's CUDASPY_OUT as given, whatever happens to the recording; the finished process."""
    return subprocess.run([program, *map(str, args)], env=environment(folder, preload, SIM_COST=0, **variables),
                          cwd=cwd or folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=120, preexec_fn=prepare)


def trouble(process):
    """What was said, but for the closing line."""
    return [line for line in process.stderr.splitlines() if 'calls,' not in line]


def without_privilege():
    """Root opens anything: it must not, in tests of permissions."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in range(64):
            libc.prctl(24, capability, 0, 0, 0) # PR_CAPBSET_DROP


@contextlib.contextmanager
def mounted(folder, *args):
    """A file system mounted there for a while; skips where that is not permitted."""
    folder.mkdir(exist_ok=True)
    p = subprocess.run(['mount', *args, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       universal_newlines=True)
    if p.returncode:
        pytest.skip(f'mount is not permitted here: {p.stdout.strip()}')
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', folder], check=True)
