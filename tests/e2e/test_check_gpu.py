# SPDX-License-Identifier: Apache-2.0
"""`cudaspy check` on what needs GPU time: verdict, busy share, launch overhead, wasted waiting, with the figures of the report.

What an estimate's interval leaves open is status 3, never a pass and never a failure.
"""

import pytest

from conftest import SAMPLES, SIM, VIRTUAL_TIME, report
from test_check import outcomes, record

CLASSES = ('gpu-bound', 'launch-bound', 'sync-bound', 'copy-bound', 'alloc-bound', 'host-bound', 'comm-bound', 'mixed')
SAMPLED = {'CUDASPY_GPU': 'sample', 'SIM_DATA_MIB': '0', 'SIM_LAUNCH_LOCK': '1', **VIRTUAL_TIME}


def limits(*rules):
    return [f'--limit={r}' for r in rules]


@pytest.fixture(scope='module', params=['many_tiny_launches', 'one_big_kernel', 'pageable_copies'])
def sampled(request, tmp_path_factory):
    folder = record(tmp_path_factory.mktemp('sampled') / request.param, SAMPLES / 'sim' / request.param, **SAMPLED)
    return folder, report(folder)


def test_verdict(sampled):
    folder, found = sampled
    verdict = found['verdict']
    rules = [f'verdict {op} {c}' for op in ('=', '!=') for c in CLASSES]
    judged = outcomes(*limits(*rules), folder, status=None)
    for rule in rules:
        _, op, name = rule.split()
        if verdict['class'] == 'inconclusive' or verdict['confidence'] == 'low':
            expected = 'inconclusive'
        elif verdict['class'] == 'mixed' and name in (verdict['first'], verdict['second']):
            expected = 'inconclusive'
        else:
            expected = 'pass' if (verdict['class'] == name) == (op == '=') else 'fail'
        assert judged[rule]['outcome'] == expected, (rule, verdict)
        assert judged[rule]['after'] == (None if verdict['class'] == 'inconclusive' else verdict['class'])


def test_busy_share(sampled):
    folder, found = sampled
    gpu = found['gpu']
    low, share, high = (gpu[k] / gpu['window_ns'] for k in ('busy_low_ns', 'busy_ns', 'busy_high_ns'))
    assert low < share <= high
    inside, below = 50 * (low + share), 100 * low - 0.01
    rules = {f'gpu_busy_share >= {below:.3f}%': 'pass', f'gpu_busy_share >= {inside:.3f}%': 'inconclusive',
             f'gpu_busy_share <= {inside:.3f}%': 'inconclusive', f'gpu_busy_share <= {below:.3f}%': 'fail'}
    judged = outcomes(*limits(*rules), folder, status=1)
    assert {rule: judged[rule]['outcome'] for rule in rules} == rules
    assert judged[f'gpu_busy_share >= {below:.3f}%']['estimate'] == pytest.approx([low, min(1, high)])
    assert 'the limit' in judged[f'gpu_busy_share >= {inside:.3f}%']['reason']


def test_overheads(sampled):
    """Launch overhead comes from the launches' own times; wasted waiting may be off by as much as busy time."""
    folder, found = sampled
    overhead, wasted = found['gpu']['launch_ns'], found['host']['sync_wasted_ns']
    width = found['gpu']['busy_high_ns'] - found['gpu']['busy_low_ns']
    off = 1 + overhead * 1e-8 # figures have nine digits, and on a busy machine a launch may take long
    rules = {f'launch_overhead_ns <= {overhead + off:.0f}': 'pass', f'launch_overhead_ns <= {overhead - off:.0f}': 'fail',
             f'sync_wasted_ns <= {wasted + width + 1:.0f}': 'pass'}
    judged = outcomes(*limits(*rules), folder, status=1)
    assert {rule: judged[rule]['outcome'] for rule in rules} == rules
    assert judged[f'launch_overhead_ns <= {overhead + off:.0f}']['estimate'] is None


@pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')
def test_exact_figures_have_no_interval(tmp_path):
    folder = record(tmp_path / 'exact', SAMPLES / 'sim/one_big_kernel', **{**SAMPLED, 'CUDASPY_GPU': 'cupti',
                                                                         'LD_LIBRARY_PATH': f'{SIM}:{SIM / "cupti13"}'})
    share = 100 * report(folder)['gpu']['busy_share']
    rules = {f'gpu_busy_share >= {share - 0.01:.3f}%': 'pass', f'gpu_busy_share >= {share + 0.01:.3f}%': 'fail'}
    judged = outcomes(*limits(*rules), folder, status=1)
    assert {rule: judged[rule]['outcome'] for rule in rules} == rules
    assert all(judged[rule]['estimate'] is None for rule in rules)


def test_without_gpu_time(tmp_path):
    folder = record(tmp_path / 'off', SAMPLES / 'sim/one_big_kernel', **{**SAMPLED, 'CUDASPY_GPU': 'off'})
    rules = ['gpu_busy_share >= 1%', 'launch_overhead_ns <= 1s', 'sync_wasted_ns <= 1s', 'verdict != sync-bound']
    judged = outcomes(*limits(*rules, 'launches >= 1'), folder, status=3)
    assert [judged[rule]['outcome'] for rule in rules] == ['inconclusive'] * 4 and judged['launches >= 1']['outcome'] == 'pass'
