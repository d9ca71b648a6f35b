# SPDX-License-Identifier: Apache-2.0
"""Call sites: the line that a report names is the line that Python says it was; and reading it never does harm."""
import collections
import itertools
import contextlib
import functools
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

from conftest import BUILD, REPORTER, ROOT, SHIM, SIM, VIRTUAL_TIME, environment, make, report
from lookup_answers import built

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


# ---- the reader of frames alone ----------------------------------------------------------------------------------------

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
    """With each object of Python in memory of its own."""
    target = BUILD / 'tests/e2e/libframe_reader_asan.so'
    p = make(target)
    library = subprocess.run([os.environ.get('CC', 'cc'), '-print-file-name=libasan.so'], stdout=subprocess.PIPE,
                             universal_newlines=True).stdout.strip()
    if p.returncode or not os.path.isabs(library):
        pytest.skip('the compiler has no sanitizers here')
    variables = {'LD_PRELOAD': library, 'ASAN_OPTIONS': 'detect_leaks=0', 'PYTHONMALLOC': 'malloc'}
    read_frames(python, tmp_path, 'places', tmp_path, reader=target, **variables)
    assert 'stacks 1000000' in read_frames(python, tmp_path, 'stress', 1000000, tmp_path, reader=target, **variables)


# ---- under the shim ----------------------------------------------------------------------------------------------------

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


def test_every_call_has_the_line_that_python_says(python, tmp_path):
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    said = json.loads(p.stdout)
    want = check_stacks(said, recording_of(tmp_path, said['pid']))
    assert sum(want.values()) > 100


def test_headlines(python, tmp_path):
    """What is not a library's own; calls are known where all were looked at."""
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    sites = report(recording_of(tmp_path, json.loads(p.stdout)['pid']))['sites']
    for s in sites:
        head = s['frames'][s['headline']]
        if any(f['language'] == 'python' for f in s['frames']):
            assert head['language'] == 'python' and not head['library']
        if s['kind'] in ('wait', 'copy', 'alloc'):
            assert s['calls'] == s['seen'] and not s['estimated']
    assert {s['kind'] for s in sites} >= {'wait', 'copy', 'alloc'}


def test_of_a_child(python, tmp_path):
    p = run_python(python, tmp_path, 'planted.py', 'forks', CUDASPY_SITES='all')
    said = [json.loads(line) for line in p.stdout.splitlines()]
    assert len(said) == 2
    for process in said:
        check_stacks(process, recording_of(tmp_path, process['pid']))


def test_daemons_that_call(python, tmp_path):
    """Their frames go away while they are in calls whose sites are taken."""
    for _ in range(3):
        run_python(python, tmp_path, 'planted.py', 'daemons', CUDASPY_SITES='all', SIM_COST=0)


def test_threads_without_python(python, tmp_path):
    """Said: its name, and the range that the program is in meanwhile."""
    nvtx = (BUILD / 'tests/e2e/nvtx_helper').exists()
    p = run_python(python, tmp_path, 'planted.py', 'backward', BUILD / 'tests/e2e/libbackward.so', CUDASPY_SITES='all',
                   NVTX_INJECTION64_PATH=SHIM)
    recording = recording_of(tmp_path, json.loads(p.stdout)['pid'])
    r = report(recording)
    waits = [s for s in r['sites'] if s['kind'] == 'wait' and s['thread']]
    assert sorted((s['thread'], s['range'] or '', s['seen']) for s in waits) == \
        ([('loader', '', 5), ('pt_autograd_0', 'step/again', 5), ('pt_autograd_0', 'step/backward', 5)] if nvtx else
         [('loader', '', 5), ('pt_autograd_0', '', 10)])
    assert all(s['thread'] is None for s in r['sites'] if any(f['language'] == 'python' for f in s['frames']))
    brief = text_of(recording)
    line = (HERE / 'planted.py').read_text().splitlines().index("    cuda.cuCtxSynchronize(); said('cuCtxSynchronize')") + 1
    assert {(s['after']['line'], os.path.basename(s['after']['file'])) for s in waits} == {(line, 'planted.py')}
    assert all(s['after'] is None for s in r['sites'] if not s['thread'])
    assert len([one for one in brief.splitlines() if one.endswith(f' thread loader, after planted.py:{line} in item')]) == 1
    assert ('NVTX range step/again, backward thread pt_autograd_0' if nvtx else f'backward pass after planted.py:{line} in item') in brief
    text = text_of(recording, '--sites')
    assert ' thread loader: ' in text
    assert ('NVTX range step/backward, backward thread pt_autograd_0: ' if nvtx else 'backward thread pt_autograd_0: ') in text
    # Exports have it too: as the outermost frame of its stacks, and as where calls were made.
    want = {'thread loader'} | ({'NVTX range step/again, backward thread pt_autograd_0',
                                 'NVTX range step/backward, backward thread pt_autograd_0'} if nvtx else {'backward thread pt_autograd_0'})
    out = tmp_path / 'export'
    folded = [line.rsplit(' ', 1)[0].split(';') for line in export_of('folded', recording, out).decode().splitlines()]
    assert want <= {stack[0] for stack in folded}
    export_of('sqlite', recording, out)
    with contextlib.closing(sqlite3.connect(out)) as db:
        assert want <= {place for place, in db.execute("SELECT called_from FROM cudaspy_sites WHERE kind = 'wait'")}
    chrome = json.loads(export_of('chrome', recording, out))
    assert want <= {e['args']['site'] for e in chrome['traceEvents'] if 'site' in e.get('args', {})}
    packed = gzip.decompress(export_of('pprof', recording, out))
    assert all(phrase.encode() in packed for phrase in want)


def test_several_interpreters(python, tmp_path):
    """It is said, and no line is made up."""
    p = run_python(python, tmp_path, 'planted.py', 'several', CUDASPY_SITES='all')
    r = report(recording_of(tmp_path, json.loads(p.stdout)['pid']))
    assert 'several interpreters' in r['sites_python_trouble']
    waits = [s for s in r['sites'] if s['kind'] == 'wait'] # made while there were two
    assert waits and not any(f['language'] == 'python' for s in waits for f in s['frames'])


def test_only_long_calls(python, tmp_path):
    """Waits of nothing are not looked at; the count of calls is not known then."""
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='on', SIM_COST=0)
    r = report(recording_of(tmp_path, json.loads(p.stdout)['pid']))
    for s in r['sites']:
        assert s['api_total_ns'] >= 4000 * s['seen'] # the rate of the clock is not known well at first


def test_off(python, tmp_path):
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='off')
    recording = recording_of(tmp_path, json.loads(p.stdout)['pid'])
    r = report(recording)
    assert r['sites'] == [] and r['sites_python_trouble'] is None and r['overhead']['sites_ns'] == 0
    text = subprocess.run([REPORTER, 'report', '--all', '--sites', recording], stdout=subprocess.PIPE, universal_newlines=True).stdout
    assert 'CUDASPY_SITES=off' in text


def test_text(python, tmp_path):
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    recording = recording_of(tmp_path, json.loads(p.stdout)['pid'])
    brief = subprocess.run([REPORTER, 'report', '--all', recording], stdout=subprocess.PIPE, universal_newlines=True).stdout
    full = subprocess.run([REPORTER, 'report', '--all', '--sites', '--limit', 'all', recording], stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    line = (HERE / 'planted.py').read_text().splitlines().index("    cuda.cuCtxSynchronize(); said('cuCtxSynchronize')") + 1
    for text in brief, full:
        assert 'Where in your code' in text and f'planted.py:{line} in item: cuda.cuCtxSynchronize(); said(' in text
    assert len(full) > len(brief) and 'deep' in full


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


def test_source_of_a_file_that_is_as_it_was(moved):
    recording, program, line = moved
    assert line in text_of(recording)
    times = program.stat().st_atime_ns, program.stat().st_mtime_ns
    text = program.read_text()
    program.write_text(text.replace('import gc', 'import os')) # the same size, another time
    assert line not in text_of(recording)
    program.write_text(text + '\n') # another size, the same time
    os.utime(program, ns=times)
    assert line not in text_of(recording)
    program.write_text(text)
    os.utime(program, ns=times)
    assert line in text_of(recording)


def test_source_root(moved, tmp_path):
    """The longest end of the recorded path that is a file there; a copy has a time of its own, and counts by its size."""
    recording, program, line = moved
    other = tmp_path / 'checkout'
    (other / 'pkg').mkdir(parents=True)
    (other / 'train.py').write_text('# another file\n')
    (other / 'pkg' / 'train.py').write_text(program.read_text())
    program.unlink()
    assert line not in text_of(recording)
    assert line in text_of(recording, '--source-root', other)
    frames = [f for s in report(recording, '--source-root', other)['sites'] for f in s['frames'] if f['file'] == str(program)]
    assert frames and {f['local_file'] for f in frames} == {f'{other}/pkg/train.py'}
    (other / 'pkg' / 'train.py').write_text(program.name)
    assert line not in text_of(recording, '--source-root', other)
    p = subprocess.run([REPORTER, 'report', '--all', '--source-root', other / 'none', recording], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 2 and 'not a folder' in p.stderr


def test_source_is_escaped(tmp_path):
    program = tmp_path / 'evil.py'
    text = (HERE / 'planted.py').read_text()
    program.write_text(text.replace("said('cuCtxSynchronize')", "said('cuCtxSynchronize') # \x1b[31m \u202e"), encoding='utf-8')
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, program, CUDASPY_SITES='all')
    out = text_of(recording_of(tmp_path, json.loads(p.stdout)['pid']))
    assert 'cuda.cuCtxSynchronize(); said(' in out and '\x1b' not in out and '\u202e' not in out


def test_frames_of_libraries_are_folded(moved):
    recording, _, _ = moved
    folded, whole = (text_of(recording, o, '--limit', 'all') for o in ('--sites', '--all-frames'))
    assert ' of Python)' in folded and ' in Thread.run' not in folded
    assert ' of Python)' not in whole and ' in Thread.run' in whole


# ---- one run against another -----------------------------------------------------------------------------------------------

EDITED = ("    item()\n    allocate()", "    item()\n    cuda.cuCtxSynchronize()\n    allocate()")
LOOP = '''
def step():
    item()
    allocate()


if __name__ == '__main__':
    start()
    for i in range(40):
        step()
    print(os.getpid())
'''


@pytest.fixture
def edited(tmp_path):
    """Two recordings of a program, which has one more wait in the second, and its text."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    text = (HERE / 'planted.py').read_text().split('def nested')[0] + LOOP
    recordings, texts = [], [text, text.replace(*EDITED).replace('import gc', 'import gc\nimport re')]
    for i, text in enumerate(texts):
        folder = tmp_path / f'checkout{i}'
        folder.mkdir()
        (folder / 'loop.py').write_text(text)
        p = run_python(python, tmp_path, folder / 'loop.py', CUDASPY_SITES='all')
        recordings.append(recording_of(tmp_path, p.stdout.strip()))
    return recordings, texts[1]


def run_reporter(*args, status=0, **kw):
    p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **kw)
    assert p.returncode == status, p.stdout + p.stderr
    return p.stdout


def line_of(text, what):
    return text.splitlines().index(what) + 1


def test_diff_tells_places_that_appeared(edited):
    (before, after), text = edited

    def sites_of(*recordings):
        """Those of the loop: a late collector sees no Python in the start-up's."""
        found = json.loads(run_reporter('diff', '-f', 'json', *recordings))['sites']
        return [s for s in found if s['function'] not in (None, 'start')]

    sites = sites_of(before, after)
    new, = [s for s in sites if s['presence'] == 'appeared']
    assert (new['api'], new['function'], new['before']) == ('cuCtxSynchronize', 'step', None)
    assert new['after']['calls'] == 40 and new['after']['line'] == line_of(text, '    cuda.cuCtxSynchronize()')
    assert not [s for s in sites if s['presence'] == 'vanished']
    item, = [s for s in sites if s['function'] == 'item'] # its lines moved
    assert item['before']['calls'] == item['after']['calls'] == 40 and item['after']['line'] == item['before']['line'] + 1
    page = run_reporter('diff', before, after, env={**os.environ, 'COLUMNS': '200'})
    assert f'loop.py:{new["after"]["line"]} in step' in page
    assert [s['function'] for s in sites_of(after, before) if s['presence'] == 'vanished'] == ['step']


@pytest.mark.parametrize('against', ['recording', 'baseline'])
def test_check_names_the_line(edited, tmp_path, against):
    (before, after), text = edited
    if against == 'baseline':
        run_reporter('check', '--save-baseline', tmp_path / 'base.json', before)
        before = tmp_path / 'base.json'
    line = line_of(text, '    cuda.cuCtxSynchronize()')
    rule, = json.loads(run_reporter('check', '-b', before, '-l', 'syncs <= +0', '-f', 'json', after, status=1))['rules']
    site = rule['site']
    assert (site['kind'], site['function'], site['line'], site['calls']) == ('wait', 'step', line, 40)
    assert site['appeared'] is True and site['calls_before'] is None
    assert f'at loop.py:{line} in step: 40 cuCtxSynchronize' in rule['message']
    rule, = json.loads(run_reporter('check', '-b', before, '-l', 'alloc_calls <= +0', '-f', 'json', after))['rules']
    assert rule['site'] is None # it passed


def test_annotations_stand_at_the_line(edited, tmp_path):
    (before, after), text = edited
    line = line_of(text, '    cuda.cuCtxSynchronize()')
    args = 'check', '-b', before, '-l', 'syncs <= +0', '-f', 'github', after
    out = run_reporter(*args, status=1, cwd=tmp_path)
    assert out.startswith(f'::error file=checkout1/loop.py,line={line},title=')
    env = {**os.environ, 'GITHUB_WORKSPACE': f'{tmp_path}/checkout1/'}
    assert run_reporter(*args, status=1, env=env).startswith(f'::error file=loop.py,line={line},')
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'loop.py').write_text(text)
    env['GITHUB_WORKSPACE'] = str(tmp_path / 'other')
    out = run_reporter(*args, '--source-root', tmp_path / 'other', status=1, env=env)
    assert out.startswith(f'::error file=loop.py,line={line},')


def test_check_without_sites(edited, tmp_path):
    """Of a baseline that knows none, and of rules that no line is about."""
    (before, after), _ = edited
    base = tmp_path / 'base.json'
    run_reporter('check', '--save-baseline', base, before)
    old = json.loads(base.read_text())
    del old['sites']
    base.write_text(json.dumps(old))
    rule, = json.loads(run_reporter('check', '-b', base, '-l', 'syncs <= +0', '-f', 'json', after, status=1))['rules']
    assert rule['site']['appeared'] is None and rule['site']['kind'] == 'wait'
    rule, = json.loads(run_reporter('check', '-l', 'calls <= 1', '-f', 'json', after, status=1))['rules']
    assert rule['site'] is None
    assert json.loads(run_reporter('diff', '-f', 'json', base, after))['sites'] is None


@pytest.mark.parametrize('sites', ['x', {}, [1, None, {}], [{'kind': 'wait'}], [{'kind': 'wait', 'api': 'a', 'where': 'b', 'line': -1,
                         'calls': 'x', 'api_ns': [1], 'file': 5, 'thread': '\\x1b'}] * 300])
def test_hostile_sites_in_a_baseline(edited, tmp_path, sites):
    (before, after), _ = edited
    base = tmp_path / 'base.json'
    run_reporter('check', '--save-baseline', base, before)
    base.write_text(json.dumps({**json.loads(base.read_text()), 'sites': sites}))
    json.loads(run_reporter('check', '-b', base, '-l', 'syncs <= +0', '-f', 'json', after, status=1))
    run_reporter('diff', base, after)


# ---- native code, and what is sampled ------------------------------------------------------------------------------------

NATIVE = r'''
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
	for (int i = 0; i < 400; i++) {
		give_short(stream);
		give_long(stream);
		wait_here(stream);
	}
	return 0;
}
'''


def test_native_frames(compile_c, run):
    program = compile_c(NATIVE, '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    r = run(program, CUDASPY_GPU='sample').report
    waits = [s for s in r['sites'] if s['kind'] == 'wait']
    assert len(waits) == 1 and waits[0]['api'] == 'cuStreamSynchronize'
    frame, = waits[0]['frames']
    assert frame['language'] == 'native' and frame['module'] == str(program)
    if frame['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    assert frame['function'] == 'wait_here'
    assert frame['line'] == NATIVE.splitlines().index('	CHECK(cuStreamSynchronize(stream)); /* the line */') + 1


CHAIN = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <ucontext.h>
#include "tests/e2e/programs/work.h"
#define STAYS __attribute__((noinline, noclone))
static CUstream stream;
STAYS void innermost(void)
{
	CHECK(cuStreamSynchronize(stream)); /* innermost */
	__asm__ volatile("");
}
static inline __attribute__((always_inline)) void inlined(void)
{
	innermost(); /* inlined */
	__asm__ volatile("");
}
STAYS void middle(void)
{
	inlined(); /* middle */
	__asm__ volatile("");
}
STAYS void outer(int n)
{
	if (n)
		outer(n - 1);
	else
		middle(); /* outer */
	__asm__ volatile("");
}
static void *thread(void *p)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < 10; i++)
		outer(0);
	__asm__ volatile("");
	return p;
}
static ucontext_t here, there;
static void other(void)
{
	for (int i = 0; i < 10; i++)
		outer(1);
}
int main(void)
{
	pthread_t t;
	static char stack[1 << 18];
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	usleep(200000); /* by now the collector has seen what is mapped */
	for (int i = 0; i < 10; i++)
		outer(2);
	outer(60);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, other, 0);
	swapcontext(&here, &there);
	return 0;
}
'''


@pytest.mark.parametrize('build', ['make', 'unoptimized', 'clang'])
def test_native_stacks_by_frame_pointers(compile_c, run, build):
    """Of the first thread, of others; not of a stack of the program's own; deep ones are cut."""
    source = '#include <unistd.h>\n' + CHAIN
    program = compile_c(source, '-g', '-O1', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls', f'-I{ROOT}', '-lcuda', '-lpthread',
                        '-Wl,--build-id')
    sites = [s for s in run(program, preload=(built(build),), CUDASPY_SITES='all').report['sites'] if s['api'] == 'cuStreamSynchronize']
    if sites[0]['frames'][0]['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    own = lambda s: [f['function'] for f in s['frames'] if f['module'] == str(program)]
    by_stack = {tuple(own(s)): s for s in sites}
    begin = 'innermost', 'inlined', 'middle'
    wanted = {(*begin, *['outer'] * 3, 'main'): 10, (*begin, 'outer', 'thread'): 10, ('innermost',): 10,
              (*begin, *['outer'] * 30): 1}
    assert {stack: s['seen'] for stack, s in by_stack.items()} == wanted
    lines = {f['function']: f['line'] for f in by_stack[(*begin, *['outer'] * 3, 'main')]['frames'][:4]}
    assert lines == {name: next(n for n, line in enumerate(source.splitlines(), 1) if f'/* {name} */' in line)
                     for name in (*begin, 'outer')}
    assert [s['frames_cut'] for stack, s in by_stack.items() if len(stack) > 20] == [True]


LAUNCHES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
#define STAYS __attribute__((noinline, noclone))
static CUgraphExec graph;
static __thread CUstream stream;

/* What backtrace() says of the functions around launch(), as a line: kind, kernel's shape, return
 * addresses in this program and the C library. */
STAYS static void tell(const char *api)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void *at[64];
	int count = backtrace(at, 64);
	pthread_mutex_lock(&lock);
	printf("%s", api);
	for (int i = 2; i < count; i++) { /* without launch(): tell() is called at another place there */
		Dl_info o;
		if (dladdr(at[i], &o))
			printf(" %lx", (long)((char *)at[i] - (char *)o.dli_fbase));
	}
	printf("\n");
	pthread_mutex_unlock(&lock);
}
STAYS static void launch(int what, int say)
{
	CUlaunchConfig config = {.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1, .hStream = stream};
	if (say)
		tell(what == 0 ? "cuLaunchKernel" : what == 1 ? "cuLaunchKernelEx" : "cuGraphLaunch");
	if (what == 0)
		CHECK(cuLaunchKernel(work_short, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	else if (what == 1)
		CHECK(cuLaunchKernelEx(&config, work_short, NULL, NULL));
	else
		CHECK(cuGraphLaunch(graph, stream));
	__asm__ volatile("");
}
STAYS void inner(int what, int say)
{
	launch(what, say);
	__asm__ volatile("");
}
STAYS void nested(int n, int what, int say)
{
	volatile char room[64 + 48 * (n % 3)];
	room[n] = 1;
	if (n)
		nested(n - 1, what, say);
	else
		inner(what, say);
	__asm__ volatile("");
}
STAYS void work(int count)
{
	for (int i = 0; i < count; i++) {
		for (int what = 0; what < 3; what++)
			nested(i % 7, what, i < 7);
		if (i % 64 == 63)
			CHECK(cuStreamSynchronize(stream));
	}
	CHECK(cuStreamSynchronize(stream));
	__asm__ volatile("");
}
static void in_handler(int signal)
{
	volatile char room[4096]; /* below all that is being read */
	for (unsigned i = 0; i < sizeof(room); i++)
		room[i] = (char)signal;
}
static void *thread(void *count)
{
	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	work((int)(long)count);
	__asm__ volatile("");
	return NULL;
}
int main(int n, char **args)
{
	const int count = atoi(args[1]), threads = atoi(args[2]), signals = n > 3;
	pthread_t t[16];
	CUgraph g;
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK(work_launch(work_short, stream));
	CHECK(cuStreamEndCapture(stream, &g));
	CHECK(cuGraphInstantiate(&graph, g, 0));
	usleep(200000); /* by now the collector has seen what is mapped */
	if (signals) {
		struct sigaction a = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
		struct itimerspec every = {{0, 300000}, {0, 300000}};
		timer_t timer;
		sigaction(SIGALRM, &a, NULL);
		timer_create(CLOCK_MONOTONIC, NULL, &timer);
		timer_settime(timer, 0, &every, NULL);
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, (void *)(long)count);
	work(count);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
"""
FRAMES = '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls'


def launch_sites(r, program):
    """{(api, offsets of the program's frames beyond the first): times seen}"""
    found = collections.Counter()
    for s in r.report['sites']:
        if s['kind'] == 'launch':
            found[s['api'], tuple(f['offset'] for f in s['frames'][1:] if f['module'] == str(program))] += s['seen']
    return found


def told_by_backtrace(out, program, last):
    """The same of what the program printed, up to the function that began its thread: offsets beyond `last` are the C library's."""
    told = set()
    for line in out.splitlines():
        api, *at = line.split()
        told.add((api, tuple(itertools.takewhile(lambda a: a < last, (int(a, 16) for a in at)))))
    return told


def is_part(stack, whole):
    """In the same order, with some left out."""
    rest = iter(whole)
    return all(at in rest for at in stack)


def keeps_rbp():
    """gcc's wrappers leave the register alone."""
    if os.uname().machine != 'x86_64':
        return False
    return b'-DSPY_KEEPS_RBP' in subprocess.run(['make', '-n', 'V=1', '-W', 'shim/hook/wrappers_hand.c', f'O={BUILD}', 'shim'], cwd=ROOT,
                                                stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize('sites, gpu, build', [('on', 'sample', 'make'), ('all', 'off', 'make'), ('all', 'off', 'unoptimized')])
def test_frames_above_a_launch(compile_c, run, sites, gpu, build):
    """Of each way to launch, nested 0 to 6 deep, in the first thread and another: what backtrace() says at the same place."""
    if not keeps_rbp():
        pytest.skip('no -ffixed-rbp: launches have their caller alone')
    program = compile_c(LAUNCHES, '-g', '-O1', *FRAMES, f'-I{ROOT}', '-lcuda', '-lpthread', '-Wl,--build-id', '-Wl,-z,noseparate-code')
    r = run(program, 3000, 1, preload=(built(build),), CUDASPY_SITES=sites, CUDASPY_GPU=gpu, CUDASPY_BUDGET=50)
    assert r.status == 0, r.err
    found = set(launch_sites(r, program))
    told = told_by_backtrace(r.out, program, program.stat().st_size)
    assert len({stack for _, stack in told}) == 14 and {api for api, _ in told} == {'cuLaunchKernel', 'cuLaunchKernelEx', 'cuGraphLaunch'}
    in_work = {site for site in found if len(site[1]) > 1} # not what main() captures
    assert in_work and in_work <= told
    if sites == 'all':
        assert in_work == told


@pytest.mark.parametrize('flags', [FRAMES, ('-fomit-frame-pointer',)], ids=['frames', 'none'])
def test_launches_by_threads_and_signals(compile_c, run, flags):
    """100,000 stacks and more while signals come at any time; without frame pointers no frame that is none."""
    program = compile_c(LAUNCHES, '-g', '-O1', *flags, f'-I{ROOT}', '-lcuda', '-lpthread', '-Wl,--build-id', '-Wl,-z,noseparate-code')
    r = run(program, 10000, 3, 'signals', CUDASPY_SITES='all', SIM_COST=0)
    assert r.status == 0, r.err
    found = launch_sites(r, program)
    assert sum(found.values()) + r.report['sites_left_out'] > 100000
    told = told_by_backtrace(r.out, program, program.stat().st_size)
    if flags == FRAMES:
        assert {site for site in found if len(site[1]) > 1} == told
    for api, stack in found:
        assert any(api == a and is_part(stack, whole) for a, whole in told) or len(stack) < 2, stack


HEADS = """
#include "tests/e2e/programs/work.h"
#include <unistd.h>
#define STAYS __attribute__((noinline, noclone))
extern void framework(void (*f)(void));
STAYS void __device_stub__kernel(void) { CHECK(cuLaunchKernel(work_short, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)); __asm__ volatile(""); }
STAYS void kernel(void) { __device_stub__kernel(); __asm__ volatile(""); }
STAYS void stub_at(void) { kernel(); /* stub_at */ __asm__ volatile(""); }
STAYS void framework_at(void) { framework(NULL); /* framework_at */ __asm__ volatile(""); }
STAYS void callback_at(void) { CHECK(cuCtxSynchronize()); /* callback_at */ __asm__ volatile(""); }
int main(void)
{
	work_start();
	usleep(200000);
	for (int i = 0; i < 20; i++) {
		stub_at();
		framework_at();
		framework(callback_at);
	}
	return 0;
}
"""


def test_headlines_of_native_stacks(compile_c, run, tmp_path):
    """The first function outside CUDA, frameworks, and what the compiler makes for a launch; a framework's callback is the program's."""
    compile_c('#include <cuda.h>\nvoid framework(void (*f)(void)) { if (f) f(); else '
              'cuCtxSynchronize(); __asm__ volatile(""); }', '-g', '-O1', *FRAMES, '-lcuda', '-Wl,--build-id', shared=True, name='torch_cuda')
    program = compile_c(HEADS, '-g', '-O1', *FRAMES, f'-I{ROOT}', f'-L{tmp_path}', '-ltorch_cuda', f'-Wl,-rpath,{tmp_path}', '-lcuda', '-Wl,--build-id')
    sites = [s for s in run(program, CUDASPY_SITES='all').report['sites'] if s['seen'] == 20]
    if sites[0]['frames'][0]['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    heads = sorted((s['api'], s['frames'][s['headline']]['function'], s['frames'][s['headline']]['line']) for s in sites)
    line = lambda mark: next(n for n, text in enumerate(HEADS.splitlines(), 1) if f'/* {mark} */' in text)
    waits = [('cuCtxSynchronize', at, line(at)) for at in ('callback_at', 'framework_at')]
    assert heads == [*waits, *([('cuLaunchKernel', 'stub_at', line('stub_at'))] if keeps_rbp() else [heads[-1]])]
    assert all(f['library'] for s in sites for f in s['frames'] if f['function'] in ('framework', '__device_stub__kernel'))


def test_wrappers_leave_the_frame_pointer_alone():
    if not keeps_rbp() or not shutil.which('objdump'):
        pytest.skip('no -ffixed-rbp, or no objdump')
    objects = [BUILD / 'gen/wrappers_driver.o', BUILD / 'gen/wrappers_runtime.o', BUILD / 'guest/shim/hook/wrappers_hand.o']
    out = subprocess.run(['objdump', '-d', '--no-show-raw-insn', *objects], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    assert out.count('<cuLaunchKernel>:') == 1 and re.search(r'mov +%rbp,%r', out)
    assert not re.findall(r'.*(?:,%[re]?bpl?|pop +%rbp|leave *)$', out, re.M)


HOSTILE = r'''
#include <stdlib.h>
#include <sys/mman.h>
#include "tests/e2e/programs/work.h"
static CUstream stream;
/* Calls with anything in the register that other programs keep their frame in. */
__attribute__((noinline)) static void call_with(uintptr_t frame)
{
	__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n\tmov %1, %%rdi\n\tsub $8, %%rsp\n\tcall *%2\n\tadd $8, %%rsp\n\tpop %%rbp"
	                 :: "r"(frame), "r"(stream), "r"(cuStreamSynchronize)
	                 : "rax", "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
}
static void *mischief(void *p)
{
	unsigned seed = (unsigned)(uintptr_t)p;
	uintptr_t words[64] __attribute__((aligned(16)));
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < 4000; i++) {
		uintptr_t here = (uintptr_t)words;
		for (int k = 0; k < 64; k++)
			words[k] = rand_r(&seed) % 3 ? here + rand_r(&seed) % 4096 / 8 * 8 : rand_r(&seed) % 2 ? (uintptr_t)malloc + rand_r(&seed) % 64
			                             : (uintptr_t)rand_r(&seed) * rand_r(&seed);
		uintptr_t frames[] = {0, 1, ~0ul, here, here + 8, here + 16 * (rand_r(&seed) % 32), here - 4096, here + (1 << 20),
		                      here + (rand_r(&seed) % (16 << 20)) / 16 * 16, (uintptr_t)rand_r(&seed) << rand_r(&seed) % 33,
		                      (uintptr_t)p, 1ul << 47, (uintptr_t)mmap};
		call_with(frames[rand_r(&seed) % (sizeof(frames) / sizeof(frames[0]))]);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, mischief, (void *)(uintptr_t)(i + 1));
	mischief((void *)9ul);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
'''


def test_frame_pointers_that_are_none(compile_c, run):
    """Whatever the register holds, nothing is read that is not there."""
    if os.uname().machine != 'x86_64':
        pytest.skip('assembler of x86-64')
    program = compile_c('#include <pthread.h>\n' + HOSTILE, '-O1', '-fomit-frame-pointer', '-mno-red-zone', f'-I{ROOT}', '-lcuda', '-lpthread')
    r = run(program, CUDASPY_SITES='all', SIM_COST=0)
    assert r.status == 0, r.err
    assert sum(s['seen'] for s in r.report['sites'] if s['api'] == 'cuStreamSynchronize') + r.report['sites_left_out'] > 10000


JIT = r'''
#include <string.h>
#include <sys/mman.h>
#include "tests/e2e/programs/work.h"
int main(int count, char **args)
{
	/* sub $8, %rsp; movabs $function, %rax; call *%rax; add $8, %rsp; ret */
	unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *function = cuCtxSynchronize;
	char path[64];
	memcpy(code + 6, &function, 8);
	memcpy(p, code, sizeof(code));
	work_start();
	for (int i = 0; i < 10; i++)
		CHECK(((CUresult(*)(void))p)());
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 1000 replaced\\n%lx 15 julia_step!_12\\x1b[31m\\nno line\\n%lx\\n-1 ffffffffffffffff x\\n%lx %lx overflows\\n"
	        "ffffffffffffffffffffff 1 large\\n%lx 0 empty\\n", (long)p, (long)p, (long)p, (long)p, ~0l, (long)p);
	fclose(map);
	puts(path);
	return 0;
}
'''


def test_names_of_code_that_was_made(compile_c, run, tmp_path):
    """Of a map that the program wrote; lines that are none are skipped, an older file is not its own, others' links are not followed."""
    if os.uname().machine != 'x86_64':
        pytest.skip('code of x86-64')
    program = compile_c('#include <stdio.h>\n#include <unistd.h>\n' + JIT.replace('\\\\', '\\'), '-O1', f'-I{ROOT}', '-lcuda')
    r = run(program, CUDASPY_SITES='all')
    path = r.out.strip()

    def first():
        wait, = [s for s in report(r.recording)['sites'] if s['kind'] == 'wait']
        return wait['frames'][0]
    try:
        frame = first()
        assert frame['module'] == path and frame['function'].startswith('julia_step!_12') and '\x1b' not in text_of(r.recording)
        assert 'julia_step!_12' in text_of(r.recording, '--sites')
        os.utime(path, (1, 1))
        assert first()['function'] is None
        text = open(path, 'rb').read()
        with open(path, 'wb') as file:
            file.write(text + os.urandom(4096) + b'\n' + text[:20])
        assert first()['function']
        (tmp_path / 'target').write_bytes(text)
        os.unlink(path)
        os.symlink(tmp_path / 'target', path)
        assert first()['function'] is None
        os.unlink(path)
        os.mkfifo(path) # opening it would wait
        assert first()['function'] is None
        os.unlink(path)
        os.mkdir(path)
        assert first()['function'] is None
        os.rmdir(path)
        with open(path, 'wb') as file: # as many lines as there may be, in the worst order, and the one that counts
            file.write(b''.join(b'%x 1 a\n' % (i * 7919 % 0x7fffff) for i in range(5000000)) + text)
        start = time.monotonic()
        assert first()['function']
        assert time.monotonic() - start < 60
        os.truncate(path, 65 << 20)
        assert first()['function'] is None
        if os.geteuid() == 0:
            with open(path, 'wb') as file:
                file.write(text)
            assert first()['function']
            os.chown(path, 12345, 12345)
            assert first()['function'] is None
    finally:
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def test_a_finding_names_its_line(run):
    r = run('sync_every_step', 20000, CUDASPY_GPU='sample', **VIRTUAL_TIME).report
    finding, = [f for f in r['findings'] if f['id'] == 'sync-every-step']
    most = max((s for s in r['sites'] if s['kind'] == 'wait'), key=lambda s: s['api_total_ns'])
    assert finding['site']['api'] == most['api'] and finding['site']['share'] > 0.5
    assert finding['site']['module'] == most['frames'][most['headline']]['module']


def test_findings_name_lines_of_what_is_judged(tmp_path):
    """Not of the start-up, which copies and waits far more; and the line ahead of which the GPU had nothing to do."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'phased.py', CUDASPY_GPU='sample', CUDASPY_BUDGET=50)
    recording = recording_of(tmp_path, int(p.stdout))
    text = (HERE / 'phased.py').read_text()
    line = lambda mark: next(n for n, one in enumerate(text.splitlines(), 1) if one.endswith('# ' + mark))
    r = report(recording)
    assert r['phases'][r['phase']]['kind'] == 'loop'
    copied = {s['frames'][s['headline']]['line']: s['pageable_bytes'] for s in r['sites'] if s['kind'] == 'copy'}
    assert copied[line('start-up')] > 5 * copied[line('loop')] # of the whole run
    sites = {f['id']: f['site'] for f in r['findings'] if f['site']}
    starved = sites['host-starves-gpu']
    assert starved['ahead'] and (starved['line'], starved['function'].split('.')[-1]) == (line('loop'), 'step')
    assert starved['share'] > 0.5 and starved['measure'] == 'time outside CUDA'
    assert f'Ahead of phased.py:{line("loop")} in step' in text_of(recording, '--section', 'findings')
    for name, site in sites.items():
        assert site['function'] in ('step', 'launch'), name
    waiting = [s for name, s in sites.items() if name in ('sync-too-early', 'sync-every-step')]
    assert {s['line'] for s in waiting} <= {line('wait')} and not any(s['ahead'] for s in waiting)


WAITS = '''
def step():
    for _ in range(40):
        launch()
    cuda.cuStreamSynchronize(None)


start()
for i in range(400):
    step()
print(os.getpid())
'''


def test_the_verdict_has_a_line_where_no_finding_has(tmp_path):
    """On the first screen and in the brief, each change that is told by the verdict or a finding of one line: the one there is."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    program = tmp_path / 'waits.py'
    text = (HERE / 'planted.py').read_text().split('def nested')[0] + WAITS
    program.write_text(text)
    p = run_python(python, tmp_path, program, CUDASPY_GPU='sample', CUDASPY_BUDGET=50)
    recording = recording_of(tmp_path, p.stdout.strip())
    lines = {text.splitlines().index(one) + 1 for one in text.splitlines() if 'cuStreamSynchronize' in one or 'cuLaunchKernel' in one}
    for options in [], ['-f', 'brief']:
        page = run_reporter('report', *options, recording, env={**os.environ, 'COLUMNS': '80'})
        found = {int(n) for n in re.findall(r' at:? waits\.py:(\d+)(?: in|:)', page)}
        assert found and found <= lines, page


def test_tables_by_what_sites_have_most_of(tmp_path):
    """--sites: by GPU time, of launches, waits, allocations, and pageable bytes; the largest first, each place at most once."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'phased.py', CUDASPY_GPU='sample', CUDASPY_BUDGET=50)
    recording = recording_of(tmp_path, int(p.stdout))
    page = text_of(recording, '--sites', '--limit', '3')
    titles = 'By GPU time of what was given there:', 'Launches by their time in CUDA:', 'Waits:', 'Copies by bytes of pageable memory:'
    assert [t for t in titles if t in page] == list(titles) and not any(t in text_of(recording) for t in titles)
    rows = {t: [one.split() for one in page.split(t)[1].splitlines()[2:5] if 'phased.py:' in one or 'planted.py:' in one] for t in titles}
    assert all('Launch' in row[4] for row in rows[titles[1]]) and rows[titles[1]][0][5].startswith('phased.py:')
    assert all('Synchronize' in row[4] for row in rows[titles[2]]) and len(rows[titles[2]]) == 2
    sizes = [row[2] for row in rows[titles[3]]]
    assert len(sizes) >= 2 and sizes[0].endswith('MiB') and float(sizes[0][:-3]) == pytest.approx(320, rel=0.2)


def test_samples_stand_for_the_rest(compile_c, run):
    """GPU time by line: what the two lines gave is estimated by their samples, and sums to what all work took."""
    program = compile_c(NATIVE, '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    r = run(program, CUDASPY_GPU='sample', CUDASPY_BUDGET=50, **VIRTUAL_TIME).report
    launches = [s for s in r['sites'] if s['kind'] == 'launch']
    assert launches and all(s['calls'] is None and s['estimated'] and s['samples'] for s in launches)
    assert all(k['samples'] for k in r['kernels'])
    total = sum(s['gpu_total_ns'] for s in launches)
    assert total == pytest.approx(sum(k['gpu_total_ns'] for k in r['kernels']), rel=0.01)
    assert sum(s['calls_estimated'] for s in launches) == pytest.approx(r['totals']['launches'], rel=0.01)


def check_launches(said, r):
    """Each sampled stack is one that there was, whole; counts and GPU time of a kernel's lines are in the shares that its launches
    were given in, within what so few samples leave open; and all of them together are all."""
    names = {False: 'quick', True: 'slow'}
    given = {(kernel, tuple(map(tuple, stack))): n for kernel, stack, n in said['given']}
    launches = [s for s in r['sites'] if s['kind'] == 'launch']
    assert launches and all(s['calls'] is None and s['estimated'] and s['samples'] for s in launches)
    found = collections.defaultdict(lambda: [0, 0, 0])
    for s in launches:
        stack = tuple((f['function'], f['line']) for f in s['frames'] if f['language'] == 'python')
        assert s['frames'][0]['language'] == 'native' # and what called CUDA for Python
        kernel, = [k for k, other in given if other == stack]
        head = s['frames'][s['headline']]
        assert head['language'] == 'python' and (head['function'], head['line']) == stack[0]
        for i, key in enumerate(('samples', 'calls_estimated', 'gpu_total_ns')):
            found[kernel, stack][i] += s[key]
    kernels = {k['name']: k for k in r['kernels']}
    for name in names.values():
        rows = {stack: v for (kernel, stack), v in found.items() if kernel == name}
        all_given = sum(n for (kernel, _), n in given.items() if kernel == name)
        samples = sum(v[0] for v in rows.values())
        assert samples > 30
        assert sum(v[1] for v in rows.values()) == pytest.approx(all_given, rel=0.02)
        assert sum(v[2] for v in rows.values()) == pytest.approx(kernels[name]['gpu_total_ns'], rel=0.02)
        for (kernel, stack), n in given.items():
            share = n / all_given
            if kernel == name:
                open_ = 5 * (share * (1 - share) / samples) ** 0.5 + 1 / samples
                got = rows.get(stack, [0, 0, 0])
                assert got[1] / all_given == pytest.approx(share, abs=open_), (stack, share, samples)
                assert got[2] / kernels[name]['gpu_total_ns'] == pytest.approx(share, abs=open_ + 0.02)


def test_sampled_launches_have_their_stack(python, tmp_path):
    """In nested functions, generators, decorators, comprehensions and threads: Python's frames behind the native one, and GPU time and
    launches by line with the weights of the estimate."""
    p = run_python(python, tmp_path, 'launches.py', 400, CUDASPY_GPU='sample', CUDASPY_BUDGET=50)
    said = json.loads(p.stdout)
    check_launches(said, report(recording_of(tmp_path, said['pid'])))


@pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')
def test_launches_that_cupti_times_have_their_stack(tmp_path):
    """One in 64 of them."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'launches.py', 2500, CUDASPY_GPU='cupti', SIM_COST=0, LD_LIBRARY_PATH=f'{SIM}:{SIM}/cupti13')
    said = json.loads(p.stdout)
    check_launches(said, report(recording_of(tmp_path, said['pid'])))


@pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')
def test_launches_where_cupti_times_them(compile_c, run):
    """One in 64 has its site, at random: counts and GPU time of the two lines are within what that leaves open."""
    program = compile_c(NATIVE.replace('400', '4000'), '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    r = run(program, CUDASPY_GPU='cupti', SIM_COST=0, LD_LIBRARY_PATH=f'{SIM}:{SIM}/cupti13').report
    assert r['gpu']['mode'] == 'cupti'
    launches = [s for s in r['sites'] if s['kind'] == 'launch']
    assert launches and all(s['calls'] is None and s['estimated'] and s['samples'] for s in launches)
    assert 100 < sum(s['samples'] for s in launches) < 500
    total = sum(s['gpu_total_ns'] for s in launches)
    assert total == pytest.approx(r['gpu']['work']['kernels']['gpu_total_ns'], rel=0.01)
    assert sum(s['calls_estimated'] for s in launches) == pytest.approx(r['totals']['launches'], rel=0.01)
    if launches[0]['frames'][0]['function']: # else there is no elfutils here
        by_function = {f['function']: s for s in launches for f in s['frames']}
        assert by_function['give_long']['calls_estimated'] == pytest.approx(4000, rel=0.01) # of a class of its own
        assert by_function['give_long']['gpu_total_ns'] > 5 * by_function['give_short']['gpu_total_ns']


def test_a_foreign_file_gives_no_names(compile_c, run, tmp_path):
    """Another build at the same path."""
    program = compile_c(NATIVE, '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    recording = run(program).recording
    compile_c(NATIVE.replace('400', '401'), '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    assert all(f['function'] is None for s in report(recording)['sites'] for f in s['frames'])


FAKE = r'''
unsigned long Py_Version = VERSION;
struct { char cookie[8]; unsigned long version, free_threaded, rest[64]; } _PyRuntime = {"xdebugpy", VERSION, FREE};
long PyCode_Type, PyUnicode_Type, PyBytes_Type;
void *PyGILState_GetThisThreadState(void) { return &PyCode_Type; }
'''


@pytest.mark.parametrize('version, free, said', [
    ('0x031000f0', 0, 'never tried with Python 3.16'), ('0x030800f0', 0, 'never tried with Python 3.8'),
    ('0x030d00f0', 1, 'no GIL'), ('0x030d00f0', 0, 'not where this version has it'),
    ('0x030e00f0', 1, 'no GIL'), ('0x030e00f0', 0, 'not where this version has it')])
def test_python_that_is_not_read(compile_c, run, version, free, said):
    """A library that looks like one."""
    fake = compile_c(FAKE, f'-DVERSION={version}ul', f'-DFREE={free}', name='looks_like_python', shared=True)
    r = run(compile_c(NATIVE, f'-I{ROOT}', '-lcuda', f'-L{fake.parent}', '-Wl,--no-as-needed', '-llooks_like_python'), LD_LIBRARY_PATH=f'{BUILD / "sim"}:{fake.parent}')
    assert said in r.report['sites_python_trouble'], r.report['sites_python_trouble']
    assert r.report['sites']


# ---- recordings that are not what they were ------------------------------------------------------------------------------

DAMAGE = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "shim/core/format/trace_map.h"
/* One word of what call sites have in a recording becomes another. */
int main(int count, char **args)
{
	struct stat st;
	int fd = open(args[1], O_RDWR);
	fstat(fd, &st);
	struct tf_map m = {mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), st.st_size};
	struct tf_sites *a = tf_at(&m, tf_header(&m)->sites, sizeof(*a));
	uint64_t values[] = {0, 1, 7, 255, 65535, 1ull << 31, 1ull << 32, ~0ull, 64, 1ull << 63, st.st_size, st.st_size - 64,
	                     tf_header(&m)->sites};
	srand(atoi(args[2]));
	struct tf_table *tables[] = {&a->codes, &a->sites, &a->objects};
	struct tf_table *t = tables[rand() % 3];
	uint64_t *at = (uint64_t *)a + rand() % 24;
	uint8_t *entry = t->count ? tf_entry(&m, t, rand() % t->count, t->entry_bytes) : NULL;
	switch (entry ? rand() % 4 : 0) {
	case 0:
		break;
	case 1:
		at = (uint64_t *)t + rand() % 3;
		break;
	case 2:
		at = (uint64_t *)entry + rand() % (t->entry_bytes / 8);
		break;
	case 3: { /* what it leads to: frames, a text, a line table */
		uint64_t offset = ((uint64_t *)entry)[t == &a->codes ? rand() % 3 : t == &a->objects ? 3 : 0];
		uint8_t *p = tf_at(&m, offset, 64);
		if (p)
			at = (uint64_t *)p + rand() % 8;
		break;
	}
	}
	*at = rand() % 2 ? values[rand() % 13] : *at ^ 1ull << rand() % 64;
	return 0;
}
'''


def test_damaged_sites(tmp_path, compile_c):
    """Whatever stands there, the report is made, and is JSON."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    whole = recording_of(tmp_path, json.loads(p.stdout)['pid']).read_bytes()
    damage = compile_c(DAMAGE, f'-I{ROOT}', name='damage')
    for seed in range(80):
        file = tmp_path / 'damaged.cudaspy'
        file.write_bytes(whole)
        subprocess.run([damage, file, str(seed)], check=True)
        p = subprocess.run([REPORTER, 'report', '-f', 'json', file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode in (0, 2), (seed, p.returncode, p.stderr)
        if p.returncode == 0:
            json.loads(p.stdout)


# ---- code that a program made ----------------------------------------------------------------------------------------------

MADE = r'''
import sys, os, json, importlib.util
sys.path.insert(0, {library!r})
sys.path.insert(0, {here!r})
sys.argv = ['planted.py']
import planted, caller
planted.start()


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written():
    caller.call(load({temporary!r}, 'made_by_a_library').made, planted.item) # written


def compiled():
    caller.call(load({inductor!r}, 'made_by_the_compiler').made, planted.cpu) # compiled


def text():
    space = {{}}
    exec(compile('def made(f):\n    f()\n', '<string>', 'exec'), space)
    space['made'](planted.cuda.cuCtxGetDevice and planted.allocate) # text


def notebook():
    caller.call(load({cell!r}, 'cell').made, planted.cuda.cuCtxSynchronize)


written(), compiled(), text(), notebook()
print(os.getpid())
'''


def test_headlines_of_code_that_was_made(tmp_path):
    """Of a file that a library wrote and calls, of torch.compile's, of text: the line that somebody wrote. Cells of a notebook are
    the program's own."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    library = tmp_path / 'lib/python3/site-packages'
    library.mkdir(parents=True)
    (library / 'caller.py').write_text('def call(f, *a):\n    return f(*a)\n')
    (library / 'planted.py').write_text((HERE / 'planted.py').read_text()) # its functions count as a library's here
    import shutil
    import tempfile
    temporary = tempfile.mkdtemp(prefix='cudaspy-made-', dir='/tmp')
    home = tempfile.mkdtemp(prefix='cudaspy-home-', dir=BUILD)
    try:
        paths = {name: os.path.join(temporary, *parts) for name, parts in
                 {'temporary': ['conv_propagate.py'], 'inductor': ['torchinductor_me', 'ab', 'cab.py'], 'cell': ['ipykernel_1', '2.py']}.items()}
        for path in paths.values():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as out:
                out.write('def made(f):\n    inside(f)\ndef inside(f):\n    f()\n')
        program = os.path.join(home, 'program.py')
        text = MADE.format(library=str(library), here=str(library), **paths)
        with open(program, 'w') as out:
            out.write(text)
        p = run_python(python, tmp_path, program, CUDASPY_SITES='all')
        sites = report(recording_of(tmp_path, int(p.stdout)))['sites']
    finally:
        shutil.rmtree(temporary)
        shutil.rmtree(home)
    heads = {(s['api'], s['frames'][s['headline']]['file'], s['frames'][s['headline']]['line']) for s in sites
             if any(f['function'] == 'made' for f in s['frames'])}
    line = lambda mark: text.splitlines().index(next(l for l in text.splitlines() if l.endswith('# ' + mark))) + 1
    assert heads == {('cuCtxSynchronize', program, line('written')), ('cuMemcpyDtoH_v2', program, line('compiled')),
                     ('cuMemAlloc_v2', program, line('text')), ('cuMemFree_v2', program, line('text')),
                     ('cuCtxSynchronize', paths['cell'], 4)}


# ---- names, files and recordings that mean harm ----------------------------------------------------------------------------

def plain(text):
    """As the reporter reads a name: a text of C, up to 1024 characters."""
    return text[:1024].split('\0')[0]


def test_hostile_names(python, tmp_path):
    """Names of code that are a megabyte long, empty, or have control characters: the stack is read, and no output has a control
    character, a line or a column more for it."""
    more = ['../../secret.py', '/a/../../secret.py', '/secret.py']
    p = run_python(python, tmp_path, 'hostile_names.py', *more, CUDASPY_SITES='all')
    said = json.loads(p.stdout)
    recording = recording_of(tmp_path, said['pid'])
    r = report(recording, '--limit', 'all')
    assert r['sites_python_trouble'] is None and r['sites_left_out'] == 0
    files = {f['file'] for s in r['sites'] for f in s['frames'] if f['language'] == 'python' and f['function'] != 'item'}
    for name in said['names']:
        short = plain(name)
        if short.isascii() and short.isprintable() and '\\' not in short:
            assert (short or None) in files, short[:100]
    assert any('\u20ac' * 1000 in (f or '') for f in files)
    root = tmp_path / 'root' / 'src'
    root.mkdir(parents=True)
    (tmp_path / 'secret.py').write_text('one\nTOP SECRET\n')
    (tmp_path / 'root' / 'secret.py').write_text('one\nTOP SECRET\n')
    for options in ['--sites', '--limit', 'all'], ['--all-frames'], ['--sites', '--source-root', root], ['-f', 'md', '--sites'], ['-f', 'html'], ['-f', 'csv']:
        out = subprocess.run([REPORTER, 'report', *(['--all'] if '-f' not in options else []), *options, recording], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        assert out.returncode == 0, out.stderr
        text = out.stdout.decode()
        assert 'TOP SECRET' not in text
        assert 'html' not in options or '<script>alert(1)' not in text
        assert not {c for c in text if (ord(c) < 32 and c not in '\n\t\r') or ord(c) in (127, 0x202e) or 0x80 <= ord(c) < 0xa0}
    folded = tmp_path / 'out.folded'
    run_reporter('export', '-f', 'folded', '-o', folded, recording)
    for line in folded.read_text().splitlines():
        assert line.rsplit(' ', 1)[1].isdigit() and line.isprintable()


def test_a_source_file_that_is_none(moved, tmp_path):
    """A FIFO, a device or a folder in its place is not waited for, nor read."""
    recording, program, line = moved
    assert line in text_of(recording)
    size = program.stat().st_size
    program.unlink()
    os.mkfifo(program)
    assert line not in text_of(recording)
    assert line not in text_of(recording, '--source-root', program.parent)
    program.unlink()
    program.mkdir()
    assert line not in text_of(recording, '--source-root', program.parent)
    program.rmdir()
    program.symlink_to('/dev/zero')
    assert line not in text_of(recording, '--source-root', program.parent)
    program.unlink()
    with open(program, 'wb') as out: # as large as it was, and no text
        out.write(os.urandom(size))
    assert line not in text_of(recording, '--source-root', program.parent)


TABLES = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "shim/core/format/trace_map.h"
/* What call sites have in a recording, made as costly as its format lets it be. */
int main(int count, char **args)
{
	struct stat st;
	int fd = open(args[1], O_RDWR), way = atoi(args[2]);
	fstat(fd, &st);
	struct tf_map m = {mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), st.st_size};
	struct tf_sites *a = tf_at(&m, tf_header(&m)->sites, sizeof(*a));
	uint32_t sites = tf_count(&a->sites), codes = tf_count(&a->codes);
	uint64_t most = 0, longest = 0, n = 0;
	struct tf_site *from = NULL;
	for (uint32_t i = 0; i < sites; i++) {
		struct tf_site *s = tf_entry(&m, &a->sites, i, sizeof(*s));
		if (s->frame_count > most) {
			most = s->frame_count;
			from = s;
		}
	}
	for (uint32_t i = 0; i < codes; i++) {
		struct tf_code *c = tf_entry(&m, &a->codes, i, sizeof(*c));
		uint32_t bytes = 0;
		if (c->lines && tf_text(&m, c->lines, &bytes) && bytes > n) {
			n = bytes;
			longest = c->lines;
		}
	}
	for (uint32_t i = 0; i < sites; i++) {
		struct tf_site *s = tf_entry(&m, &a->sites, i, sizeof(*s));
		if (way == 0) /* all stacks are the largest one, and larger than that */
			s->frames = from->frames, s->frame_count = 0xffffffffu;
		if (way == 1) /* their frames are the recording's header */
			s->frames = 64, s->frame_count = 65536;
		if (way == 2) { /* ranges of a thread that lead to one another */
			strcpy(s->thread, "x\x1b[31m");
			s->range = 1;
		}
		if (way == 3)
			s->calls = s->ticks = s->bytes = s->samples = s->failed = ~0ull >> (i % 2);
		if (way == 5)
			s->call = (uint16_t)(i * 40503u), s->cut = 255;
	}
	for (uint32_t i = 0; i < codes && way == 4; i++) { /* line tables that never come to an end */
		struct tf_code *c = tf_entry(&m, &a->codes, i, sizeof(*c));
		c->lines = longest;
		c->python = 0x309 + i % 7;
		c->first_line = 0xffffffffu;
		memset((char *)tf_text(&m, longest, &(uint32_t){0}), i % 2 ? 0x80 : 0xff, n);
	}
	if (way == 2)
		for (uint32_t i = 0; i < tf_count(&tf_header(&m)->ranges); i++) {
			struct tf_nvtx_range *r = tf_entry(&m, &tf_header(&m)->ranges, i, sizeof(*r));
			r->parent = 1 + (i + 1) % tf_count(&tf_header(&m)->ranges);
		}
	if (way == 6)
		a->codes.count = a->sites.count = a->objects.count = 0xffffffffu;
	if (way == 7)
		for (uint32_t i = 0; i < tf_count(&a->objects); i++) {
			struct tf_object *o = tf_entry(&m, &a->objects, i, sizeof(*o));
			o->from = 0, o->until = ~0ull, o->bias = i * 77777, o->build_id_bytes = 0xffffffffu;
		}
	return 0;
}
'''


@pytest.mark.parametrize('way', range(8))
def test_costly_sites(tmp_path, compile_c, way):
    """Absurd counts, ranges in circles, tables that lead to one another: a report is made, soon, and is JSON."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', 'backward', BUILD / 'tests/e2e/libbackward.so', CUDASPY_SITES='all', NVTX_INJECTION64_PATH=SHIM)
    file = recording_of(tmp_path, json.loads(p.stdout)['pid'])
    subprocess.run([compile_c(TABLES, f'-I{ROOT}', name='tables'), file, str(way)], check=True)
    for options in ['-f', 'json'], ['--all', '--sites', '--limit', 'all'], ['-f', 'html']:
        p = subprocess.run([REPORTER, 'report', *options, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert p.returncode in (0, 2), (options, p.returncode, p.stderr)
        assert b'\x1b' not in p.stdout
        if p.returncode == 0 and options[1] == 'json':
            json.loads(p.stdout)


def test_a_recording_cut_anywhere(tmp_path):
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    whole = recording_of(tmp_path, json.loads(p.stdout)['pid']).read_bytes()
    file = tmp_path / 'cut.cudaspy'
    for part in range(1, 40):
        file.write_bytes(whole[:len(whole) * part // 40 // 8 * 8])
        p = subprocess.run([REPORTER, 'report', '-f', 'json', '--sites', file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode in (0, 2), (part, p.returncode, p.stderr)
        if p.returncode == 0:
            json.loads(p.stdout)
