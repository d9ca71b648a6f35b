# SPDX-License-Identifier: Apache-2.0
"""Call sites of Python: the line that a report names is the line that Python says it was, and its source is shown where it is the same."""
import contextlib
import gzip
import json
import os
import shutil
import sqlite3
import subprocess

from call_sites import HERE, check_stacks, export_of, interpreters, moved, python, recording_of, run_python, text_of
from conftest import BUILD, REPORTER, SHIM, report


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
