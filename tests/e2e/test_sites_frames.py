# SPDX-License-Identifier: Apache-2.0
"""Call sites: the reader of Python's frames alone, without the shim: it has what Python says, and never does harm."""
import os
import subprocess

import pytest

from call_sites import HERE, READER, python
from conftest import BUILD, ROOT, make


def read_frames(python, tmp_path, *args, reader=READER, **variables):
    """tests/e2e/python/frames.py, without the shim."""
    env = {**{k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}, **{k: str(v) for k, v in variables.items()}}
    p = subprocess.run([python, '-B', HERE / 'frames.py', reader, *map(str, args)], env=env, cwd=tmp_path,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                       timeout=900)
    assert p.returncode == 0 and 'runtime error' not in p.stdout, p.stdout[-4000:]
    return p.stdout


def test_frames_are_those_of_python(python, tmp_path):
    """In generators, coroutines, decorators, comprehensions, threads, exec'd and reloaded code, under a tracer, 500 deep: file,
    name and line of every frame, read by plain loads and by the kernel's copy."""
    out = read_frames(python, tmp_path, 'places', tmp_path)
    assert int(out.split('frames')[-1]) > 2000


def test_greenlets(python, tmp_path):
    """Where there is greenlet for this one: Debian's package, or build/deps/greenlet/3.14 (pip install --target, --python-version
    3.14 --only-binary=:all:)."""
    version = subprocess.run([python, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], stdout=subprocess.PIPE,
                             universal_newlines=True).stdout.strip()
    path = {'PYTHONPATH': ROOT / 'build/deps/greenlet' / version}
    if subprocess.run([python, '-c', 'import greenlet'], env={**os.environ, **path}, stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f'greenlet is not there for CPython {version}')
    assert 'greenlets' in read_frames(python, tmp_path, 'greenlets', **path).split()


def test_lines_of_every_instruction(python, tmp_path):
    out = read_frames(python, tmp_path, 'lines')
    assert int(out.split('lines')[1].split()[0]) > 20000


def test_many_stacks_while_everything_moves(python, tmp_path):
    """Other threads make garbage, collect it, reload modules, and look at this one's frames."""
    assert 'stacks 40000' in read_frames(python, tmp_path, 'stress', 40000, tmp_path)


@pytest.mark.slow
def test_a_million_stacks(python, tmp_path):
    assert 'stacks 1000000' in read_frames(python, tmp_path, 'stress', 1000000, tmp_path)


def test_daemons_of_an_interpreter_that_ends(python, tmp_path):
    for _ in range(5):
        read_frames(python, tmp_path, 'ending')


@pytest.mark.slow
def test_sanitized(python, tmp_path):
    """With each object of Python in memory of its own; a stack takes ten times as long."""
    target = BUILD / 'tests/e2e/libframe_reader_asan.so'
    p = make(target)
    library = subprocess.run([os.environ.get('CC', 'cc'), '-print-file-name=libasan.so'], stdout=subprocess.PIPE,
                             universal_newlines=True).stdout.strip()
    if p.returncode or not os.path.isabs(library):
        pytest.skip('the compiler has no sanitizers here')
    variables = {'LD_PRELOAD': library, 'ASAN_OPTIONS': 'detect_leaks=0', 'PYTHONMALLOC': 'malloc'}
    read_frames(python, tmp_path, 'places', tmp_path, reader=target, **variables)
    assert 'stacks 200000' in read_frames(python, tmp_path, 'stress', 200000, tmp_path, reader=target, **variables)
