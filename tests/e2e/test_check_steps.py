# SPDX-License-Identifier: Apache-2.0
"""`cudaspy check` and `diff` by step and by NVTX range: the steps are those that the recording holds, unless --steps says N.

Programs whose steps are all alike are judged exactly; those whose steps vary by the mean and its error.
"""
import json

import pytest

from conftest import SAMPLES, SHIM, VIRTUAL_TIME
from test_check import check, cudaspy, outcomes, record, runs # noqa: F401 (a fixture)

NVTX = {'NVTX_INJECTION64_PATH': SHIM}


def save(folder, *recordings, args=()):
    path = folder / 'base.json'
    check('--save-baseline', path, *args, *recordings, status=0)
    return path


def limits(*rules):
    return [f'--limit={r}' for r in rules]


def test_steps_found_need_no_number(runs, tmp_path):
    """Another number of steps is no change of a step."""
    base = save(tmp_path, runs())
    rules = ['launches_per_step <= +0', 'syncs_per_step = 1', 'copy_bytes_per_step = 64B', 'alloc_calls_per_step = 0']
    longer = record(tmp_path / 'longer', runs.program, '50', **VIRTUAL_TIME)
    found = outcomes('--baseline', base, *limits(*rules), longer, status=0)
    assert found['launches_per_step <= +0']['before'] == found['launches_per_step <= +0']['after'] == [2, 2]
    # Where the first and the last of the steps found begin and end is not known: they are left out.
    assert found['syncs_per_step = 1']['steps_judged'] == [48, 48]


CHANGES = {
    'launch': ('launches_per_step', 2, 3, 'short_work: 2 -> 3 per step'),
    'sync': ('syncs_per_step', 1, 2, 'cuStreamSynchronize: 1 -> 2 per step'),
    'copy': ('pageable_copies_per_step', 0, 1, 'HtoD pageable async: 0 -> 1 per step'),
    'alloc': ('alloc_calls_per_step', 0, 2, None),
}


@pytest.mark.parametrize('ranges', [False, True], ids=['found', 'nvtx'])
@pytest.mark.parametrize('change', CHANGES)
def test_one_more_in_each_step_fails(runs, tmp_path, change, ranges):
    metric, before, after, where = CHANGES[change]
    variables = NVTX if ranges else {}
    base = save(tmp_path, runs(**variables))
    rule = f'{metric} <= +0'
    found = outcomes('--baseline', base, *limits(rule), runs(change, **variables), status=1)[rule]
    assert (found['before'], found['after']) == ([before] * 2, [after] * 2)
    assert where is None or found['where'] == where
    assert outcomes('--baseline', base, *limits(rule), runs(repeat=1, **variables), status=0)[rule]['outcome'] == 'pass'


def test_what_was_judged_is_said(runs, tmp_path):
    base = save(tmp_path, runs(**NVTX))
    p = check('-b', base, '-l', 'launches_per_step <= +0', runs(**NVTX, repeat=1), status=0)
    assert 'steps       20 NVTX ranges train_step, 20 judged' in p.stdout
    assert 'launches_per_step <= +0: before 2, after 2 (no change); 20 steps judged' in p.stdout
    found = json.loads(check('-f', 'json', '--skip-steps', '3', '-b', base, runs(**NVTX), status=0).stdout)
    assert found['steps'] == [{'source': 'nvtx', 'name': 'train_step', 'count': 20, 'judged': 17, 'skipped': 3, 'odd': 0}]


def test_skip_steps(runs, tmp_path):
    """A warm-up of other work is no part of the steps that are judged."""
    warm = runs('warm', **NVTX)
    rule = 'launches_per_step = 2'
    found = outcomes(*limits(rule), warm, status=1)[rule]
    assert found['after'] == [2.75, 2.75] and found['step_after'] == [2, 5]
    assert found['where'] == 'short_work: 2.75 per step, counting all of the run'
    found = outcomes(*limits(rule), '--skip-steps', '5', warm, status=0)[rule]
    assert found['steps_judged'] == [15, 15] and found['step_after'] == [2, 2]
    config = tmp_path / 'cudaspy.toml'
    config.write_text(f'skip_steps = 5\nlimits = ["{rule}"]\n')
    check('--config', config, warm, status=0)
    check('--config', config, '--skip-steps', '0', warm, status=1)  # the command line says otherwise
    check(*limits(rule), '--skip-steps', '20', warm, status=3)  # none is left


def test_steps_from(runs, tmp_path):
    ranges = runs(**NVTX)
    found = outcomes('--steps-from', 'forward', *limits('launches_per_step = 2', 'syncs_per_step = 0'), ranges, status=0)
    assert found['syncs_per_step = 0']['steps_judged'] == [20, 20]
    found = outcomes('--steps-from', 'backward', *limits('launches_per_step = 2', 'launches = 40'), ranges, status=3)
    assert 'no NVTX range "backward"' in found['launches_per_step = 2']['reason']
    assert found['launches = 40']['outcome'] == 'pass'
    config = tmp_path / 'cudaspy.toml'
    config.write_text('steps_from = "forward"\nlimits = ["syncs_per_step = 0"]\n')
    check('--config', config, ranges, status=0)
    report = json.loads(cudaspy('report', '-f', 'json', '--steps-from', 'forward', ranges, status=0).stdout)
    assert (report['steps']['name'], report['steps']['syncs']['max']) == ('forward', 0)
    assert 'no NVTX range "backward"' in cudaspy('report', '--all', '--steps-from', 'backward', ranges, status=0).stdout
    screen = cudaspy('report', '--steps-from', 'backward', ranges, status=0).stdout
    assert 'no work that repeats' not in screen
    assert '\nSteps: n/a: no NVTX range "backward"' in screen  # a heading


def test_other_steps_are_not_compared(runs, tmp_path):
    """Ranges against steps found, and ranges of another name: what a step is differs."""
    rule = 'launches_per_step <= +0'
    found = outcomes('-b', save(tmp_path, runs(**NVTX)), *limits(rule), runs(), status=3)[rule]
    assert 'its steps are NVTX ranges train_step, those of' in found['reason']
    found = outcomes('-b', save(tmp_path, runs(**NVTX), args=['--steps-from', 'forward']), *limits(rule), runs(**NVTX),
                     status=3)[rule]
    assert 'NVTX ranges forward' in found['reason']


def test_found_steps_of_other_work_are_not_compared(runs, tmp_path):
    """As many, told apart by another kernel, would be the same ones."""
    rule = 'launches_per_step <= +0'
    other = record(tmp_path / 'other', SAMPLES / 'sim/sync_every_step', '100', **VIRTUAL_TIME)
    found = outcomes('-b', save(tmp_path, runs()), *limits(rule), other, status=3)[rule]
    assert 'its steps are found by' in found['reason']


@pytest.mark.parametrize('field, value', [('error', 1e300), ('error', -1), ('freedom', 0), ('mean', 1e6), ('min', 1e6)])
def test_a_baseline_whose_steps_cannot_be(runs, tmp_path, field, value):
    path = save(tmp_path, runs('vary=5', **NVTX))
    base = json.loads(path.read_text())
    base['per_step']['launches'][field] = value
    path.write_text(json.dumps(base))
    p = check('-b', path, *limits('launches_per_step <= +0'), runs('vary=5', **NVTX), status=2)
    assert 'launches' in p.stderr and len(p.stderr.splitlines()) == 1


def test_no_steps(tmp_path, runs):
    """A kernel launched a few times repeats too seldom to be steps."""
    once = record(tmp_path / 'once', runs.program, '1')
    found = outcomes(*limits('launches_per_step <= 2', 'step_p50_ns <= 1s', 'launches = 2'), once, status=3)
    for rule in ('launches_per_step <= 2', 'step_p50_ns <= 1s'):
        assert 'no NVTX range and no work repeats' in found[rule]['reason']
    assert found['launches = 2']['outcome'] == 'pass'


def test_varying_steps_are_judged_by_their_mean_and_its_error(tmp_path, runs):
    """Two seeds of random shapes are the same program; two launches more in each step are not."""
    runs_of = {name: record(tmp_path / name, runs.program, '300', *words, **NVTX) for name, words in
               {'a': ['vary=1'], 'b': ['vary=2'], 'c': ['vary=3', 'launch']}.items()}
    base = save(tmp_path, runs_of['a'])
    rules = ('launches_per_step <= +0', 'launches_per_step >= +0', 'launches_per_step = +0')
    for name in 'ab':
        found = outcomes('-b', base, *limits(*rules), runs_of[name], status=0)
    assert found[rules[0]]['step_before'] == found[rules[0]]['step_after'] == [2, 9]
    assert '2..9 a step before, 2..9 after, 300 steps judged' in found[rules[0]]['message']
    found = outcomes('-b', base, *limits(*rules), runs_of['c'], status=1)
    assert [found[r]['outcome'] for r in rules] == ['fail', 'pass', 'fail']
    check('-b', base, *limits('launches_per_step <= +20%'), runs_of['b'], status=0)
    # An absolute limit asks nothing of another run: the mean itself is judged.
    mean = found[rules[0]]['before'][0]
    check(*limits(f'launches_per_step <= {mean + 0.01:.3f}', f'launches_per_step >= {mean - 0.01:.3f}'), runs_of['a'], status=0)
    check(*limits(f'launches_per_step <= {mean - 0.01:.3f}'), runs_of['a'], status=1)


def test_a_baseline_without_variation_allows_none(runs, tmp_path):
    """One wait more in each tenth step, where no step had one before."""
    rule = 'syncs_per_step <= +0'
    found = outcomes('-b', save(tmp_path, runs(**NVTX)), *limits(rule), runs('log', **NVTX), status=1)[rule]
    assert found['after'] == [1.1, 1.1]
    check('-b', save(tmp_path, runs('log', **NVTX)), *limits(rule), runs('log', **NVTX, repeat=1), status=0)


def test_ranges(runs, tmp_path):
    base = save(tmp_path, runs(**NVTX))
    rules = ['range "train_step": launches <= +0', 'range "^forward$" launches = 40', 'range "train_step" syncs_per_step = 1',
             'range "train_step": launches <= +5%', 'range "." copies <= 20']
    found = outcomes('-b', base, *limits(*rules), runs(**NVTX, repeat=1), status=0)
    assert found[rules[0]]['before'] == [40, 40] and found[rules[2]]['after'] == [1, 1]
    assert found[rules[4]]['after'] == [20, 20] # what lies in several that match counts once
    found = outcomes('-b', base, *limits(*rules), runs('launch', **NVTX), status=1)
    assert [found[r]['outcome'] for r in rules] == ['fail', 'fail', 'pass', 'fail', 'pass']
    assert found[rules[0]]['where'] == 'train_step/forward: 40 -> 60'
    found = outcomes(*limits('range "^forward$": syncs = 0'), runs('sync', **NVTX), status=0)


def test_ranges_that_are_not_there(runs, tmp_path):
    """Silence would let a renamed range pass for ever."""
    ranges, rule = runs(**NVTX), 'range "forward" launches <= +0'
    found = outcomes(*limits('range "nothing" launches <= 5'), ranges, status=3)
    assert 'no NVTX range matches nothing' in found['range "nothing" launches <= 5']['reason']
    assert 'it holds no NVTX ranges' in outcomes('-b', save(tmp_path, ranges), *limits(rule), runs(), status=3)[rule]['reason']
    assert 'it holds no NVTX ranges' in outcomes('-b', save(tmp_path, runs()), *limits(rule), ranges, status=3)[rule]['reason']


def test_lost_records(tmp_path, runs):
    """Steps and ranges come from records: with many lost there is no answer on them; the run's counts are exact."""
    lossy = record(tmp_path / 'lossy', runs.program, '3000', CUDASPY_RING=64, SIM_LAUNCH_NS=0, **NVTX)
    lost = json.loads(cudaspy('report', '-f', 'json', lossy, status=0).stdout)['lost']
    if not lost['share'] > 0.01:
        pytest.skip('the machine drained the small ring in time')
    rules = ['launches = 6000', 'launches_per_step = 2', 'range "forward" launches = 6000', 'launch_p50_ns <= 1s']
    found = outcomes(*limits(*rules), lossy, status=3)
    assert [found[r]['outcome'] for r in rules] == ['pass'] + ['inconclusive'] * 3
    assert all('records were lost' in found[r]['reason'] for r in rules[1:])


def test_baseline_holds_steps_and_ranges(runs, tmp_path):
    base = json.loads(save(tmp_path, runs(**NVTX), runs(**NVTX, repeat=1)).read_text())
    assert base['per_step'] == {'source': 'nvtx', 'name': 'train_step', 'count': 20, 'judged': 20, 'launches': 2,
                                'graph_launches': 0, 'syncs': 1, 'copies': 1, 'pageable_copies': 0, 'copy_bytes': 64,
                                'sets': 0, 'alloc_calls': 0}
    assert base['ranges'] == [
        {'name': 'train_step', 'parent': None, 'count': 20, 'counted': 20, 'launches': 40, 'syncs': 20, 'copies': 20,
         'copy_bytes': 1280},
        {'name': 'forward', 'parent': 0, 'count': 20, 'counted': 20, 'launches': 40}]
    varied = json.loads(save(tmp_path, runs('vary=5', **NVTX)).read_text())['per_step']['launches']
    assert list(varied) == ['mean', 'min', 'max', 'error', 'freedom'] and varied['error'] > 0


def test_diff_by_step(runs, tmp_path):
    longer = record(tmp_path / 'longer', runs.program, '50', 'launch', **NVTX)
    found = json.loads(cudaspy('diff', '-f', 'json', runs(**NVTX), longer, status=0).stdout)
    launches = found['counts']['launches_per_step']
    assert (launches['before']['most'], launches['after']['most']) == (2, 3)
    assert not found['counts']['syncs_per_step']['changed']
    assert (found['before']['steps'], found['after']['steps'], found['after']['steps_name']) == (20, 50, 'train_step')
    assert found['times']['step_p50_ns']['after']['median'] > 0
    out = cudaspy('diff', '--skip-steps', '10', runs(**NVTX), longer, status=0).stdout
    assert 'steps       50 NVTX ranges train_step, 40 judged; were 20 NVTX ranges' in out
    out = cudaspy('diff', '--steps-from', 'forward', runs(**NVTX), longer, status=0).stdout
    assert 'NVTX ranges forward' in out


@pytest.mark.parametrize('command', ['check', 'diff'])
@pytest.mark.parametrize('args, part', [
    (['--steps', '20', '--skip-steps', '3'], '--steps divides whole runs'),
    (['--steps', '20', '--steps-from', 'x'], '--steps divides whole runs'),
    (['--skip-steps', 'x'], '--skip-steps x: no whole number'),
    (['--skip-steps', '-1'], '--skip-steps -1: no whole number'),
])
def test_wrong_usage(runs, command, args, part):
    p = cudaspy(command, *args, runs(), runs(repeat=1), status=2)
    assert part in p.stderr and not p.stdout
