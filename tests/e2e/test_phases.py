# SPDX-License-Identifier: Apache-2.0
"""A run is start-up, loops that may take turns, and an end; each loop is judged alone.

The program spends half a second on start-up, then takes turns between 400 steps of training that wait for each of two short
kernels, and 40 of evaluation that keep the GPU busy; in virtual time.
"""
import json
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, REPORTER, SHIM, SIM, VIRTUAL_TIME, environment, need_nvtx

ROUNDS = 3


def record(folder, *arguments, **variables):
    folder.mkdir(exist_ok=True)
    env = environment(folder, sim=SIM, CUDASPY_GPU='sample', SIM_DATA_MIB='0', SIM_LATENCY_NS='6000', **VIRTUAL_TIME, **variables)
    p = subprocess.run([BUILD / 'tests/e2e/phases', *map(str, arguments)], env=env, cwd=folder, timeout=300,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert p.returncode == 0, p.stdout
    found, = folder.glob('*.cudaspy')
    return found


@pytest.fixture(scope='module', params=['nvtx', 'found'])
def recording(request, tmp_path_factory):
    nvtx = {}
    if request.param == 'nvtx':
        need_nvtx()
        nvtx = {'NVTX_INJECTION64_PATH': SHIM}
    return request.param, record(tmp_path_factory.mktemp('phases'), ROUNDS, **nvtx)


def report(recording, *options, status=0):
    p = subprocess.run([REPORTER, 'report', *options, recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=120)
    assert p.returncode == status, p.stderr
    return p.stderr if status else p.stdout


def as_json(recording, *options):
    return json.loads(report(recording, '-f', 'json', *options))


def test_phases(recording):
    how, path = recording
    run = as_json(path)
    kinds = [phase['kind'] for phase in run['phases']]
    assert kinds[:3] == ['start', 'loop', 'loop'] and kinds[3:] in ([], ['end'])
    start, train, evaluation = run['phases'][:3]
    assert 500e6 < start['end_ns'] < 520e6 and start['host']['outside_ns'] > 0.9 * start['time_ns']
    assert [train['number'], evaluation['number'], run['phase']] == [1, 2, 1]
    assert {train['source'], evaluation['source']} == {how}
    if how == 'nvtx':
        assert [train['name'], train['steps'], evaluation['name'], evaluation['steps']] == ['train', 1200, 'eval', 120]
        assert train['per_step']['launches'] == 2 and evaluation['per_step']['copies'] == 1
    assert train['stretch_count'] == evaluation['stretch_count'] == ROUNDS
    assert train['time_ns'] == pytest.approx(1200 * 114e3, rel=0.05)
    assert evaluation['time_ns'] == pytest.approx(120 * 821e3, rel=0.06)
    shares = [phase['share_of_window'] for phase in run['phases']]
    assert 0.98 < sum(shares) <= 1.001
    assert run['phases_between_ns'] < 0.02 * run['window_ns']


def test_time_in_no_phase(tmp_path):
    path = record(tmp_path, ROUNDS, 200)
    run = as_json(path)
    assert run['phases_between_ns'] == pytest.approx(ROUNDS * 200e6, rel=0.02)
    between = run['phases_between_ns'] + sum(phase['time_ns'] for phase in run['phases'])
    assert between == pytest.approx(run['window_ns'], rel=0.001)
    assert re.search(r'^ +-  6\d\dms +\d\d\.\d +-  +-  +-  between, in no loop$', report(path, '--all'), re.M)
    flat = ' '.join(report(path, '--phase', 'loop', '2').split())
    assert re.search(r'start-up 51\d ms, then 2[45]\d ms before this loop', flat), flat
    assert 'before this loop' not in report(path)


def test_long_before_the_first_call(tmp_path):
    """What a program reads before it uses CUDA takes no slices away: loops are told apart as without it."""
    paths = [record(tmp_path / name, ROUNDS, 0, ms) for name, ms in (('soon', 0), ('late', 6000))]
    soon, late = map(as_json, paths)
    assert late['wall_ns'] > 6e9 and late['window_ns'] == pytest.approx(soon['window_ns'], rel=0.01)
    text = report(paths[1], '--all')
    assert re.search(r'^The run from cuInit on, \d\d\dms from left to right', text, re.M), text[-3000:]
    loops = ([phase for phase in run['phases'] if phase['kind'] == 'loop'] for run in (soon, late))
    for a, b in zip(*loops, strict=True):
        assert a['verdict']['class'] == b['verdict']['class']
        assert b['host']['sync_useful_ns'] == pytest.approx(a['host']['sync_useful_ns'], rel=0.05)


def test_each_loop_has_its_verdict(recording):
    run = as_json(recording[1])
    train, evaluation = run['phases'][1:3]
    assert run['verdict'] == train['verdict']
    assert [train['verdict']['class'], evaluation['verdict']['class']] == ['sync-bound', 'gpu-bound']
    assert train['gpu']['busy_share_low'] <= 60 / 114 <= train['gpu']['busy_share_high']
    assert evaluation['gpu']['busy_share_low'] <= 800 / 821 <= evaluation['gpu']['busy_share_high']
    assert train['gpu']['busy_share_high'] - train['gpu']['busy_share_low'] < 0.2
    assert 'sync-every-step' in [finding['id'] for finding in run['findings']]


def test_phase_asked_for(recording):
    path = recording[1]
    for words in ['loop', '2'], ['loop 2'], ['loop2']:
        run = as_json(path, '--phase', *words)
        assert run['phase'] == 2 and run['verdict']['class'] == 'gpu-bound' and run['verdict'] == run['phases'][2]['verdict']
        assert not [finding for finding in run['findings'] if finding['id'].startswith('sync')]
        assert run['steps']['count'] == run['phases'][2]['steps']
    whole = as_json(path, '--phase', 'all')
    assert whole['phase'] is None
    assert whole['phases'][1]['verdict']['class'] == 'sync-bound'
    start = as_json(path, '--phase', 'start')
    assert start['phase'] == 0 and start['verdict']['class'] == 'host-bound', start['verdict']
    assert start['steps']['source'] == 'none'
    # What is counted is that of the whole run, whatever is judged.
    assert run['totals'] == whole['totals'] == start['totals']


def test_screen_of_start_up(recording):
    """The steps are the loops', the kernels the run's: neither is said to be of start-up."""
    text = ' '.join(report(recording[1], '--phase', 'start').split())
    assert 'phase start-up, 51' in text and "; judged is what follows the first CUDA call, 5" in text
    assert 'steps of' not in text and 'kernel of the run' in text


def test_screen_of_the_whole_run(recording):
    """The loop's steps are told whatever is judged."""
    step = as_json(recording[1])['steps']['duration_ns']['mean'] / 1e3
    for form in [], ['--all'], ['-f', 'brief']:
        whole = report(recording[1], *form, '--phase', 'all')
        told = re.search(r'^loop[: ].*? steps of ([\d.]+) us', whole, re.MULTILINE)
        assert float(told.group(1)) == pytest.approx(step, rel=0.02)
        assert form == ['-f', 'brief'] or '; judged is the whole run' in ' '.join(whole.split())


def test_phase_that_is_not_there(recording, tmp_path):
    path = recording[1]
    assert '--phase 3: unknown; a loop is --phase loop 3' in report(path, '--phase', '3', status=2)
    assert '--phase loop 3: the run has 2 loops' in report(path, '--phase', 'loop', '3', status=2)
    assert 'a number from 1 is to follow, not 0' in report(path, '--phase', 'loop', '0', status=2)
    assert 'a number from 1 is to follow, not ' in report(path, '--phase', 'loop', status=2) # the file's name


def test_text(recording):
    text = report(recording[1], '--all')
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    flat = ' '.join(text.split())
    assert 'loop 1 of 2: ' in flat and '% of this run of ' in flat and 'start-up 51' in flat
    assert 'best change saves about ' in flat and 'of each step of ' in flat
    table = text[text.index('Phases ('):]
    assert 'loop 1*: sync-bound' in table and 'loop 2: gpu-bound' in table
    assert 'Start-up (' in table and 'outside CUDA between calls' in table
    phase, = [line for line in lines if line.startswith('  phase ')]
    marks = phase.split()[1]
    assert marks.startswith('sss') and '1' in marks and '2' in marks and marks.index('1') < marks.index('2') < marks.rindex('1')
    assert '# cudaspy report' in report(recording[1], '-f', 'md')


def shares(text, section):
    """Of each row of a section's table what its columns of figures say, by the heads above them."""
    lines = text[text.index(f'\n{section} '):].splitlines()[2:]
    heads = next(line for line in lines if line.startswith('  ') and ' %win' in line)
    names, found = heads.split(' the ')[0].split(), {}
    for line in lines[lines.index(heads) + 1:]:
        words = line.split()
        if not re.match(r'  +\S*\d[a-z]* ', line):
            break
        found[' '.join(words[len(names):]).lstrip('= ')] = dict(zip(names, words))
    return found


def test_tables_of_what_is_judged(recording):
    """The tables of the window have the figures of the phase that the verdict is of beside theirs, and name both."""
    path = recording[1]
    for phase, words in [(1, []), (2, ['--phase', 'loop 2'])]:
        text = report(path, '--section', 'gpu', '--section', 'host', *words)
        run = as_json(path, *words)
        judged = run['phases'][phase]
        assert max(map(len, text.splitlines())) <= 80
        assert re.search(rf'; %loop: % of the \S+ of loop {phase} that are judged\)', ' '.join(text.split()))
        gpu, host = shares(text, 'GPU'), shares(text, 'Host time')
        # The verdict leaves out what the GPU waited for cudaspy.
        without = 1 - float(gpu.get('idle: cudaspy took a sample or stack', {'%loop': 0})['%loop'].replace('<', '')) / 100
        busy, low, high = (100 * without * judged['gpu'][f'busy_share{end}'] for end in ('', '_low', '_high'))
        assert float(gpu['busy: estimated']['%loop']) == pytest.approx(busy, abs=0.3)
        assert float(gpu['busy: estimated']['%win']) == pytest.approx(100 * run['gpu']['busy_share'], abs=0.11)
        waits = judged['host']['sync_useful_ns'] + judged['host']['sync_wasted_ns']
        assert float(host['waiting for the GPU']['%loop']) == pytest.approx(100 * waits / judged['time_ns'], abs=2)
        told = re.search(rf' % of the window, (\S+) to (\S+) % of loop {phase}\.', ' '.join(text.split()))
        assert [float(told[1]), float(told[2])] == pytest.approx([low, high], abs=0.5)
        assert ('loop' in gpu['busy: estimated']) == bool(words)
    for words in [], ['--phase', 'all']:
        assert ('%loop' in report(path, '--section', 'gpu', '--section', 'host', *words)) == (not words)
    assert '%start: % of the 51' in ' '.join(report(path, '--phase', 'start', '--section', 'host').split())


def test_the_tables_of_several_processes_are_sums(recording, tmp_path):
    """Of two processes the window is twice as long as the run, and the headings say why."""
    for name in 'ab':
        shutil.copy(recording[1], tmp_path / f'{name}.cudaspy')
    flat = ' '.join(report(tmp_path, '--section', 'gpu', '--section', 'host').split())
    assert 'of the windows of all devices and processes, added up' in flat and 'of the windows of all processes, added up' in flat
    assert flat.count(' that are judged, added up as well)') == 2
    assert 'added up' not in report(recording[1], '--section', 'gpu', '--section', 'host')


def test_findings_name_what_is_judged(recording):
    """Their shares are of the loop, and say so; of the whole run they are of the steady time. A gain is told once."""
    path = recording[1]
    told = {}
    for words in 'loop 1', 'loop 2', 'all':
        found = as_json(path, '--phase', words)['findings']
        told[words] = ' '.join(finding['evidence'] for finding in found)
        for finding in found:
            predicted = finding['predicted_speedup'] is not None
            assert not (predicted and 'would shorten' in finding['evidence']), finding
            assert predicted or 'The speed-up is' not in finding['evidence'], finding
    for words in 'loop 1', 'loop 2':
        assert not re.search('window|steady time', told[words]), told[words]
    assert re.search("host's time in the loop, and the GPU idles because of the host for an estimated \\S+ % of the loop", told['loop 1'])
    assert 'steady time' in told['all'] and 'in the loop' not in told['all']


def test_a_run_without_steps(tmp_path):
    p = subprocess.run([BUILD / 'tests/e2e/crowd', '1', '3'], env=environment(tmp_path), cwd=tmp_path, timeout=60)
    assert p.returncode == 0
    path, = tmp_path.glob('*.cudaspy')
    run = as_json(path)
    assert run['phases'] == [] and run['phase'] is None
    assert 'no loop was found' in report(path, '--phase', 'loop', '1', status=2)
    assert 'no loop was found' in report(path, '--phase', 'start', status=2)
    assert as_json(path, '--phase', 'all')['verdict'] == run['verdict']
