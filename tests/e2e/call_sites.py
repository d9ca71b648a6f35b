# SPDX-License-Identifier: Apache-2.0
"""What the tests of call sites share: interpreters, recordings of programs of theirs, and what is asked of these."""
import collections
import functools
import glob
import json
import os
import subprocess

import pytest

from conftest import BUILD, REPORTER, ROOT, environment, report

READER = BUILD / 'tests/e2e/libframe_reader.so'
HERE = ROOT / 'tests/e2e/python'
VERSIONS = '3.9', '3.10', '3.11', '3.12', '3.13', '3.14', '3.15'


@functools.lru_cache(maxsize=None)
def interpreters():
    """{version: path} of those on this machine; a Debian's own beside them, as "debian-3.11".

    TEST_PYTHONS: more of them, between colons. scripts/setup --test puts those that Debian has into build/deps/pythons.
    """
    found = {}
    paths = os.environ.get('TEST_PYTHONS', '').split(':') + sorted(glob.glob('/usr/bin/python3.*[0-9]') + glob.glob('/usr/local/bin/python3.*[0-9]') +
                   glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin/python3')) +
                   glob.glob(str(ROOT / 'build/deps/pythons/3.*/usr/bin/python3.*')))
    for path in filter(None, paths):
        p = subprocess.run([path, '-c', 'import sys, ctypes; print("%d.%d" % sys.version_info[:2])'], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, universal_newlines=True)
        if p.returncode == 0 and not (path.startswith(str(ROOT)) and p.stdout.strip() in found):
            found[('debian-' if path.startswith('/usr/bin') else '') + p.stdout.strip()] = path
    return found


@pytest.fixture(params=[*VERSIONS, *(v for v in interpreters() if v.startswith('debian-'))])
def python(request):
    if request.param not in interpreters():
        pytest.skip(f'CPython {request.param} is not on this machine')
    return interpreters()[request.param]


def run_python(python, tmp_path, program, *args, status=0, timeout=300, **variables):
    env = environment(tmp_path, **variables)
    p = subprocess.run([python, '-B', HERE / program, *map(str, args)], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=timeout)
    assert p.returncode == status, p.stdout + p.stderr
    return p


def stacks_of(sites):
    """{(api, stack of Python): calls}"""
    found = collections.Counter()
    for s in sites:
        stack = tuple((f['file'], f['function'], f['line']) for f in s['frames'] if f['language'] == 'python')
        found[s['api'], stack] += s['seen']
    return found


def check_stacks(said, recording):
    want = collections.Counter((api, tuple(map(tuple, stack))) for api, stack in said['calls'])
    got = stacks_of(report(recording)['sites'])
    assert want and {k: (n, got[k]) for k, n in want.items() if got[k] != n} == {}
    return want


def recording_of(tmp_path, pid):
    found, = tmp_path.glob(f'*-{pid}.cudaspy')
    return found


def text_of(recording, *options):
    p = subprocess.run([REPORTER, 'report', '--all', *options, recording], stdout=subprocess.PIPE, universal_newlines=True,
                       env={**os.environ, 'COLUMNS': '300'})
    assert p.returncode == 0
    return p.stdout


def export_of(form, recording, out):
    p = subprocess.run([REPORTER, 'export', '-f', form, '-o', out, recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (p.returncode, p.stdout, p.stderr) == (0, b'', b'')
    return out.read_bytes()


@pytest.fixture
def moved(tmp_path):
    """A recording of a program that can be edited, the program, and a line of it."""
    folder = tmp_path / 'project' / 'pkg'
    folder.mkdir(parents=True)
    program = folder / 'train.py'
    program.write_text((HERE / 'planted.py').read_text())
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, program, CUDASPY_SITES='all')
    return recording_of(tmp_path, json.loads(p.stdout)['pid']), program, 'cuda.cuCtxSynchronize(); said('


def run_reporter(*args, status=0, **kw):
    p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **kw)
    assert p.returncode == status, p.stdout + p.stderr
    return p.stdout


NATIVE = r'''
#include "tests/e2e/programs/sites_ready.h"
#include "tests/e2e/programs/work.h"
static CUfunction quick, slow;
__attribute__((noinline)) void wait_here(CUstream stream)
{
	CHECK(cuStreamSynchronize(stream)); /* the line */
	__asm__ volatile("");
}
__attribute__((noinline)) void give_short(CUstream stream)
{
	for (int i = 0; i < 3; i++)
		CHECK(work_launch(quick, stream));
}
__attribute__((noinline)) void give_long(CUstream stream)
{
	CHECK(work_launch(slow, stream));
	__asm__ volatile("");
}
int main(void)
{
	CUstream stream;
	CUmodule module;
	work_start();
	CHECK(cuModuleLoadData(&module, "simcuda 1\nkernel quick fixed:3000\nkernel slow fixed:60000\n"));
	CHECK(cuModuleGetFunction(&quick, module, "quick"));
	CHECK(cuModuleGetFunction(&slow, module, "slow"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	sites_ready();
	for (int i = 0; i < 400; i++) {
		give_short(stream);
		give_long(stream);
		wait_here(stream);
	}
	return 0;
}
'''
