# SPDX-License-Identifier: Apache-2.0
"""`cudaspy diff`: what changed from some recordings to others; counts exactly, times where repeats tell them from noise."""
import json
import re

import pytest

from test_check import baseline, cudaspy, record, runs # noqa: F401 (fixtures)


def diff(*args, status=0):
    return cudaspy('diff', *args, status=status)


def compared(*args):
    found = json.loads(diff('--format', 'json', *args).stdout)
    assert found['schema'] == 'cudaspy.diff/1'
    return found


def named(rows, name):
    (row,) = [r for r in rows if r['name'] == name]
    return row


def test_equal_runs(runs):
    found = compared(runs(), runs(repeat=1))
    assert found['machines_differ'] is None and found['times_judged'] is False
    assert not [name for name, row in found['counts'].items() if row['changed']]
    for table in ('kernels', 'apis', 'copies'):
        assert found[table] and not [r for r in found[table] if r['changed'] or r['presence'] != 'both']


def test_one_more_launch_and_copy(runs):
    found = compared(runs(), runs('launch', 'copy'))
    launches = found['counts']['launches']
    assert (launches['before']['most'], launches['after']['most'], launches['difference']) == (40, 60, 20)
    kernel = named(found['kernels'], 'short_work')
    assert kernel['presence'] == 'both' and kernel['difference'] == 20
    copy = named(found['copies'], 'HtoD pageable async')
    assert copy['presence'] == 'appeared' and copy['after']['most'] == 20
    assert copy['bytes_after']['most'] == 20 * 64
    assert named(compared(runs('copy'), runs())['copies'], 'HtoD pageable async')['presence'] == 'vanished'
    assert named(found['apis'], 'cuLaunchKernel')['difference'] == 20


def test_text(runs):
    """What changed stands first; nothing is wider than a terminal of 80 columns."""
    out = diff(runs(), runs('launch', 'alloc')).stdout
    assert re.search(r'^  launches +40 +60 +\+20, \+50\.0 %$', out, re.MULTILINE)
    assert not re.search('^  syncs', out, re.MULTILINE) and ' the same (--all).' in out
    table = out[out.index('CUDA API calls'):].split('Where in your code')[0] # there a wait may stand that was long
    assert 'allocations and frees 4 -> 44' in ' '.join(out.split()) and 'cuStreamSync' not in table
    whole = diff('--all', runs(), runs('launch', 'alloc')).stdout
    assert re.search(r'^  syncs +20 +20 +=$', whole, re.MULTILINE) and 'cuStreamSynchronize' in whole and '--all' not in whole
    calls = out[out.index('CUDA API calls'):].splitlines()[2:5]
    assert [line.split()[-1] for line in calls] == ['cuLaunchKernel', 'cuMemAlloc_v2', 'cuMemFree_v2']
    assert 'Not judged: a change may be noise.' in out
    # It is another figure than a report's step.
    assert ' per step; ' in out and 'The time per step is the middle one of ten pieces' in out
    top = {line for line in out.splitlines() if line.startswith(('before', 'after'))}
    assert all(len(line) <= 80 for line in out.splitlines() if line not in top)


def test_the_same_program_twice(runs):
    """Nothing changed: no table has a row, and the first line says so."""
    out = diff(runs(), runs(repeat=1)).stdout
    assert re.match('  (no difference that can be told|after is [0-9.]+x (fast|slow)er), as far as one recording a side tells: ', out)
    assert 'the counts are the same.' in ' '.join(out.split('\n\n')[0].split())
    counts = out[out.index('\nCounts'):out.index('\nTimes')].splitlines()
    assert counts[-1].endswith(' are the same (--all).') and len(counts) == 3
    says = compared(runs(), runs(repeat=1))['headline']
    assert says['judged'] is False and says['text'].endswith('; the counts are the same')


def test_few_calls_have_no_change(runs):
    """Of a call or two the median is one of them: no percentage and no star, whatever they took."""
    before = [runs(repeat=i) for i in range(3)]
    out = diff('--all', '--base', *before, '--new', *[runs('launch', repeat=i) for i in range(3)]).stdout
    rows = [line for line in out.splitlines() if re.match(' +1 +1 ', line)]
    assert rows and all(' few ' in row for row in rows)


def test_times_are_judged_with_repeats(runs):
    before = [runs(repeat=i, SIM_LAUNCH_NS=5000) for i in range(5)]
    after = [runs(repeat=i, SIM_LAUNCH_NS=10000) for i in range(5)]
    found = compared('--base', *before, '--new', *after)
    p50 = found['times']['launch_p50_ns']
    assert found['times_judged'] and p50['method'] == 'ranks' and p50['beyond_noise'] == 'rose'
    assert 1.3 < p50['lower'] <= p50['ratio'] <= p50['upper']
    assert named(found['kernels'], 'short_work')['p50_ns']['beyond_noise'] == 'rose'
    assert compared('--base', *after, '--new', *before)['times']['launch_p50_ns']['beyond_noise'] == 'fell'
    assert compared('--base', *before, '--new', *before[:3])['times']['launch_p50_ns']['beyond_noise'] == 'none'
    out = diff('--base', *before, '--new', *after).stdout
    assert re.search(r'^  launch_p50_ns .*% \*', out, re.MULTILINE)


def test_repeats_that_vary(runs):
    found = compared('--base', runs(), runs(repeat=1), '--new', runs(), runs('launch'))
    assert found['counts']['launches']['after'] == {'least': 40, 'median': 50, 'most': 60}
    assert re.search(r'^  launches +40 +40\.\.60 ', diff('--base', runs(), '--new', runs(), runs('launch')).stdout,
                     re.MULTILINE)


def test_other_machine(runs):
    """Counts are compared all the same."""
    other = runs('launch', CUDASPY_GPU='sample')
    found = compared(runs(), other)
    assert found['machines_differ'] == 'CUDASPY_GPU: off and sample'
    assert found['counts']['launches']['difference'] == 20
    out = diff('--base', runs(), runs(repeat=1), runs(repeat=2), '--new', other).stdout
    assert 'times do not compare, counts do' in out and 'Not judged: CUDASPY_GPU' in out


def test_geometry(tmp_path, run, compile_c):
    """A kernel that is launched as often, with another geometry."""
    source = r'''
        #include <cuda.h>
        #include <stdlib.h>
        int main(int argc, char **argv) {
            CUcontext c; CUmodule m; CUfunction f;
            if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) ||
                cuModuleLoadData(&m, "simcuda 1\nkernel work fixed:500\n") || cuModuleGetFunction(&f, m, "work"))
                return 1;
            for (int i = 0; i < 3; i++)
                if (cuLaunchKernel(f, atoi(argv[1]), 1, 1, 64, 1, 1, 0, NULL, NULL, NULL)) return 1;
            return cuCtxSynchronize() != CUDA_SUCCESS;
        }'''
    program = compile_c(source, '-lcuda')
    before, after = (record(tmp_path / n, program, n) for n in ('8', '16'))
    kernel = named(compared(before, after)['kernels'], 'work')
    assert kernel['reshaped'] and not kernel['difference']
    assert kernel['shape_before']['grid'] == [8, 1, 1] and kernel['shape_after']['grid'] == [16, 1, 1]
    assert 'work: grid 16x1x1 block 64x1x1, was grid 8x1x1 block 64x1x1' in diff(before, after).stdout


def test_per_step(runs):
    rows = compared('--steps', 20, runs(), runs('launch'))['counts']
    assert rows['launches_per_step']['before']['most'] == 2 and rows['launches_per_step']['after']['most'] == 3


def test_a_baseline_on_one_side(runs, baseline):
    found = compared(baseline, runs('launch'))
    assert found['counts']['launches']['difference'] == 20 and found['apis'] is None
    assert named(found['kernels'], 'short_work')['difference'] == 20


def test_markdown(runs, tmp_path):
    diff('--format', 'md', '--output', tmp_path / 'out.md', runs(), runs('launch'))
    out = (tmp_path / 'out.md').read_text()
    assert out.startswith('# cudaspy diff\n') and '| launches | 40 | 60 | +20, +50.0 % |' in out


def test_killed_is_said(runs):
    assert 'was killed' in diff(runs(), runs('kill')).stdout


@pytest.mark.parametrize('args, part', [
    ([], 'nothing to compare from'),
    (['a'], 'name two recordings'),
    (['a', 'b', 'c'], 'name two recordings'),
    (['--base', 'a'], 'nothing to compare with'),
    (['--new', 'a'], 'nothing to compare from'),
    (['a', '--base', 'b', '--new', 'c'], 'name two recordings'),
    (['a', 'b'], 'a: No such file'),
    (['--limit', 'x', 'a', 'b'], '--limit x: no whole number'),
    (['--format', 'csv', 'a', 'b'], '--format csv'),
])
def test_wrong_usage(args, part):
    p = diff(*args, status=2)
    assert part in p.stderr and len(p.stderr.splitlines()) == 1 and not p.stdout
