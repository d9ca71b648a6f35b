# SPDX-License-Identifier: Apache-2.0
"""A check never passes on what is not there: recordings that are cut or damaged, files that cannot be read, ranges that never opened.

tests/fuzz/damage.c does the same by the ten thousand.
"""
import contextlib
import csv
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess

import pytest

from conftest import BUILD, ROOT, SAMPLES, environment, report
from test_check import check, cudaspy, outcomes, record

LAUNCHES = 20000
RULES = ['launches <= 5', 'syncs = 0', 'kernel "." launches <= 5', 'calls <= 5', 'copies = 0']


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """A recording of many launches, whole."""
    folder = record(tmp_path_factory.mktemp('whole') / 'run', SAMPLES / 'sim/many_tiny_launches', LAUNCHES)
    return next(folder.glob('*.cudaspy'))


@pytest.fixture(scope='module')
def baseline(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp('base') / 'base.json'
    check('--save-baseline', path, whole, status=0)
    return path


def limits(rules=RULES):
    return [f'--limit={r}' for r in rules]


def cut(whole, path, size):
    with open(whole, 'rb') as f:
        path.write_bytes(f.read(size))
    return path


def sizes(whole):
    """From 64 KiB on, and close to the end."""
    end = whole.stat().st_size
    return [*range(65536, end, end // 24), end - 4096, end - 64, end - 8, end - 1]


def test_whole(whole, baseline):
    found = outcomes(*limits(), whole, status=1)
    assert all(r['outcome'] == 'fail' for r in found.values())
    check('--baseline', baseline, whole, status=0)
    r = report(whole)
    assert r['lost']['damaged'] is None and r['processes'][0]['damaged'] is None


def test_every_cut(whole, baseline, tmp_path):
    for size in sizes(whole):
        part = cut(whole, tmp_path / 'part.cudaspy', size)
        found = outcomes(*limits(), part, status=3)
        assert all(r['outcome'] == 'inconclusive' and 'the recording is damaged: ' in r['reason'] for r in found.values()), size
        check('--baseline', baseline, part, status=3)
        check('--allow-killed', *limits(), part, status=3)
        check('--expect-kernel', 'increment', part, status=3)
        r = report(part)
        assert 'cut short' in r['lost']['damaged'] and r['processes'][0]['state'] == 'complete'
        assert r['verdict']['class'] == 'inconclusive'


def test_cuts_inside_the_header(whole, tmp_path):
    for size in (0, 1, 7, 8, 100, 4096, 13000):
        p = check(*limits(), cut(whole, tmp_path / 'part.cudaspy', size), status=2)
        assert len(p.stderr.splitlines()) == 1 and not p.stdout


def test_a_damaged_recording_in_words(whole, baseline, tmp_path):
    part = cut(whole, tmp_path / 'part.cudaspy', 65536)
    text = cudaspy('report', '--all', part, status=0).stdout
    assert 'state       damaged: the file is cut short: 65536 of' in text
    assert 'lost        not known' in text and 'state       complete' not in text and 'lost        nothing' not in text
    both = cudaspy('report', '--all', whole, part, status=0).stdout
    assert 'state       2 processes: 1 complete, 1 damaged\n' in both and 'lost        not known' in both
    p = check('--save-baseline', tmp_path / 'new.json', part, status=2)
    assert 'no baseline: the recording is damaged' in p.stderr and len(p.stderr.splitlines()) == 1
    assert not (tmp_path / 'new.json').exists()
    check('--save-baseline', tmp_path / 'new.json', '--allow-killed', part, status=2)
    # A long path is broken wherever a line ends.
    assert 'part.cudaspy:therecordingisdamaged' in ''.join(cudaspy('diff', whole, part, status=0).stdout.split())
    found = json.loads(cudaspy('diff', '--format', 'json', part, whole, status=0).stdout)
    assert 'is damaged' in found['before']['missing'][0] and found['after']['missing'] is None
    # As a baseline it allows nothing.
    found = outcomes('--baseline', part, '-l', 'launches <= +0', '-l', f'launches = {LAUNCHES}', whole, status=3)
    assert found['launches <= +0']['outcome'] == 'inconclusive' and found[f'launches = {LAUNCHES}']['outcome'] == 'pass'


def exact_counts(r):
    """All that a report says to be exact."""
    found = [*r['totals'].values(), r['in_graphs'], *(r['lost'][k] for k in ('records', 'share', 'written', 'calls')),
             r['gpu']['first_launches'], r['gpu']['launch_ns']]
    for rows, keys in ((r['processes'], 'calls failed launches lost_records'), (r['host']['threads'], 'calls failed launches lost_records'),
                       (r['apis'], 'calls failed'), (r['kernels'], 'launches captured graph_launches failed first_launches'),
                       (r['copies'], 'count bytes'), (r['graphs'], 'launches updates')):
        found += [row[key] for row in rows for key in keys.split()]
    return found


def test_no_output_has_a_count_of_a_damaged_recording(whole, tmp_path):
    """They were 0, and exact."""
    for at, size in enumerate([100000, 1000000, whole.stat().st_size // 2, whole.stat().st_size - 8]):
        part = cut(whole, tmp_path / 'part.cudaspy', size)
        assert set(exact_counts(report(part))) == {None}, size
        brief = cudaspy('report', '-f', 'brief', part, status=0).stdout
        assert 'calls, launches, graph launches, copies, syncs: not known' in brief and '(exact)' not in brief
        text = ' '.join(cudaspy('report', '--all', part, status=0).stdout.split())
        assert 'nor is any count' in text and '(n/a calls x' in text and 'threads using CUDA' not in text
        for table, columns in (('apis', [3, 4]), ('kernels', [1, 2, 3, 17]), ('copies', [3, 4]), ('threads', [3, 4])):
            rows = csv.reader(cudaspy('report', '-f', 'csv', '--table', table, part, status=0).stdout.splitlines()[1:])
            assert not [row for row in rows for column in columns if row[column]], table
        p = cudaspy('export', '-f', 'openmetrics', part, status=0)
        assert 'no count is known: the recording is damaged' in p.stderr and len(p.stderr.splitlines()) == 1
        assert 'cudaspy_run_damaged 1\n' in p.stdout
        assert not re.search(r'^cudaspy_(calls|launches|copies|lost_\w+|api_calls|kernel_launches)\b', p.stdout, re.M)
        counts = {'calls', 'launches', 'syncs', 'copies', 'launch-overhead-ns'}
        assert not counts & {*json.loads(cudaspy('export', '-f', 'bmf', part, status=0).stdout).get('run', {})}
        p = cudaspy('export', '-f', 'csv', '-t', 'totals', part, status=0)
        assert set(p.stdout.splitlines()[1]) == {','}
        if at == 3:
            trace = json.loads(cudaspy('export', '-f', 'chrome', part, status=0).stdout)
            assert trace['cudaspy']['processes'][0]['calls'] is None
            database = tmp_path / 'part.sqlite'
            cudaspy('export', '-f', 'sqlite', '-o', database, part, status=0)
            with contextlib.closing(sqlite3.connect(database)) as opened:
                assert opened.execute('SELECT calls, launches FROM cudaspy_totals').fetchall() == [(None, None)]


def test_a_damaged_recording_compared(whole, tmp_path):
    part = cut(whole, tmp_path / 'part.cudaspy', 1000000)
    text = cudaspy('diff', whole, part, status=0).stdout
    words = ' '.join(text.split())
    assert 'the counts of after are not known.' in words and 'gone' not in words and '-> 0' not in words
    assert re.search(rf'launches +{LAUNCHES} +n/a +n/a', text)
    for one, other, known, lacks in ((whole, part, 'before', 'after'), (part, whole, 'after', 'before')):
        found = json.loads(cudaspy('diff', '-f', 'json', one, other, status=0).stdout)
        for row in [*found['counts'].values(), *found['kernels'], *found['apis'], *found['copies']]:
            assert row[known] and row[lacks] is None and row['difference'] is None and row['changed'] is None
        assert {row['presence'] for row in found['kernels'] + found['apis']} <= {'both', None}
        assert found['sites'] is None
    both = ' '.join(cudaspy('diff', part, part, status=None).stdout.split())
    assert not both or 'the counts of before and after are not known.' in both


def test_one_byte_of_a_closed_recording(tmp_path):
    """Slots of a ring that the collector has taken are nobody's any more; where rings lie depends on when they grew. With rings
    of 512 records at most (33 KiB) few of the bytes looked at can be there."""
    folder = record(tmp_path / 'run', SAMPLES / 'sim/many_tiny_launches', LAUNCHES, CUDASPY_RING=512)
    data = bytearray(next(folder.glob('*.cudaspy')).read_bytes())
    flipped, alloc_end = tmp_path / 'flipped.cudaspy', struct.unpack_from('<Q', data, 48)[0]
    flipped.write_bytes(data)
    whole, untold = cudaspy('report', '--format', 'json', flipped, status=0).stdout, []
    assert alloc_end > 1 << 20
    for at in [60, 1400, *range(20000, alloc_end, 20000)]:
        data[at] ^= 16
        flipped.write_bytes(data)
        data[at] ^= 16
        found = json.loads(check('--format', 'json', '-l', 'launches <= 5', flipped, status=None).stdout)['rules'][0]
        if found['outcome'] == 'fail':
            untold.append(at)
            assert cudaspy('report', '--format', 'json', flipped, status=0).stdout == whole
        else:
            assert found['outcome'] == 'inconclusive' and 'digest' in found['reason']
    assert len(untold) <= 3 and all(at > 1 << 20 for at in untold)


def killed_recording(folder):
    """What a process that was killed left, and how much it had counted."""
    folder.mkdir()
    process = subprocess.Popen([BUILD / 'tests/e2e/steady', '2'], env=environment(folder), cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    path, = folder.glob('*.cudaspy')
    while report(path)['totals']['launches'] < 1000:
        pass
    process.kill()
    process.communicate()
    return path


def test_a_killed_recording_that_is_cut(tmp_path):
    """It is told from a whole one: its space was reserved, and is gone."""
    killed = killed_recording(tmp_path / 'run')
    assert report(killed)['lost']['damaged'] is None
    check('--limit', 'launches <= 5', killed, status=1)  # it would not have become fewer
    check('--limit', 'launches >= 5', '--allow-killed', killed, status=0)
    for size in sizes(killed):
        part = cut(killed, tmp_path / 'part.cudaspy', size)
        for more in ([], ['--allow-killed']):
            found = outcomes(*limits(), *more, part, status=3)
            assert 'cut short' in found['launches <= 5']['reason'], size
        assert report(part)['processes'][0]['state'] == 'killed'


# ---- folders ---------------------------------------------------------------------------------------------------------

def wrong_version(data):
    return data[:8] + struct.pack('I', 77) + data[12:]


UNREADABLE = {
    'text': (lambda data: b'no recording at all', 'not a cudaspy recording'),
    'empty': (lambda data: b'', 'not a cudaspy recording'),
    'header': (lambda data: data[:4096], 'ends inside its header'),
    'version': (wrong_version, 'format version 77'),
    'stub': (lambda data: b'CUDASPY>/nonexistent/x.live\n', 'a stub for /nonexistent/x.live'),
}


@pytest.mark.parametrize('kind', UNREADABLE)
def test_a_folder_with_a_file_that_cannot_be_read(whole, baseline, tmp_path, kind):
    make, why = UNREADABLE[kind]
    folder = tmp_path / 'run'
    folder.mkdir()
    shutil.copy(whole, folder / 'a.cudaspy')
    check('--baseline', baseline, folder, status=0)
    (folder / 'b.cudaspy').write_bytes(make(whole.read_bytes()))
    p = check('--baseline', baseline, folder, status=3)
    line, = p.stderr.splitlines()
    assert 'left out: ' in line and 'b.cudaspy: ' in line and why in line
    assert 'cannot be read' in p.stdout and why in p.stdout
    check('--limit', 'launches <= 5', folder, status=3)
    p = check('--save-baseline', tmp_path / 'new.json', folder, status=2)
    assert 'no baseline: 1 of its files cannot be read' in p.stderr
    p = cudaspy('report', folder, status=0)
    assert why in p.stderr and 'b.cudaspy' in p.stderr
    p = cudaspy('report', folder / 'a.cudaspy', folder / 'b.cudaspy', status=2)
    assert why in p.stderr and len(p.stderr.splitlines()) == 1 and not p.stdout
    check('--baseline', baseline, folder / 'b.cudaspy', status=2)


def test_a_folder_with_nothing_that_can_be_read(tmp_path):
    (tmp_path / 'x.cudaspy').write_text('no recording')
    p = check('--limit', 'launches <= 5', tmp_path, status=2)
    assert 'x.cudaspy: not a cudaspy recording' in p.stderr and 'that can be read' in p.stderr


def test_what_is_not_called_a_recording_is_no_matter(whole, baseline, tmp_path):
    shutil.copy(whole, tmp_path / 'a.cudaspy')
    (tmp_path / 'notes.txt').write_text('x')
    (tmp_path / 'folder.cudaspy').mkdir()
    p = check('--baseline', baseline, tmp_path, status=0)
    assert p.stderr == ''


def test_a_process_that_says_it_is_of_another_run(tmp_path):
    """Its recording is damaged: it may be of this run, whose counts would be short of it."""
    folder = record(tmp_path / 'run', 'sh', '-c', f'{BUILD}/tests/e2e/steps 20; {BUILD}/tests/e2e/steps 20', CUDASPY_RUN_ID='one')
    check('--limit', 'launches <= 40', folder, status=1)
    first, second = sorted(folder.glob('*.cudaspy'), key=lambda f: f.stat().st_mtime)
    data = first.read_bytes()
    at = data.index(b'one\0')
    times = first.stat()
    first.write_bytes(data[:at] + b'two\0' + data[at + 4:])
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
    p = check('--limit', 'launches <= 40', folder, status=3)
    assert f'{first} is damaged, and may be of this run' in p.stdout
    check('--limit', 'launches <= 40', second, status=0)
    # Another run that is whole is another run.
    other = record(tmp_path / 'other', BUILD / 'tests/e2e/steps', 20)
    first.unlink()
    shutil.copy2(next(other.glob('*.cudaspy')), folder / 'other.cudaspy')
    os.utime(folder / 'other.cudaspy', ns=(0, 0))
    check('--limit', 'launches <= 40', folder, status=0)


# ---- ranges ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('mode, why', [('profiler', 'cuProfilerStart was not called'), ('3600:1', 'by time')])
def test_a_range_that_never_opened(tmp_path, mode, why):
    run = record(tmp_path / 'run', BUILD / 'tests/e2e/steps', 20, CUDASPY_RANGE=mode)
    found = outcomes('-l', 'launches <= 5', '-l', 'syncs = 0', '-l', 'launches >= 1', run, status=3)
    assert all(why in r['reason'] and r['outcome'] == 'inconclusive' for r in found.values())
    p = check('--save-baseline', tmp_path / 'base.json', run, status=2)
    assert 'its range never opened' in p.stderr
    text = ' '.join(cudaspy('report', '--all', run, status=0).stdout.split())
    assert 'range its range never opened, nothing was recorded: ' in text and why in text
    r = report(*run.glob('*.cudaspy'))
    assert r['window_ns'] is None and r['startup_ns'] is None
    assert r['processes'][0]['range_opened'] is False and r['lost']['damaged'] is None
    assert r['totals']['calls'] == r['totals']['launches'] == 0  # of what was to be recorded


def test_a_range_with_nothing_in_it(tmp_path, compile_c):
    """It opened: its counts are known, and 0; a rule passed on them."""
    source = '#include <cudaProfiler.h>\n#include "tests/e2e/programs/work.h"\n' \
             'int main(void) { work_start(); cuProfilerStart(); cuProfilerStop(); work_launches(7); return 0; }'
    run = record(tmp_path / 'run', compile_c(source, '-lcuda', '-I', str(ROOT)), CUDASPY_RANGE='profiler')
    recording, = run.glob('*.cudaspy')
    r = report(recording)
    assert r['processes'][0]['range_opened'] is True and r['totals']['launches'] == 0
    assert [a['name'] for a in r['apis']] == ['cuProfilerStop']
    for rule in ('launches <= 100', 'calls <= 1', 'verdict != sync-bound'):
        found = outcomes('--limit', rule, recording, status=3)[rule]
        assert found['outcome'] == 'inconclusive' and 'no CUDA call was recorded' in found['reason']
    p = check('--save-baseline', tmp_path / 'base.json', recording, status=2)
    assert 'no baseline: no CUDA call was recorded' in p.stderr and not (tmp_path / 'base.json').exists()


def test_a_range_that_one_process_of_a_run_opened(tmp_path, compile_c):
    """Others of the run may have nothing to do with it."""
    source = '#include <cudaProfiler.h>\n#include "tests/e2e/programs/work.h"\n' \
             'int main(void) { work_start(); cuProfilerStart(); work_launches(7); cuProfilerStop(); return 0; }'
    program = compile_c(source, '-lcuda', '-I', str(ROOT))
    run = record(tmp_path / 'run', 'sh', '-c', f'{program}; {BUILD}/tests/e2e/steps 20', CUDASPY_RANGE='profiler', CUDASPY_RUN_ID='one')
    assert len(list(run.glob('*.cudaspy'))) == 2
    check('--limit', 'launches = 7', run, status=0)
    assert 'range never opened in 1 of 2 processes' in ' '.join(cudaspy('report', '--all', run, status=0).stdout.split())
