# SPDX-License-Identifier: Apache-2.0
"""Every form of rule that docs/CI_GATE.md and the manual document, and every error in one, through `cudaspy check`.

FORMS: each selector, each metric, per step and not, each comparison, each kind of limit with each unit: what it says of a
recording that is as the baseline (20 steps of two launches, a pinned copy of 64 bytes and a wait) and of one with one more
launch, sync, pageable copy, allocation and free in each step.
"""
import re

import pytest

from conftest import ROOT, SHIM
from test_check import check, cudaspy, outcomes, record, runs # noqa: F401 (a fixture)

P, F, N = 'pass', 'fail', 'inconclusive'

FORMS = [  # rule, as the baseline, with more of everything
    # each count, against the baseline and absolute
    ('launches <= +0', P, F), ('launches <= 59', P, F), ('launches <= +50%', P, P), ('launches <= +49.9%', P, F),
    ('graph_launches <= +0', P, P), ('graph_launches = 0', P, P),
    ('syncs <= +0', P, F), ('syncs <= 20', P, F),
    ('copies <= +0', P, F), ('copies <= +20', P, P),
    ('pageable_copies <= +0', P, F), ('pageable_copies = 0', P, F), ('pageable_copies <= +1000%', P, F),
    ('copy_bytes <= +0', P, F), ('copy_bytes <= 1280', P, F), ('copy_bytes <= +1280B', P, P),
    ('sets <= +0', P, P), ('sets = 0', P, P),
    ('alloc_calls <= +0', P, F), ('alloc_calls <= 4', P, F),
    ('failed_calls <= +0', P, P), ('failed_calls = 0', P, P),
    ('calls <= +0', P, F),
    # per step
    ('launches_per_step <= +0', P, F), ('graph_launches_per_step = 0', P, P), ('syncs_per_step <= 1', P, F),
    ('syncs_per_step <= 2', P, P), ('copies_per_step <= +0', P, F), ('pageable_copies_per_step = 0', P, F),
    ('copy_bytes_per_step <= 64B', P, F), ('copy_bytes_per_step <= 0.1KiB', P, F), ('sets_per_step <= +0', P, P),
    ('alloc_calls_per_step = 0', P, F), ('failed_calls_per_step = 0', P, P), ('calls_per_step <= +5%', P, F),
    ('launches_per_step <= 2.5', P, F), ('launches_per_step <= +50%', P, P), ('launches_per_step >= 3', F, P),
    # of the loop
    ('loop.steps = 20', P, P), ('loop.steps >= +0', P, P), ('loop.step_ns <= 1s', P, P), ('loop.launches <= 2', P, F),
    ('loop.graph_launches = 0', P, P), ('loop.syncs <= +0', P, F), ('loop.copies <= 1', P, F), ('loop.sets = 0', P, P),
    ('loop.pageable_copies = 0', P, F), ('loop.copy_bytes <= 64B', P, F), ('loop.allocs = 0', P, F),
    ('loop_steps <= 20', P, P), ('loop_steps_per_step <= 1', P, P),
    # comparisons
    ('launches >= 41', F, P), ('launches >= +0', P, P), ('launches >= +1', F, P), ('launches = 40', P, F),
    ('launches == 40', P, F), ('launches = +0', P, F), ('launches != 60', P, F), ('launches < 41', P, F),
    ('launches > 40', F, P), ('launches < +1', P, F), ('launches > +0', F, P), ('launches <= -1', F, F),
    ('launches>=-5%', P, P), ('launches <= +0.0', P, F),
    # kernels and ranges; patterns are found anywhere, a colon may follow, a quote is \\"
    ('kernel "short.*" launches >= 1', P, P), ('kernel "^short_work$": launches <= +0', P, F),
    ('kernel "short" launches_per_step <= 2', P, F), ('kernel "nothing" launches >= 1', F, F),
    ('kernel "a\\"b" launches = 0', P, P), ('kernel "short|long" launches <= +5%', P, F),
    ('kernel "nothing" launches <= 5', N, N), ('kernel "nothing" launches < 5', N, N), ('kernel "nothing" launches != 5', N, N),
    ('kernel "nothing" launches <= +0', N, N), ('kernel "nothing" launches >= +0', N, N), ('kernel "nothing" launches <= 0', P, P),
    ('kernel "nothing" launches < 1', P, P), ('kernel "nothing" launches_per_step <= 5', N, N), ('kernel "nothing" launches = 5', F, F),
    ('range "train_step": launches <= +5%', P, F), ('range "train_step" launches <= +0', P, F),
    ('range "train" syncs <= +0', P, F), ('range "train" copies <= +0', P, F), ('range "train" pageable_copies = 0', P, F),
    ('range "train" copy_bytes <= 1280', P, F), ('range "train" alloc_calls = 0', P, F), ('range "train" sets = 0', P, P),
    ('range "train" graph_launches <= +0', P, P), ('range "^forward$" launches_per_step = 2', P, F),
    ('range "forward": syncs_per_step = 0', P, P), ('range "backward" launches = 0', N, N),
    # bytes
    ('copy_bytes <= 2KiB', P, F), ('copy_bytes <= 1MiB', P, P), ('copy_bytes <= 1GiB', P, P), ('copy_bytes <= 2kB', P, F),
    ('copy_bytes <= 1MB', P, P), ('copy_bytes <= 1GB', P, P),
    # times: an absolute one by one recording; with a sign three recordings a side are needed
    ('launch_p50_ns <= 1s', P, P), ('launch_p50_ns <= 1000ms', P, P), ('launch_p50_ns <= 900000us', P, P),
    ('launch_p50_ns <= 1000000000ns', P, P), ('launch_p50_ns <= 1000000000', P, P), ('launch_p50_ns < 1ns', F, F),
    ('launch_p50_ns >= 1ns', P, P), ('launch_p50_ns > 1s', F, F), ('launch_p50_ns <= +15%', N, N),
    ('launch_p50_ns <= +3us', N, N), ('window_ns <= 60s', P, P), ('step_p50_ns <= 1s', P, P), ('step_p50_ns <= +5%', N, N),
    ('step_period_ns <= 1s', P, P), ('step_period_ns < 1ns', F, F), ('step_period_ns <= +5%', N, N),
    # GPU time, which these recordings do not know; test_check_gpu.py has some that do
    ('launch_overhead_ns <= 1s', N, N), ('sync_wasted_ns <= 1s', N, N), ('gpu_busy_share >= 60%', N, N),
    ('gpu_busy_share >= -5%', N, N), ('gpu_busy_share <= 99.5%', N, N),
    ('verdict != sync-bound', N, N), ('verdict = gpu-bound', N, N), ('verdict == launch-bound', N, N),
]


@pytest.fixture(scope='module')
def judged(tmp_path_factory, runs):
    """All the rules at once, on both recordings."""
    folder = tmp_path_factory.mktemp('forms')
    for name, words in ('base', []), ('same', []), ('more', ['launch', 'sync', 'copy', 'alloc']):
        record(folder / name, runs.program, '20', *words, NVTX_INJECTION64_PATH=SHIM)
    base = folder / 'base.json'
    check('--save-baseline', base, folder / 'base', status=0)
    args = ['--baseline', base, *(f'--limit={rule}' for rule, _, _ in FORMS)]
    return [outcomes(*args, folder / name, status=1) for name in ('same', 'more')]


@pytest.mark.parametrize('rule, same, more', FORMS, ids=[form[0] for form in FORMS])
def test_form(judged, rule, same, more):
    assert [found[rule]['outcome'] for found in judged] == [same, more], [found[rule]['message'] for found in judged]


def test_every_metric_is_in_a_form():
    listed = re.findall(r'^  (\w+) +(count|bytes|time|share|word) ', check('--metrics', status=0).stdout, re.MULTILINE)
    for name, kind in listed:
        assert [form for form in FORMS if re.search(rf'\b{name} ', form[0])], name
        if kind in ('count', 'bytes'):
            assert [form for form in FORMS if re.search(rf'\b{name}_per_step ', form[0])], name


def test_documented_rules_are_rules():
    """Those of the documents and of the manual: what stands there in quotes and has a comparison."""
    texts = ''.join((ROOT / page).read_text().replace('\\-', '-') for page in ('README.md', 'docs/CI_GATE.md', 'report/cudaspy.1'))
    rules = set(re.findall(r"""['"]((?:kernel |range )?"?[\w.*"^$ :]*?\w+ (?:<=|>=|!=|=) [^'"\n]+)['"]""", texts))
    rules = {rule for rule in rules if re.match(r'(kernel|range) "|[a-z_0-9]+ ', rule)}
    assert len(rules) >= 5, rules
    for rule in rules:
        check('--explain', rule, status=0)


ERRORS = [  # rule, column of the mark, part of what is said
    ('', 1, 'expected a metric'), ('<= 5', 1, 'expected a metric'),
    ('launchs <= +0', 1, 'did you mean launches?'), ('zzz <= +0', 1, 'cudaspy check --metrics lists them'),
    ('launchs_per_step <= +0', 1, 'did you mean launches?'), ('launch_p50_ns_per_step <= 1', 14, 'no value per step'),
    ('loop.launchs <= 2', 6, 'did you mean loop.launches?'), ('loop.calls <= 2', 6, 'loop.'),
    ('kernel "x" loop.launches <= 2', 12, 'of the run'), ('launches', 9, 'expected a comparison'), ('launches ~ 5', 10, 'expected a comparison'),
    ('launches <=', 12, 'expected a limit'), ('launches <= x', 13, 'expected a limit'),
    ('launches <= 5ms', 14, 'takes no unit'), ('launches <= 5%', 13, 'over the baseline'),
    ('launches <= 2.5', 13, 'whole number'), ('launches <= 1234567890123456789', 13, 'more than 18'),
    ('launches != +5', 13, 'without a sign'), ('launches <= +0 and more', 16, 'too much'),
    ('launch_p50_ns <= 5MiB', 19, 'ns, us, ms or s'), ('launch_p50_ns = 5us', 15, 'never equal'),
    ('copy_bytes <= 5us', 16, 'in bytes'), ('gpu_busy_share >= 60', 19, 'give it in %'),
    ('gpu_busy_share = 60%', 16, 'never equal'),
    ('verdict <= sync-bound', 9, '= or !='), ('verdict != sync', 12, 'did you mean sync-bound'),
    ('verdict !=', 11, 'class of verdict'), ('verdict != zzzzzzzzzz', 12, 'unknown verdict zzzzzzzzzz'),
    ('verdict = inconclusive', 11, 'exit status is 3'),
    ('kernel flash launches >= 1', 8, 'in quotes'), ('kernel "flash launches >= 1', 8, 'not closed'),
    ('kernel "" launches >= 1', 8, 'empty name'), ('kernel "a++++++++++++++++++++b" launches = 0', 8, 'repeats repetitions'),
    ('range "((x{255}){255}){255}" launches = 0', 7, 'repeats repetitions'), ('kernel "(" launches >= 1', 8, 'regular expression'),
    ('kernel "x" syncs >= 1', 12, 'single kernels'), ('kernel "x"', 11, 'expected a metric'),
    ('range "x" failed_calls = 0', 11, 'not known of NVTX ranges'), ('range "x" gpu_busy_share >= 5%', 11, 'NVTX ranges'),
]


@pytest.mark.parametrize('rule, column, part', ERRORS, ids=[error[0] for error in ERRORS])
def test_error(runs, rule, column, part):
    """One line with the column, the rule, and a mark below the place; the same with line and column from a file."""
    p = check('--limit', rule, runs(), status=2)
    first, second, third = p.stderr.split('\n')[:3]
    assert f'column {column}: ' in first and part in first
    assert second == '  ' + rule and third == ' ' * (column + 1) + '^'
    assert not p.stdout


def test_error_in_a_file(runs, tmp_path):
    for number, (rule, column, part) in enumerate(ERRORS):
        config = tmp_path / f'{number}.toml'
        config.write_text(f"limits = [\n  'launches <= 1',\n  '{rule}',\n]\n")
        p = check('--config', config, runs(), status=2)
        assert p.stderr.startswith(f'cudaspy: {config}:3:{3 + column}: ') and part in p.stderr.splitlines()[0], rule


@pytest.mark.parametrize('rule', ['launches >= 0', 'launches >= -100%', 'launches > -101%', 'gpu_busy_share <= 100%',
                                  'gpu_busy_share < 101%', 'gpu_busy_share >= -100%',
                                  'launch_p50_ns >= 0us', 'loop.launches >= 0'])
def test_a_rule_that_no_run_fails_is_said(rule, runs):
    p = cudaspy('check', '--baseline', runs(), '--limit', rule, runs(repeat=1))
    assert f'check: no run can fail the rule {rule}' in p.stderr


@pytest.mark.parametrize('rule', ['launches >= 1', 'launches > 0', 'launches >= -99%', 'launches <= 0', 'gpu_busy_share <= 99%',
                                  'gpu_busy_share >= -99%', 'gpu_busy_share < 100%', 'launches > -100%', 'launches >= -5', 'launches > -1', 'kernel "nothing" launches >= 0', 'verdict != gpu-bound'])
def test_other_rules_are_judged_without_a_word(rule, runs):
    assert 'no run can fail' not in cudaspy('check', '--baseline', runs(), '--limit', rule, runs(repeat=1)).stderr


def test_a_rule_of_a_file_that_no_run_fails_is_said(runs, tmp_path):
    (tmp_path / 'rules.toml').write_text('limits = ["launches >= 0"]\n')
    p = check('--config', tmp_path / 'rules.toml', runs(), status=0)
    assert re.search(r'rules.toml:1:\d+: no run can fail the rule launches >= 0', p.stderr)
