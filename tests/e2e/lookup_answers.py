# SPDX-License-Identifier: Apache-2.0
"""The driver's answers to every look-up there is, with and without a shim between; and other builds of the shim.

For the tests of look-ups, on this machine's processor and on another's.
"""
import collections
import functools
import re
import subprocess

from conftest import BUILD, ROOT, SHIM, cuda_include, make, need

PROGRAMS = BUILD / 'tests/e2e'
ROUTES = ['v1', 'v2', 'v1-11030', 'v1-12000', 'v2-11030', 'v2-12000']
Answer = collections.namedtuple('Answer', 'rc status library symbol')


@functools.lru_cache(maxsize=None)
def built(name):
    """libcudaspy.so as `make` builds it; unoptimized; or by clang. All must behave alike."""
    if name == 'make':
        return SHIM
    variables = {'unoptimized': ['CFLAGS=-O0'], 'clang': ['CC=clang']}[name]
    if name == 'clang':
        need('clang', 'the shim is built with it')
    p = make(*variables, 'shim', folder=BUILD / name)
    assert p.returncode == 0, p.stdout[-4000:]
    return BUILD / name / 'libcudaspy.so'


def wrapped_calls():
    """The ELF names of the driver's calls that calls.def wraps, without what forms for per-thread default streams add."""
    text = (ROOT / 'shim/core/format/calls.def').read_text()
    rows = set(re.findall(r'^(?:CALL|ARGS|WRAP|HAND)\((\w+)', text, flags=re.M))
    assert len(rows) > 200
    return rows


def requests():
    """Each (name, version, flags) that cudaTypedefs.h has, those that programs of other versions make, and wrong ones."""
    text = open(f'{cuda_include()}/cudaTypedefs.h').read()
    text += open(f'{cuda_include()}/cudaProfilerTypedefs.h').read()
    found = set(re.findall(r'\bPFN_(cu[A-Z]\w*?)_v(\d+)(_pt[ds][sz])?\)', text))
    assert len(found) > 450
    rows = {(name, int(version), 2 if form else 0) for name, version, form in found}
    for name in {r[0] for r in rows}:
        rows |= {(name, version, flags) for version in (2000, 3020, 11030, 12000, 12030, 12080, 13000)
                 for flags in (0, 1, 2)}
    rows |= {('cuNoSuchCall', 12000, 0), ('cuMemAlloc', 99000, 0), ('cuMemAlloc', 12000, 7), ('cuMemAlloc', 0, 0),
             ('cuMemAlloc_v2', 12000, 0), ('cudaMalloc', 12000, 0)}
    return sorted(rows)


def ask(command, env, rows):
    """The answer to each request by a route: `command` is lookup_ask with its argument."""
    lines = ''.join('%s %d %d\n' % row for row in rows)
    p = subprocess.run(command, input=lines, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=300)
    assert p.returncode == 0, p.stderr
    answers = {}
    for line in p.stdout.splitlines():
        name, version, flags, rc, status, library, symbol = line.split()
        answers[name, int(version), int(flags)] = Answer(int(rc), int(status), library, symbol)
    assert set(answers) == set(rows)
    return answers


def check_answers(bare, hooked):
    """Each hooked answer is the bare one, but for wrapped functions, which are ours; returns how many were."""
    rows, ours = wrapped_calls(), 0
    for request, was in bare.items():
        now = hooked[request]
        assert (now.rc, now.status, now.symbol) == (was.rc, was.status, was.symbol), (request, was, now)
        if re.sub(r'_pt[ds][sz]$', '', was.symbol) in rows:
            assert (was.library, now.library) == ('libcuda.so.1', 'libcudaspy.so'), (request, was, now)
            ours += 1
        else:
            assert now.library == was.library, (request, was, now)
    return ours
