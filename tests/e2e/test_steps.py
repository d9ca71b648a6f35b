# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges, and steps found where a program names none: counts equal to what the program did."""
import subprocess

import pytest

from conftest import BUILD, REPORTER, SHIM, VIRTUAL_TIME, environment, report

STEPS = 200
NVTX = BUILD / 'tests/e2e/nvtx_ranges'


def ranges_of(r):
    """By path: 'step #/forward'."""
    found = {}
    paths = []
    for entry in r['ranges']:
        name = entry['name'] if not entry['domain'] else f"{entry['domain']}:{entry['name']}"
        paths.append(name if entry['parent'] is None else f"{paths[entry['parent']]}/{name}")
        assert paths[-1] not in found
        found[paths[-1]] = entry
    return found


def per_range(entry, figure):
    return entry[figure] / entry['count']


@pytest.fixture
def ranges(run):
    r = run(NVTX, STEPS, NVTX_INJECTION64_PATH=SHIM)
    assert r.out == 'wrong=0\n' and r.status == 0
    return r


def test_ranges_are_a_tree_with_exact_counts(ranges):
    found = ranges_of(ranges.report)
    step = found['step #']
    assert step['count'] == step['counted'] == STEPS
    assert [per_range(step, f) for f in ('launches', 'syncs', 'copies', 'pageable_copies', 'copy_bytes')] == [5, 1, 1, 1, 4096]
    assert per_range(found['step #/forward'], 'launches') == 3
    assert per_range(found['step #/backwärts'], 'launches') == 2
    assert found['step #/backwärts/layer']['count'] == 2 * STEPS
    assert per_range(found['step #/backwärts/layer'], 'launches') == 1
    assert per_range(found['step #/communication:wait'], 'syncs') == 1
    assert found['loader']['count'] == STEPS and found['loader']['launches'] == STEPS
    assert 'early' not in found  # it was over before CUDA was up
    assert step['launch_ns'] < step['total_ns'] < ranges.report['wall_ns']
    assert step['min_ns'] <= step['p50_ns'] <= step['p99_ns'] <= step['max_ns']


def test_start_and_end_are_a_range_of_the_thread(ranges):
    whole = ranges_of(ranges.report)['whole loop']
    assert whole['count'] == 1 and whole['launches'] == 5 * STEPS  # the second thread's are not its own


def test_work_of_a_thread_without_ranges_is_the_step_s(run):
    r = run(BUILD / 'tests/e2e/nvtx_helper', STEPS, NVTX_INJECTION64_PATH=SHIM)
    assert r.status == 0, r.out + r.err
    found = ranges_of(r.report)
    assert per_range(found['step'], 'launches') == 5 and per_range(found['step/backward'], 'launches') == 3
    assert per_range(found['step'], 'syncs') == 1 and per_range(found['step/backward'], 'syncs') == 0
    assert 0 < found['step/backward']['launch_ns'] < found['step']['launch_ns']
    assert r.report['steps']['launches'] == {'mean': 5, 'min': 5, 'p50': 5, 'max': 5}


def test_steps_from_ranges(ranges):
    steps = ranges.report['steps']
    assert (steps['source'], steps['name'], steps['count'], steps['judged']) == ('nvtx', 'step #', STEPS, STEPS)
    for figure, value in {'launches': 5, 'syncs': 1, 'copies': 1, 'copy_bytes': 4096}.items():
        assert steps[figure] == {'mean': value, 'min': value, 'p50': value, 'max': value}
    duration = steps['duration_ns']
    assert duration['min'] <= duration['p50'] <= duration['p99'] <= duration['max']
    assert steps['per_s'] == pytest.approx(1e9 / duration['mean'])


@pytest.mark.parametrize('words,source', [((), 'found'), (('whole',), 'nvtx')])
def test_ranges_of_a_library_are_steps_where_they_hold_the_work(run, words, source):
    """CUB, XLA and others name what they do in domains of their own: two reductions a step are not two steps."""
    r = run(BUILD / 'tests/e2e/nvtx_library', STEPS, *words, NVTX_INJECTION64_PATH=SHIM)
    steps = r.report['steps']
    assert (steps['source'], steps['count'], steps['launches']['p50']) == (source, STEPS, 8)


def text(*args):
    return subprocess.run([REPORTER, 'report', '--all', *args], stdout=subprocess.PIPE, universal_newlines=True, check=True,
                          env={'COLUMNS': '80'}).stdout


def test_throughput_and_skipped_steps(ranges):
    page = text('--unit-per-step', '32', '--skip-steps', '10', ranges.recording)
    assert f'Steps (NVTX ranges; {STEPS}, 10 left out)' in page
    assert 'units/s (32 units per step)' in page
    for line in page.splitlines():
        assert len(line) <= 80
    for wrong in ('x', '-1', '0', 'nan', 'inf'):
        p = subprocess.run([REPORTER, 'report', '--unit-per-step', wrong, ranges.recording], stderr=subprocess.PIPE)
        assert p.returncode == 2 and b'--unit-per-step' in p.stderr


def test_run_sets_the_variable_only_where_it_is_free(tmp_path):
    """With somebody else's library in its place, NVTX goes there and we record calls alone."""
    for variable, source in (None, 'nvtx'), ('/nowhere/other.so', 'found'):
        folder = tmp_path / source
        folder.mkdir()
        env = environment(folder, preload=(), NVTX_INJECTION64_PATH=variable)
        p = subprocess.run([REPORTER, 'run', '-q', '--', NVTX, '50'], env=env, cwd=folder, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True)
        if variable is None:
            assert p.returncode == 0, p.stdout
        recording, = folder.glob('*.cudaspy')
        steps = report(recording)['steps']
        assert (steps['source'], steps['count']) == (source, 50)


def test_ranges_survive_full_rings(run):
    """The counts of those ranges that are there are exact however many records were lost; the rest are told."""
    r = run(NVTX, STEPS, NVTX_INJECTION64_PATH=SHIM, CUDASPY_RING=64)
    for path, entry in ranges_of(r.report).items():
        if path == 'step #' and entry['count']:
            assert per_range(entry, 'launches') == 5


@pytest.mark.parametrize('sample,steps,work', [
    ('sync_every_step', 300, {'launches': 1, 'syncs': 1}),
    ('alloc_every_step', 120, {'launches': 1, 'alloc_calls': 2, 'sets': 1}),
    ('pageable_copies', 40, {'launches': 1, 'copies': 2, 'pageable_copies': 2}),
    ('graph_replay', 200, {'graph_launches': 1}),
    ('streams', 150, {'launches': 6}),
])
def test_steps_found(run, sample, steps, work):
    r = run(sample, steps)
    assert r.status == 0
    found = r.report['steps']
    assert (found['source'], found['count']) == ('found', steps)
    assert found['confidence'] == 'high'
    for figure, value in work.items():
        assert found[figure]['p50'] == value, figure


@pytest.mark.parametrize('sample,n', [('many_tiny_launches', 5000), ('vector_add', 1)])
def test_no_steps_where_nothing_repeats(run, sample, n):
    """A kernel launched again and again is no step, and one launch neither."""
    steps = run(sample, n, **VIRTUAL_TIME).report['steps']  # else a busy machine may give it a rhythm
    assert steps['source'] == 'none' and steps['count'] is None and steps['outliers'] == []


def test_gpu_time_of_steps_found(run):
    r = run('sync_every_step', 5000, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    steps, device = r.report['steps'], r.truth['devices'][0]
    # The first has a set that is not timed. The tear-down begins with a slice of the run, in which the last ones may be.
    assert 0.99 * steps['judged'] < steps['gpu_timed'] < steps['judged']
    assert steps['gpu_ns']['mean'] == pytest.approx(device['busy_ns'] / 5000, rel=0.2)  # the copy's 1 us is within what is taken off


def test_gpu_time_of_ranges(run):
    """A second thread without such ranges works for the one that has them."""
    # Long beside what a pair of events itself costs, which a busy machine may disturb while it is measured.
    r = run(NVTX, STEPS * 20, NVTX_INJECTION64_PATH=SHIM, CUDASPY_GPU='sample', WORK_SHORT_NS=20000)
    assert r.report['kernels'] and all(k['samples'] for k in r.report['kernels'])
    kernel_ns = max(k['gpu_mean_ns'] for k in r.report['kernels'])
    assert kernel_ns == pytest.approx(20000, rel=0.2)
    found = ranges_of(r.report)
    assert per_range(found['step #/forward'], 'gpu_ns') == pytest.approx(3 * kernel_ns, rel=0.1)
    assert per_range(found['step #/backwärts'], 'gpu_ns') == pytest.approx(2 * kernel_ns, rel=0.1)


def test_no_gpu_time_of_steps_without_it(run):
    assert run('sync_every_step', 300).report['steps']['gpu_ns'] == {'mean': None, 'min': None, 'p50': None, 'max': None}
