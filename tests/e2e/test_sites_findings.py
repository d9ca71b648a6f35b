# SPDX-License-Identifier: Apache-2.0
"""Call sites in findings, in the verdict and in tables by what sites have most of."""
import os
import re

import pytest

from call_sites import HERE, interpreters, recording_of, run_python, run_reporter, text_of
from conftest import VIRTUAL_TIME, report


def test_a_finding_names_its_line(run):
    r = run('sync_every_step', 20000, CUDASPY_GPU='sample', **VIRTUAL_TIME).report
    finding, = [f for f in r['findings'] if f['id'] == 'sync-every-step']
    most = max((s for s in r['sites'] if s['kind'] == 'wait'), key=lambda s: s['api_total_ns'])
    assert finding['site']['api'] == most['api'] and finding['site']['share'] > 0.5
    assert finding['site']['module'] == most['frames'][most['headline']]['module']


def test_findings_name_lines_of_what_is_judged(tmp_path):
    """Not of the start-up, which copies and waits far more; and the lines between which the GPU had nothing to do."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'phased.py', CUDASPY_GPU='sample', CUDASPY_BUDGET=50, CUDASPY_SITES='all')
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
    assert (starved['since']['line'], starved['until']['line']) == (line('wait'), line('loop'))
    assert set(starved['since']) == set(starved['until']) == {'function', 'file', 'line'}
    between = f'Between the calls at phased.py:{line("wait")} in step and :{line("loop")} in step (called at :'
    assert between in text_of(recording, '--section', 'findings')
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
    p = run_python(python, tmp_path, program, CUDASPY_GPU='sample', CUDASPY_BUDGET=50, **VIRTUAL_TIME)
    recording = recording_of(tmp_path, p.stdout.strip())
    lines = {text.splitlines().index(one) + 1 for one in text.splitlines() if 'cuStreamSynchronize' in one or 'cuLaunchKernel' in one}
    for options in [], ['-f', 'brief']:
        page = run_reporter('report', *options, recording, env={**os.environ, 'COLUMNS': '80'})
        found = {int(n) for n in re.findall(r' at:? waits\.py:(\d+)(?: in|:)', page)}
        assert found and found <= lines, page


COPIES = '''
PINNED = ctypes.c_void_p()
NUMBER = ctypes.create_string_buffer(64)


def brought():
    cuda.cuMemcpyHtoDAsync_v2(MEMORY, PINNED, SIZE(1 << 20), None)


def read():
    cuda.cuMemcpyDtoH_v2(NUMBER, MEMORY, SIZE(64))


start()
assert cuda.cuMemHostAlloc(ctypes.byref(PINNED), SIZE(1 << 20), 0) == 0
for i in range(400):
    brought()
    for _ in range(10):
        launch()
    read()
print(os.getpid())
'''


def test_copies_that_could_overlap_are_those_that_take_the_gpu_long(tmp_path):
    """Not the small one that waits for all that: most of the calls' time is its."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    program = tmp_path / 'copies.py'
    program.write_text((HERE / 'planted.py').read_text().split('def nested')[0] + COPIES)
    p = run_python(python, tmp_path, program, CUDASPY_GPU='sample', CUDASPY_BUDGET=50, **VIRTUAL_TIME)
    r = report(recording_of(tmp_path, p.stdout.strip()))
    copies = {s['frames'][s['headline']]['function']: s for s in r['sites'] if s['kind'] == 'copy'}
    assert copies['read']['api_total_ns'] > copies['brought']['api_total_ns']
    site, = [f['site'] for f in r['findings'] if f['id'] == 'copy-not-overlapped']
    assert (site['function'], site['measure']) == ('brought', 'GPU time')


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
