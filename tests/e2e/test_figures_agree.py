# SPDX-License-Identifier: Apache-2.0
"""What a report says sums up, and every form of it says the same."""
import csv
import io
import re
import subprocess

import pytest

from conftest import BUILD, REPORTER, SHIM, VIRTUAL_TIME, environment, report
from html_data import data_in

E2E = BUILD / 'tests/e2e'
HOST = ('launch_ns', 'back_pressure_ns', 'contention_ns', 'sync_useful_ns', 'sync_wasted_ns', 'copy_ns', 'alloc_ns', 'module_ns',
        'other_cuda_ns', 'outside_ns', 'sampling_ns')
# How a run is made: program and arguments, variables. The threads run in real time: on a busy machine none of theirs is timed.
RUNS = {
    'steps': (('steps', '300', 'copy', 'sync'), {'CUDASPY_GPU': 'sample', **VIRTUAL_TIME}),
    'steps of ranges': (('nvtx_ranges', '40'), {'CUDASPY_GPU': 'sample', 'NVTX_INJECTION64_PATH': SHIM}),
    'threads': (('crowd', '4', '300'), {'CUDASPY_GPU': 'sample'}),
    'all sites': (('steps', '100', 'copy', 'sync'), {'CUDASPY_SITES': 'all', 'CUDASPY_TRACE': '1', **VIRTUAL_TIME}),
    'nothing timed': (('steps', '100'), {'CUDASPY_GPU': 'off', **VIRTUAL_TIME}),
    'killed': (('steps', '60', 'kill'), {'CUDASPY_GPU': 'sample', **VIRTUAL_TIME}),
}


@pytest.fixture(scope='module', params=RUNS)
def recording(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp('agree')
    command, variables = RUNS[request.param]
    subprocess.run([E2E / command[0], *command[1:]], env=environment(folder, CUDASPY_QUIET=1, **variables), cwd=folder,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)
    return next(folder.glob('*.cudaspy'))


@pytest.fixture(scope='module')
def whole(recording):
    return report(recording)


def printed(recording, *options):
    p = subprocess.run([REPORTER, 'report', *options, recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                       universal_newlines=True)
    assert p.returncode == 0, p.stderr
    return p.stdout


def values(value, path=''):
    """(path, key, number, the object that it is in) of all numbers that have a key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from values(item, f'{path}.{key}')
        elif isinstance(item, (int, float)) and not isinstance(item, bool) and isinstance(key, str):
            yield f'{path}.{key}', key, item, value


def known(rows, key):
    return sum(row[key] for row in rows if row[key] is not None)


def may_know_nothing(whole):
    """Of the GPU's time: not asked for, or threads in real time on a machine so busy that no kernel of theirs was timed."""
    crowd = len(whole['host']['threads']) > 1 and not any(kernel['samples'] for kernel in whole['kernels'])
    return crowd or whole['gpu']['mode'] == 'off'


def nearly(a, b, share=0.002, ns=1000):
    return abs(a - b) <= max(share * max(abs(a), abs(b)), ns)


# ---- within the JSON -----------------------------------------------------------------------------------------------

def test_parts_sum_to_the_whole(whole):
    totals = whole['totals']
    assert known(whole['apis'], 'calls') == totals['calls']
    assert known(whole['apis'], 'failed') == totals['failed']
    assert known(whole['kernels'], 'launches') == totals['launches']
    assert known(whole['copies'], 'count') == totals['copies']
    assert known(whole['copies'], 'bytes') == totals['copy_bytes']
    assert sum(c['count'] for c in whole['copies'] if c['host_memory'] == 'pageable') == totals['pageable_copies']


def test_threads_divide_without_rest(whole):
    host = whole['host']
    assert may_know_nothing(whole) or nearly(sum(host[k] for k in HOST), host['window_ns'])
    for thread in host['threads']:
        parts = [thread[k] for k in HOST]
        if None not in parts:
            assert nearly(sum(parts) + thread['absent_ns'], thread['window_ns']), thread


def test_busy_and_idle_are_the_window(whole):
    gpu = whole['gpu']
    if gpu['idle_ns'] is None:
        return
    assert nearly(sum(gpu['idle_by'].values()), gpu['idle_ns'])
    assert nearly(gpu['busy_ns'] + gpu['idle_ns'], whole['window_ns'])


@pytest.mark.parametrize('launches', [100, 200, 300, 500])
def test_busy_reaches_to_what_the_work_takes(run, launches):
    """Of few samples: one stream's work is no shorter than all of it. The timeline ran it while its time was hardly known."""
    r = run('many_tiny_launches', launches, CUDASPY_GPU='sample', **VIRTUAL_TIME).report
    assert r['gpu']['busy_high_ns'] >= known(r['kernels'], 'gpu_low_ns')
    assert r['gpu']['busy_low_ns'] <= r['gpu']['busy_ns'] <= r['gpu']['busy_high_ns'] <= r['window_ns']


def test_calls_of_lines_are_no_more_than_all(whole):
    classes = {'launch': ('launch', 'graph_launch'), 'copy': ('copy', 'set'), 'alloc': ('alloc',), 'module': ('module',),
               'graph': ('graph',)}
    for kind, of in classes.items():
        sites = [s for s in whole['sites'] if s['kind'] == kind]
        apis = [a for a in whole['apis'] if a['class'] in of]
        assert known(sites, 'calls') <= known(apis, 'calls'), kind
        assert known(sites, 'api_total_ns') <= known(apis, 'total_ns') * 1.001 + 1000, kind


def test_intervals_hold_what_they_are_of(whole):
    found = 0
    for path, key, low, among in values(whole):
        if 'low' not in key.split('_'):
            continue
        high = among.get(key.replace('low', 'high'))
        assert high is None or low <= high, path
        for of in (key.replace('low_', '').replace('_low', ''), key.replace('_low_', '_total_')):
            if of in among and of != key and among[of] is not None and high is not None:
                assert low - 1 <= among[of] <= high + 1, (path, low, among[of], high)
                found += 1
    assert found or may_know_nothing(whole)


def test_quantiles_are_in_order(whole):
    for path, key, p50, among in values(whole):
        if key != 'p50_ns':
            continue
        row = [among[k] for k in ('p50_ns', 'p90_ns', 'p99_ns') if among.get(k) is not None]
        assert row == sorted(row), path


def test_shares_are_shares_and_times_are_not_negative(whole):
    for path, key, value, _ in values(whole):
        words = key.split('_')
        if 'share' in words:
            assert 0 <= value <= 1 + 1e-9, path
        if key.endswith('_ns') and not set(words) & {'start', 'offset', 'saved', 'change'}:
            assert value >= 0, path


def test_phases_lie_in_the_run(whole):
    for phase in whole['phases']:
        assert phase['start_ns'] <= phase['end_ns'] <= whole['wall_ns'] + 1000
    assert known(whole['phases'], 'share_of_window') <= 1.001


# ---- form against form ---------------------------------------------------------------------------------------------

def page_data(recording):
    return data_in(printed(recording, '--format', 'html'))['report']


def test_the_page_has_the_figures_of_the_json(recording, whole):
    page = page_data(recording)
    for part in ('totals', 'lost', 'overhead', 'apis', 'copies', 'steps', 'phases', 'wall_ns', 'window_ns', 'startup_ns'):
        assert page[part] == whole[part], part
    for part in ('busy_ns', 'busy_low_ns', 'busy_high_ns', 'idle_ns', 'idle_by'):
        assert page['gpu'][part] == whole['gpu'][part], part
    assert page['verdict']['class'] == whole['verdict']['class']


def test_tables_have_the_figures_of_the_json(recording, whole):
    rows = list(csv.DictReader(io.StringIO(printed(recording, '--format', 'csv'))))
    assert {(r['name'], r['level']): (int(r['calls']), int(r['total_ns'])) for r in rows} == \
        {(a['name'], a['level']): (a['calls'], a['total_ns']) for a in whole['apis']}
    rows = list(csv.DictReader(io.StringIO(printed(recording, '--format', 'csv', '--table', 'kernels'))))
    assert sorted((r['name'], int(r['launches'])) for r in rows) == sorted((k['name'], k['launches']) for k in whole['kernels'])


def test_texts_have_the_verdict_and_the_counts_of_the_json(recording, whole):
    verdict, totals = whole['verdict']['class'], whole['totals']
    texts = {'screen': printed(recording), 'all': printed(recording, '--all'), 'brief': printed(recording, '--format', 'brief'),
             'md': printed(recording, '--format', 'md')}
    for name, text in texts.items():
        assert re.search(rf'verdict\W+{verdict}\b', text, re.I), name
    assert re.search(r'calls (\d+), launches (\d+), graph launches (\d+), copies (\d+), syncs (\d+)', texts['brief']).groups() == \
        tuple(str(totals[k]) for k in ('calls', 'launches', 'graph_launches', 'copies', 'syncs'))
    for name in ('all', 'md'):
        assert re.search(rf'\b{totals["calls"]} calls\b', texts[name]), name


def test_texts_say_the_same_of_gpu_and_steps(recording, whole):
    screen, brief = printed(recording), printed(recording, '--format', 'brief')
    busy = [re.search(r'^GPU busy\W+([\d.]+(?: to [\d.]+)? %)', text, re.M) for text in (screen, brief)]
    assert bool(busy[0]) == bool(busy[1])
    if busy[0]:
        assert busy[0][1] == busy[1][1]
    if 'by estimated GPU time' in screen: # the bars are of the loop, the kernels of the run: both say so
        assert bool(re.search(r'100 %  of (\S+ \w+ of )?the loop', screen)) == ('kernel of the run' in screen)
    steps = [re.search(r'(\d+) steps of ([\d.]+ \w+)', ' '.join(text.split())) for text in (screen, brief)]
    assert bool(steps[0]) == bool(steps[1])
    if steps[0]:
        assert steps[0].groups() == steps[1].groups()
        assert int(steps[0][1]) == whole['steps']['count']
