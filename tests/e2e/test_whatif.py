# SPDX-License-Identifier: Apache-2.0
"""What-if: what a sample would take with one thing changed, predicted from its recording, beside what its fixed twin takes.

As in test_verdicts.py the simulated GPU copies no bytes, its driver launches under a lock, and time is virtual.
"""
import math
import subprocess
import sys

import pytest

from conftest import REPORTER, ROOT, SAMPLES, SIM, VIRTUAL_TIME, environment, report

sys.path.insert(0, str(ROOT / 'tests/gpu'))
from acceptance.whatif import CHANGES as PAIRS  # noqa: E402 (needs the path above); on a GPU the same pairs are measured

GPU = {'CUDASPY_GPU': 'sample', 'SIM_DATA_MIB': '0', 'SIM_LAUNCH_LOCK': '1', **VIRTUAL_TIME}
KEYS = {'change', 'window_ns', 'predicted_ns', 'predicted_low_ns', 'predicted_high_ns', 'saved_ns', 'speedup', 'speedup_low',
        'speedup_high', 'gpu_bound_ns', 'coverage', 'model_error', 'calls_changed', 'form', 'steps', 'steps_alike', 'stays_ns',
        'blocked_by', 'how', 'assumptions', 'unknown_because'}


def record(name, folder, *args, **variables):
    """Runs a sample; its recording."""
    folder.mkdir(parents=True)
    subprocess.run([SAMPLES / 'sim' / name, *map(str, args)], cwd=folder, stdin=subprocess.DEVNULL, check=True, timeout=300,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(folder, **dict(GPU, **variables)))
    files = list(folder.glob('*.cudaspy'))
    assert len(files) == 1
    return files[0]


def predict(file, *changes):
    """The report's `what_if` by change, and the report."""
    got = report(*[f'--what-if={change}' for change in changes], file)
    return {row['change']: row for row in got['what_if']}, got


def is_sound(row):
    """What holds of any prediction."""
    assert set(row) == KEYS
    assert row['predicted_low_ns'] <= row['predicted_ns'] <= row['predicted_high_ns']
    assert row['predicted_ns'] <= row['window_ns']
    # The replay itself never takes longer with a change. What two runs differ by comes on top, squares added: at most 12 % of
    # a pair of loops, and 20 % of the host's speed (whatif_range.c); where nothing was changed, nothing does.
    gain, by_chance = math.log(row['window_ns'] / row['predicted_ns']), math.hypot(0.20, 0.12) if row['calls_changed'] else 0
    assert math.log(row['predicted_high_ns'] / row['predicted_ns']) <= math.hypot(gain, by_chance) + 1e-6
    assert row['predicted_ns'] >= 0.999 * row['gpu_bound_ns']
    assert row['saved_ns'] == pytest.approx(row['window_ns'] - row['predicted_ns'], abs=2)
    assert row['speedup_low'] <= row['speedup'] <= row['speedup_high']
    assert 0 < row['coverage'] <= 1 and row['model_error'] < 0.05 and row['unknown_because'] is None
    return row


def test_a_gpu_at_its_power_limit(tmp_path):
    """It does no more work when it is idle less: what only fills its pauses gains next to nothing, and at best what it would."""
    change = 'overlap'
    free, = predict(record('copy_not_overlapped', tmp_path / 'free'), change)[0].values()
    held, = predict(record('copy_not_overlapped', tmp_path / 'held', SIM_NVML_CAPPED='0:999999999999'), change)[0].values()
    assert held['saved_ns'] < 0.1 * free['saved_ns']
    assert held['speedup_high'] > 1 + (free['speedup'] - 1) / 2
    said = "the power limit held the GPU's clocks down for 100 % of the time: there it does no more work when it is idle less"
    assert any(said in text for text in held['assumptions']) and not any(said in text for text in free['assumptions'])


@pytest.mark.parametrize('name', PAIRS)
def test_a_prediction_is_what_the_fixed_twin_saves(name, tmp_path):
    """Within 10 % of the saving, and what the fixed twin takes is in the range."""
    change, variables = PAIRS[name]
    rows, before = predict(record(name, tmp_path / 'before', **variables), change)
    fixed, after = predict(record(f'{name}_fixed', tmp_path / 'after', **variables), 'graphs')
    assert is_sound(rows[change])['saved_ns'] == pytest.approx(before['window_ns'] - after['window_ns'], rel=0.1)
    assert rows[change]['calls_changed'] > 0 and rows[change]['assumptions'] is not None
    steady = fixed['graphs']['window_ns']
    assert rows[change]['predicted_low_ns'] <= steady <= rows[change]['predicted_high_ns']


@pytest.mark.parametrize('mode', ['sample', 'cupti'])
def test_graphs_made_once(tmp_path, mode):
    """Each graph is launched once: what the others of its content took is known of it."""
    if mode == 'cupti' and not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    variables = {'sim': f'{SIM}:{SIM}/cupti13' if mode == 'cupti' else SIM, 'CUDASPY_GPU': mode}
    rows, before = predict(record('graph_every_step', tmp_path / 'before', **variables), 'no-alloc')
    after = report(record('graph_every_step_fixed', tmp_path / 'after', **variables))
    assert is_sound(rows['no-alloc'])['saved_ns'] == pytest.approx(before['window_ns'] - after['window_ns'], rel=0.1)
    assert (before['verdict']['class'], before['verdict']['confidence']) == ('alloc-bound', 'high')
    finding, = [f for f in before['findings'] if f['id'] == 'graph-reinstantiated']
    assert finding['predicted_speedup'] == pytest.approx(before['window_ns'] / after['window_ns'], rel=0.05)


def test_recent_calls_stand_for_all(tmp_path):
    """With a fraction of the calls kept the prediction is that of all of them, and it is said that they are a fraction."""
    whole, _ = predict(record('host_starves_gpu', tmp_path / 'all'), 'host=0')
    part, _ = predict(record('sync_every_step', tmp_path / 'part', CUDASPY_KEEP=1, SIM_LATENCY_NS=8000), 'no-sync',
                      'host=0')
    assert whole['host=0']['coverage'] > 0.99
    assert is_sound(part['no-sync'])['coverage'] < 0.6
    assert any('stand for all' in text for text in part['no-sync']['assumptions'])
    assert part['no-sync']['speedup'] > 1.1


def test_all_changes(tmp_path):
    file = record('one_big_kernel', tmp_path / 'run', 500)
    rows, got = predict(file, 'all', 'kernel:.*=2')
    assert list(rows) == ['graphs', 'pinned', 'no-sync', 'no-alloc', 'overlap', 'host=0', 'cpu-wait=0', 'fused',
                          'graphs-unchanged', 'kernel:.*=2']
    if rows['cpu-wait=0']['speedup'] is None:  # of so short a run, or by this kernel
        assert 'waited for a CPU' in rows.pop('cpu-wait=0')['unknown_because']
    for change in rows.values():
        is_sound(change)
    # The GPU is busy all the time: only its own work gains.
    assert all(rows[change]['speedup'] < 1.1 for change in rows if not change.startswith('kernel'))
    assert 1.6 < rows['kernel:.*=2']['speedup'] <= 2.05
    assert report(file)['what_if'] == []
    for form in ('text', 'md', 'csv'):
        table = ('--table', 'what-if') if form == 'csv' else ()
        p = subprocess.run([REPORTER, 'report', '-f', form, *table, '--what-if', 'graphs', '--what-if', 'kernel:.*=2', file],
                           stdout=subprocess.PIPE, check=True, universal_newlines=True)
        assert 'graphs' in p.stdout and 'kernel:' in p.stdout, form


def test_what_cannot_be_told_is_null(tmp_path):
    rows, _ = predict(record('one_big_kernel', tmp_path / 'off', 200, CUDASPY_GPU='off'), 'host=0')
    assert rows['host=0']['predicted_ns'] is None and rows['host=0']['speedup'] is None
    assert 'CUDASPY_GPU' in rows['host=0']['unknown_because']
    rows, _ = predict(record('one_big_kernel', tmp_path / 'none', 200), 'kernel:no_such_kernel=2')
    assert rows['kernel:no_such_kernel=2']['predicted_ns'] is None


@pytest.mark.parametrize('change', ['', 'faster', 'kernel:', 'kernel:a', 'kernel:a=0', 'kernel:a=-1', 'kernel:(=2', 'host=1'])
def test_a_wrong_change_is_an_error(change, tmp_path):
    p = subprocess.run([REPORTER, 'report', '--what-if', change, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True)
    assert p.returncode == 2 and not p.stdout
    assert p.stderr.startswith('cudaspy: report: --what-if') and len(p.stderr.splitlines()) == 1
