# SPDX-License-Identifier: Apache-2.0
"""`cudaspy check`: a gate that fails when a program calls CUDA otherwise than before, and never else.

Beside this file: test_check_rules.py (every form of rule, every error in one), test_check_steps.py (steps, NVTX ranges),
test_check_gpu.py (verdict, GPU time), test_check_formats.py (JUnit, workflow commands, JSON, Markdown).
scripts/gate_acceptance measures how often it is wrong.
"""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, REPORTER, ROOT, SAMPLES, SIM, VIRTUAL_TIME, environment

STEPS = BUILD / 'tests/e2e/steps'
FOLDER = ROOT / 'tests/e2e'
GATED = 9  # rules that are judged when none is given: METRIC_GATED in report/gate/metrics.c


def record(folder, *command, **variables):
    """Runs a command under the shim, its recordings in a folder of that name."""
    env = environment(folder, CUDASPY_QUIET=1, **variables)
    folder.mkdir(parents=True)
    process = subprocess.run([str(c) for c in command], env=env, cwd=folder,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert process.returncode in (0, -9), process.stdout
    return folder


def cudaspy(*args, status=None, cwd=None):
    p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, cwd=cwd,
                       env={k: v for k, v in os.environ.items() if k != 'COLUMNS'}, universal_newlines=True)
    assert status is None or p.returncode == status, p.stdout + p.stderr
    return p


def check(*args, status, **kwargs):
    return cudaspy('check', *args, status=status, **kwargs)


def outcomes(*args, status):
    found = json.loads(check('--format', 'json', *args, status=status).stdout)
    assert found['schema'] == 'cudaspy.check/1'
    return {r['rule']: r for r in found['rules']}


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """runs('launch'): a folder of a recording of 20 steps with one more launch in each; made once."""
    cache = {}
    base = tmp_path_factory.mktemp('runs')

    def go(*more, repeat=0, **variables):
        key = more, repeat, tuple(variables.items())
        if key not in cache:
            # No two in the same time, and none that stood still.
            quiet = {} if 'SIM_LAUNCH_NS' in variables else {**VIRTUAL_TIME, 'VIRTUAL_CLOCK_NOISE': len(cache) + 1}
            cache[key] = record(base / str(len(cache)), STEPS, '20', *more, **{**quiet, **variables})
        return cache[key]

    go.program = STEPS
    return go


@pytest.fixture(scope='module')
def baseline(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp('base') / 'base.json'
    check('--save-baseline', path, runs(), status=0)
    return path


def test_equal_runs_pass(runs, baseline):
    out = check('--baseline', baseline, runs(repeat=1), status=0).stdout
    assert re.search(r'^pass +launches <= \+0: before 40, after 40 \(no change\)$', out, re.MULTILINE)
    assert out.endswith(f'\n{GATED} rules passed\n')


# What one more in each of 20 steps breaks (a gated metric that follows from it goes into `expected` below), and what it says
# of where.
CHANGES = {
    'launch': ('launches', 40, 60, r'\w+: 40 -> 60'),
    'sync': ('syncs', 20, 40, 'cuStreamSynchronize: 20 -> 40'),
    'copy': ('pageable_copies', 0, 20, 'HtoD pageable async: 0 -> 20'),
    'alloc': ('alloc_calls', 4, 44, r'cuMem(Alloc|Free)_v2: 1 -> 21'),
}


@pytest.mark.parametrize('change', CHANGES)
def test_one_more_in_each_step_fails(runs, baseline, change):
    metric, before, after, where = CHANGES[change]
    found = outcomes('--baseline', baseline, runs(change), status=1)
    rule = found[f'{metric} <= +0']
    assert (rule['outcome'], rule['before'], rule['after']) == ('fail', [before] * 2, [after] * 2)
    assert re.fullmatch(where, rule['where'])
    expected = {metric, 'copies', 'copy_bytes'} if change == 'copy' else {metric}
    assert {r for r in found if found[r]['outcome'] != 'pass'} == {f'{m} <= +0' for m in expected}


def test_a_failure_is_one_line(runs, baseline):
    out = check('--baseline', baseline, runs('sync'), status=1).stdout
    lines = [line for line in out.splitlines() if line.startswith('FAIL')]
    assert len(lines) == 1
    for part in ('syncs <= +0', 'before 20', 'after 40', '+100.0 %', 'limit 20', 'cuStreamSynchronize: 20 -> 40'):
        assert part in lines[0]


def test_baseline_may_be_a_recording(runs):
    check('--baseline', runs(), runs(repeat=1), status=0)
    check('--baseline', next(runs().glob('*.cudaspy')), runs('launch'), status=1)


def test_each_repeat_must_keep_a_count(runs, baseline):
    check('--baseline', baseline, runs(repeat=1), runs('launch'), runs(repeat=2), status=1)


def test_absolute_limits_need_no_baseline(runs):
    rules = ['launches = 40', 'pageable_copies = 0', 'syncs <= 20', 'copy_bytes <= 2KiB', 'launch_p50_ns <= 1s',
             'kernel ".*" launches >= 1', 'failed_calls != 1']
    found = outcomes(*(f'--limit={r}' for r in rules), runs(), status=0)
    assert list(found) == rules
    check('--limit', 'kernel "nothing" launches >= 1', runs(), status=1)


def test_per_step(runs, baseline):
    rules = ('--limit', 'launches_per_step <= 2', '--limit', 'alloc_calls_per_step <= +0')
    found = outcomes(*rules, '--steps', 20, '--baseline', baseline, runs(repeat=1), status=0)
    assert found['launches_per_step <= 2']['after'] == [2, 2]
    assert found['alloc_calls_per_step <= +0']['note'] == '4 over 20 steps is no whole number: start-up is counted too'
    check(*rules, '--steps', 20, '--baseline', baseline, runs('launch'), status=1)


def test_a_folder_is_one_run(runs, tmp_path):
    """Two processes of one run: their counts are summed."""
    record(tmp_path / 'two', 'sh', '-c', f'{STEPS} 20; {STEPS} 5', CUDASPY_RUN_ID='one')
    check('--limit', 'launches = 50', tmp_path / 'two', status=0)


def of_ranks(folder, *ranks):
    command = '; '.join(f'RANK={rank} {STEPS} 5' for rank in ranks)
    return record(folder, 'sh', '-c', command, CUDASPY_RUN_ID='one')


def test_a_rank_that_is_missing(tmp_path):
    """Less is launched where less is recorded: no rule that holds then has passed, and no baseline is made of it."""
    whole, again, fewer = (of_ranks(tmp_path / str(i), *ranks) for i, ranks in enumerate(([0, 1, 2], [2, 1, 0], [0, 2])))
    base = tmp_path / 'base.json'
    check('--save-baseline', base, whole, status=0)
    assert json.loads(base.read_text())['ranks'] == ['0', '1', '2']
    check('--baseline', base, again, status=0)
    for before in base, whole:
        found = outcomes('--baseline', before, fewer, status=3)
        assert all(rule['outcome'] == 'inconclusive' for rule in found.values())
        assert 'no recording of rank 1, which ' in found['launches <= +0']['reason']
    # The other way round: the limit would be that of all of them. What has nothing to do with the baseline is judged.
    found = outcomes('--baseline', fewer, '-l', 'launches <= +0', '-l', 'syncs <= 1', whole, status=1)
    assert [rule['outcome'] for rule in found.values()] == ['inconclusive', 'fail']
    assert 'no recording of rank 1' in check('--save-baseline', base, whole, fewer, status=3).stderr
    # An older baseline does not say; and one process is the same with a launcher and without.
    older = json.loads(base.read_text())
    del older['ranks']
    base.write_text(json.dumps(older))
    check('--baseline', base, fewer, status=0)
    check('--baseline', record(tmp_path / 'alone', STEPS, '5'), of_ranks(tmp_path / 'one', 0), status=0)


def test_no_answer(runs, baseline):
    """What one rule cannot say hides no failure of another."""
    unknown = {'gpu_busy_share >= 60%': 'GPU time is not known', 'verdict != sync-bound': 'its verdict is inconclusive: too ',
               'range "step": launches <= 5': 'no NVTX ranges', 'launch_p50_ns <= +15%': '3 recordings a side'}
    limits = [f'--limit={r}' for r in unknown]
    found = outcomes('--baseline', baseline, *limits, runs(), status=3)
    for rule, reason in unknown.items():
        assert found[rule]['outcome'] == 'inconclusive', rule
        assert reason in found[rule]['reason']
    found = outcomes('--baseline', baseline, *limits, '--limit', 'launches <= 1', runs(), status=1)
    assert found['launches <= 1']['outcome'] == 'fail'


@pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')
def test_gpu_time(runs):
    """Where it is known, rules on it have an answer."""
    rules = ('gpu_busy_share <= 100%', 'launch_overhead_ns <= 1s', 'sync_wasted_ns <= 1s')
    found = outcomes(*(f'--limit={r}' for r in rules), runs(CUDASPY_GPU='cupti', LD_LIBRARY_PATH=f'{SIM}:{SIM / "cupti13"}'),
                     status=0)
    assert 0 < found['gpu_busy_share <= 100%']['after'][0] <= 1


def test_killed(runs, baseline):
    found = outcomes('--baseline', baseline, runs('kill'), status=3)
    assert 'was killed' in found['launches <= +0']['reason']
    check('--baseline', baseline, '--allow-killed', runs('kill'), status=0)
    check('--limit', 'launches <= 39', runs('kill'), status=1) # it would not have become fewer
    check('--save-baseline', '/dev/null', runs('kill'), status=3)


def test_other_machines(runs, baseline, tmp_path):
    """Counts are judged all the same, times are not."""
    other = json.loads(baseline.read_text())
    other['machine']['gpus'] = 'NVIDIA H200'
    (tmp_path / 'other.json').write_text(json.dumps(other))
    found = outcomes('--baseline', tmp_path / 'other.json', '-l', 'launches <= +0', '-l', 'launch_p50_ns <= +5%', runs(),
                     status=3)
    assert found['launches <= +0']['outcome'] == 'pass'
    assert 'NVIDIA H200' in found['launch_p50_ns <= +5%']['reason']
    sampled = runs(CUDASPY_GPU='sample')
    found = outcomes('--baseline', baseline, '-l', 'launch_p50_ns <= +5%', sampled, status=3)
    assert 'CUDASPY_GPU: off and sample' in found['launch_p50_ns <= +5%']['reason']


def test_a_slower_launch_is_found(runs, tmp_path):
    """Launches of twice the time, five recordings a side; the same recordings against themselves are not slower."""
    before = [runs(repeat=i, SIM_LAUNCH_NS=5000) for i in range(5)]
    after = [runs(repeat=i, SIM_LAUNCH_NS=10000) for i in range(5)]
    check('--save-baseline', tmp_path / 'base.json', *before, status=0)
    found = outcomes('-b', tmp_path / 'base.json', '-l', 'launch_p50_ns <= +30%', *after, status=1)
    change = found['launch_p50_ns <= +30%']['change']
    assert change['method'] == 'ranks' and change['confidence'] == 0.99
    assert 1.3 < change['lower'] <= change['ratio'] <= change['upper']
    check('-b', tmp_path / 'base.json', '-l', 'launch_p50_ns <= +5%', *before, status=0)
    check('-b', tmp_path / 'base.json', '-l', 'launch_p50_ns <= +5%', *after[:2], status=3)
    found = outcomes('-b', tmp_path / 'base.json', '-l', 'launch_p50_ns <= +30%', *after[:3], status=1)
    assert found['launch_p50_ns <= +30%']['change']['method'] == 'Welch' # ranks of 5 and 3 reach 1.8 %


def test_baseline_file(runs, tmp_path):
    """Small, in one order, the same for equal runs but for times."""
    for name in 'ab':
        check('--save-baseline', tmp_path / name, runs(), runs(repeat=1), status=0)
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()
    base = json.loads((tmp_path / 'a').read_text())
    assert list(base) == ['schema', 'generated_by', 'recordings', 'program', 'machine', 'ranks', 'counts', 'times', 'verdict',
                          'kernels', 'apis', 'copy_kinds', 'copy_kind_bytes', 'per_step', 'sites']
    assert base['schema'] == 'cudaspy.baseline/1'
    assert base['machine'] == {'gpus': 'Simulated GPU 0', 'driver': '13.0', 'gpu_mode': 'off'}
    assert base['counts']['launches'] == 40 and len(base['times']['window_ns']) == 2
    assert sum(base['kernels'].values()) == 40
    check('--save-baseline', tmp_path / 'c', runs(), runs('launch'), status=0)
    assert json.loads((tmp_path / 'c').read_text())['counts']['launches'] == [40, 60]


def test_bytes_of_a_baseline(runs, tmp_path):
    """Kinds of copies have theirs in it; of an older one, without, what is now is told."""
    base, rule = tmp_path / 'base.json', 'copy_bytes <= +0'
    check('--save-baseline', base, runs(), status=0)
    saved = json.loads(base.read_text())
    where = outcomes('-b', base, '-l', rule, runs('copy'), status=1)[rule]['where']
    assert re.fullmatch(r'HtoD pageable async: 0 B -> \d+ B', where)
    del saved['copy_kind_bytes']
    base.write_text(json.dumps(saved))
    assert outcomes('-b', base, '-l', rule, runs('copy'), status=1)[rule]['where'] == where.replace('0 B -> ', '')


def test_a_baseline_from_an_editor(runs, tmp_path):
    """Some put a mark of the bytes' order ahead of the text."""
    check('--save-baseline', tmp_path / 'base.json', runs(), status=0)
    (tmp_path / 'marked.json').write_bytes(b'\xef\xbb\xbf' + (tmp_path / 'base.json').read_bytes())
    check('--baseline', tmp_path / 'marked.json', runs(), status=0)


def test_our_own_gate(tmp_path):
    """This repository's own baseline: what a sample calls on the simulated CUDA, and what cudaspy counts of it."""
    # In virtual time: which of the first steps belong to the loop is told by how long they take.
    run = record(tmp_path / 'run', SAMPLES / 'sim/sync_every_step', '100', **VIRTUAL_TIME)
    check('--config', FOLDER / 'gate/cudaspy.toml', run, status=0)


@pytest.mark.parametrize('program', ['vector_add', 'sync_every_step', 'many_tiny_launches', 'streams', 'alloc_every_step',
                                     'graph_replay'])
def test_no_false_alarm(tmp_path, program):
    """Three recordings a side of the same program: no count differs. Of times scripts/gate_acceptance tells."""
    sides = [record(tmp_path / str(i), SAMPLES / 'sim' / program, '200') for i in range(6)]
    check('--save-baseline', tmp_path / 'base.json', *sides[::2], status=0)
    rules = [f'--limit={r}' for r in ('launches <= +0', 'syncs <= +0', 'copies <= +0', 'alloc_calls <= +0', 'calls <= +0')]
    check('--baseline', tmp_path / 'base.json', *sides[1::2], status=0)
    check('--baseline', tmp_path / 'base.json', *rules, *sides[1::2], status=0)


def test_acceptance_script():
    """In small: it does what it says. Whether times are judged right, no busy machine can promise: its status is not looked at."""
    p = subprocess.run([ROOT / 'scripts/gate_acceptance', '--build', BUILD, '--pairs', '1', '--tries', '1', '--rises', '1'],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=300)
    assert p.returncode in (0, 1), p.stdout
    assert 'ok    equal runs: pairs whose counts fail, of 1: 0' in p.stdout
    for change in CHANGES:
        assert f'ok    one more {change} in each step: missed, of 1: 0' in p.stdout
    assert 'found by launch_p50_ns <= +3%, of 1: ' in p.stdout


def test_what_is_read_is_not_written_over(runs, tmp_path):
    base, rules = tmp_path / 'base.json', tmp_path / 'cudaspy.toml'
    check('--save-baseline', base, runs(), status=0)
    rules.write_text('limits = ["launches <= 1000"]\n')
    before = base.read_bytes(), rules.read_bytes()
    for args, part in (
            (['--baseline', base, '-o', base, runs()], 'is read as the baseline; name another file'),
            (['-o', rules, runs()], 'is read as the rules; name another file'),
            (['--config', 'cudaspy.toml', '-o', rules, runs()], 'is read as the rules; name another file'),
            (['--save-baseline', rules, runs()], 'is no baseline; name another file')):
        p = check(*args, status=2, cwd=tmp_path)
        assert part in p.stderr and not p.stdout
    p = cudaspy('diff', '-o', base, base, runs(), status=2)
    assert 'is read as the baseline' in p.stderr
    assert before == (base.read_bytes(), rules.read_bytes())
    check('--save-baseline', base, runs(), status=0) # a baseline may take the place of one


def test_a_recording_is_no_repeat_of_itself(runs):
    p = check('--limit', 'launches = 40', runs(), runs(), status=2)
    assert 'is named twice' in p.stderr


def test_a_copy_is_no_repeat(runs, tmp_path):
    """It is judged, and said."""
    one, = runs().glob('*.cudaspy')
    shutil.copy(one, tmp_path / 'copy.cudaspy')
    p = check('--limit', 'launches = 40', one, tmp_path / 'copy.cudaspy', status=0)
    assert f'copy.cudaspy is of the same run as {one}: they are no repeats' in p.stderr
    assert not check('--limit', 'launches = 40', runs(), runs(repeat=1), status=0).stderr


def test_another_program_is_no_repeat(runs, tmp_path):
    other = record(tmp_path / 'other', SAMPLES / 'sim/vector_add')
    p = check('--limit', 'launches >= 1', runs(), other, status=0)
    assert f'{other} is of vector_add, {runs()} of steps: they are no repeats' in p.stderr


def test_a_baseline_of_another_program_is_said(runs, tmp_path):
    """Its counts may well be lower, and all rules hold."""
    other = record(tmp_path / 'other', SAMPLES / 'sim/vector_add')
    base = tmp_path / 'base.json'
    check('--save-baseline', base, runs(), status=0)
    p = check('--baseline', base, '--limit', 'launches <= +0', other, status=0)
    assert f'{base} is of steps, {other} of vector_add: is it the right baseline?' in p.stderr
    assert not check('--baseline', base, runs(repeat=1), status=0).stderr
    base.write_text(json.dumps({k: v for k, v in json.loads(base.read_text()).items() if k != 'program'}))
    assert not check('--baseline', base, '--limit', 'launches <= +0', other, status=0).stderr # as earlier versions wrote it


@pytest.mark.parametrize('args, part', [
    ([], 'no recording named'),
    (['x.cudaspy'], 'neither a rule nor a baseline'),
    (['--limit', 'launches <= +0', 'x.cudaspy'], 'launches <= +0 is against a baseline: --baseline FILE'),
    (['--limit', 'launches = 0', 'x.cudaspy'], 'x.cudaspy: No such file'),
    (['--baseline', 'nothing.json', 'x.cudaspy'], 'nothing.json: No such file'),
    (['--steps', '0', 'x.cudaspy'], '--steps 0: no whole number'),
    (['--format', 'xml', 'x.cudaspy'], '--format xml'),
    (['--bananas'], 'unknown option --bananas'),
    (['--expect-kernel', '', 'x.cudaspy'], '--expect-kernel: an empty name'),
    (['--baseline', '', 'x.cudaspy'], '--baseline: the name is empty'),
    ([''], 'a name is empty'),
    (['--save-baseline', 'x.json'], 'no recording named'),
    (['--explain', 'nothing <= 1'], 'unknown metric nothing'),
])
def test_wrong_usage(tmp_path, args, part):
    p = check(*args, status=2, cwd=tmp_path)
    assert part in p.stderr and not p.stdout


@pytest.mark.parametrize('text, place, part', [
    ('limits = [\n  "launches <= 1",\n  "launchs <= 1",\n]\n', '3:4', 'did you mean launches?'),
    ("limits = ['kernel \"x\" syncs <= 1']\n", '1:23', 'single kernels'),
    ('limit = []\n', '1:1', 'did you mean limits?'),
    ('bananas = 1\n', '1:1', 'unknown key bananas'),
    ('limits = "launches <= 1"\n', '1:10', 'must be a list'),
    ('limits = [ 5 ]\n', '1:12', 'must be a text'),
    ('limits = [ "launches <= 50\\u0000 and more" ]\n', '1:12', 'must be a text'), # not what stands before it alone
    ('steps_from = "a\\u0000b"\n', '1:14', 'name of NVTX ranges'),
    ('"limits\\u0000x" = [ "launches <= 50" ]\n', '1:1', 'a key with a NUL'),
    ('steps = 0\n', '1:9', 'whole number'),
    ('allow_killed = 1\n', '1:16', 'true or false'),
    ('baseline = 1\n', '1:12', 'path of a file'),
    ('baseline = "none.json"\n', '1:12', 'none.json: No such file'),
    ('limits = [ "launches <= +0" ]\n', '1:12', 'against a baseline'),
    ('skip_steps = -1\n', '1:14', 'whole number'),
    ('steps_from = 5\n', '1:14', 'name of NVTX ranges'),
    ('steps_from = ""\n', '1:14', 'name of NVTX ranges'),
    ('skip_steps = 1\nsteps = 5\n', '2:1', 'not together with skip_steps'),
    ('limits = [\n', None, ''),
    ('# why\n[,]\n', '2:2', 'a key must stand here'), # what toml++ 3.3 asserts instead of saying
    ('a = 1\na = 2\n', '2:', ''),
])
def test_wrong_config(runs, tmp_path, text, place, part):
    (tmp_path / 'cudaspy.toml').write_text(text)
    p = check('--config', 'cudaspy.toml', runs(), status=2, cwd=tmp_path)
    first = p.stderr.splitlines()[0]
    assert first.startswith(f'cudaspy: cudaspy.toml:{place or ""}') and part in first


def test_config(runs, baseline, tmp_path):
    """Its baseline is beside it, wherever check is called; it is found in this folder; --limit adds to --config."""
    shutil.copy(baseline, tmp_path / 'base.json')
    config = tmp_path / 'cudaspy.toml'
    config.write_text('baseline = "base.json"\nsteps = 20\nallow_killed = true\n'
                      'limits = ["launches_per_step <= +0", "launch_p50_ns <= 1s"]\n')
    found = outcomes('--config', config, '--limit', 'syncs = 20', runs('kill'), status=0)
    assert list(found) == ['launches_per_step <= +0', 'launch_p50_ns <= 1s', 'syncs = 20']
    assert found['launches_per_step <= +0']['line'] == 4
    p = check(runs('launch'), status=1, cwd=tmp_path)
    assert 'rules are those of cudaspy.toml in this folder' in p.stderr
    check('--limit', 'launches = 60', runs('launch'), status=0, cwd=tmp_path) # then not


@pytest.mark.parametrize('text, part', [
    ('{"schema": "cudaspy.report/1"}', 'its schema is cudaspy.report/1'),
    ('{"schema": ', ':1:'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 0}', '"recordings"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 2, "counts": {"launches": [1]}}', '"launches"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "kernels": {"k": "x"}}', '"k"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "per_step": {"source": "x"}}', '"source"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "per_step": {"source": "nvtx"}}', '"count"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "per_step": {"source": "nvtx", "count": 5, "judged": 5, "syncs": {"mean": "x"}}}', '"syncs"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "ranges": [{"name": "a", "parent": 0}]}', '"parent"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "ranges": [5]}', '"name"'),
    ('{"schema": "cudaspy.baseline/1", "recordings": 1, "ranges": {}}', '"ranges"'),
])
def test_wrong_baseline(runs, tmp_path, text, part):
    (tmp_path / 'base.json').write_text(text)
    p = check('--baseline', tmp_path / 'base.json', runs(), status=2)
    assert part in p.stderr and len(p.stderr.splitlines()) == 1


def test_what_cannot_be_read_or_written(runs, baseline, tmp_path):
    (tmp_path / 'text.cudaspy').write_text('no recording')
    (tmp_path / 'empty').mkdir()
    for args, part in (
            (['-l', 'launches = 1', tmp_path / 'text.cudaspy'], 'text.cudaspy: '),
            (['-l', 'launches = 1', tmp_path / 'empty'], 'empty'),
            (['--config', tmp_path / 'none.toml', runs()], 'none.toml: No such file'),
            (['--output', tmp_path / 'none/out', '-b', baseline, runs()], 'none/out: No such file'),
            (['--save-baseline', tmp_path / 'none/out', runs()], 'none/out: No such file'),
            (['--save-baseline', tmp_path / 'base.json', runs(), runs(CUDASPY_GPU='sample')], 'different machines')):
        p = check(*args, status=2)
        assert part in p.stderr and len(p.stderr.splitlines()) == 1 and not p.stdout
    (tmp_path / 'large.toml').write_text('#' * (1 << 20))
    assert 'more than 1 MiB' in check('--config', tmp_path / 'large.toml', runs(), status=2).stderr


def test_no_output_takes_the_place_of_a_recording(runs, baseline, tmp_path):
    for number, args in enumerate((['check', '-l', 'launches = 40', '-o'], ['check', '--save-baseline'], ['report', '-o'],
                                   ['diff', baseline, '-o'], ['export', '-f', 'chrome', '-o'])):
        recording = tmp_path / f'{number}.cudaspy'
        shutil.copy(next(runs().glob('*.cudaspy')), recording)
        before = recording.read_bytes()
        p = cudaspy(*args, recording, recording, status=2)
        assert f'{number}.cudaspy: is a recording' in p.stderr and len(p.stderr.splitlines()) == 1, p.stderr
        assert recording.read_bytes() == before


def test_an_older_baseline_lacks_a_metric(runs, tmp_path):
    (tmp_path / 'base.json').write_text('{"schema": "cudaspy.baseline/1", "recordings": 1, "counts": {"launches": 40}}')
    found = outcomes('--baseline', tmp_path / 'base.json', runs(), status=3)
    assert found['launches <= +0']['outcome'] == 'pass'
    assert 'syncs is not known' in found['syncs <= +0']['reason']


def test_markdown(runs, baseline):
    out = check('--format', 'md', '--baseline', baseline, runs('launch'), status=1).stdout
    assert out.startswith(f'### cudaspy check: 1 of {GATED} rules failed')
    rows = [line for line in out.splitlines() if line.startswith('|')]
    assert len(rows) == 2 + GATED and all(len(re.findall(r'(?<!\\)\|', row)) == 7 for row in rows)


def test_output_file(runs, baseline, tmp_path):
    p = check('--output', tmp_path / 'out', '--baseline', baseline, runs('launch'), status=1)
    assert not p.stdout and 'FAIL' in (tmp_path / 'out').read_text()


@pytest.mark.parametrize('rule, parts', [
    ('launches <= +0', ['kernels launched', 'at most what the baseline has']),
    ('launches_per_step <= +5%', ['one step', "the baseline's and 5 % more", '--steps N', 'scatter']),
    ('launch_p50_ns <= +15%', ['99 %', 'rank test', 'fewer than three', 'records were lost']),
    ('gpu_busy_share >= -5%', ['5 percentage points less', 'GPU time is not known', 'GPU times are estimated']),
    ('gpu_busy_share >= 60%', ['at least 60.0 %', 'interval of an estimate']),
    ('kernel "flash.*" launches >= 1', ['flash.*', 'at least 1']),
    ('range "train": launches <= 5', ['NVTX', 'summed over the run', 'no NVTX range matches']),
    ('range "train": launches_per_step <= 5', ['on average of each such range']),
    ('kernel "a" launches_per_step <= 5', ['not counted step by step']),
    ('step_p50_ns <= +5%', ['median', 'no steps were recorded']),
    ('verdict != sync-bound', ['is not sync-bound', 'low confidence', 'mixed', 'the loop that holds most time, where there is one']),
])
def test_explain(rule, parts):
    out = ' '.join(check('--explain', rule, status=0).stdout.split())
    for part in parts:
        assert part in out
    assert all(len(line) <= 80 for line in check('--explain', rule, status=0).stdout.splitlines())


def test_metrics_are_listed():
    out = check('--metrics', status=0).stdout
    for metric in ('launches', 'pageable_copies', 'copy_bytes', 'launch_p50_ns', 'gpu_busy_share', 'verdict'):
        assert re.search(rf'^  {metric} ', out, re.MULTILINE)
