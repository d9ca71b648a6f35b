# SPDX-License-Identifier: Apache-2.0
"""Every variable of the environment: what it does, and what a wrong value does, which is one line and the default."""
import re
import subprocess

import pytest

import against_truth
from conftest import REPORTER, VIRTUAL_TIME, report

CROWD = 'tests/e2e/crowd'
STEADY_CALLS = 6 # of the start, before the threads' own

WRONG = {
    'CUDASPY_OUT': (['', '%z', 'x-%P.cudaspy', 'half%'], r'cudaspy-%h-%p\.cudaspy'),
    'CUDASPY_GPU': (['on', 'SAMPLE', '', 'sample '], 'sample'),
    'CUDASPY_RANGE': (['none', '1', '1:', ':1', '-1:2', '1:0', '1:2:3', 'profiler,all', ''], 'all'),
    'CUDASPY_KEEP': (['-1', 'x', '32Q', '', '1e3', '70000', '0x20'], '32'),
    'CUDASPY_TRACE': (['yes', '2', '', '01'], '0'),
    'CUDASPY_TRACE_MAX': (['0', '-1', 'much', '4GG', ''], '4G'),
    'CUDASPY_RING': (['0', '63', '1.5k', '-64', 'lots', '', '99999999999'], '65536'),
    'CUDASPY_BUDGET': (['0', '-1', '51', 'x', '1%', ''], '1'),
    'CUDASPY_CLOCK': (['tsc', 'MONOTONIC', '', 'auto '], 'auto'),
    'CUDASPY_SITES': (['yes', '1', '', 'ALL', 'on '], 'on'),
    'CUDASPY_QUIET': (['yes', '2', ''], '0'),
}

RIGHT = {
    'CUDASPY_GPU': ['sample', 'off'],
    'CUDASPY_RANGE': ['all', 'profiler', '0:1', '0.5:1.25'],
    'CUDASPY_KEEP': ['0', '1', '32', '0.5', '64M', '1G', '1GiB'],
    'CUDASPY_TRACE': ['0', '1'],
    'CUDASPY_TRACE_MAX': ['4', '100M', '4G', '1.5G'],
    'CUDASPY_RING': ['64', '100', '16777216'],
    'CUDASPY_BUDGET': ['0.1', '1', '50'],
    'CUDASPY_CLOCK': ['auto', 'monotonic'],
    'CUDASPY_SITES': ['on', 'all', 'off'],
    'CUDASPY_QUIET': ['0', '1'],
}


def pairs(table):
    return [(name, value) for name, values in table.items() for value in values]


def crowd(run, threads=2, calls=100, **variables):
    r = run(CROWD, threads, calls, **{'SIM_COST': 0, **variables})
    assert r.status == 0, r.err
    return r


@pytest.mark.parametrize('name,value', pairs({name: values for name, (values, _) in WRONG.items()}))
def test_wrong_value(run, tmp_path, name, value):
    r = crowd(run, **{name: value})
    first, *rest = r.err.splitlines()
    fallback = WRONG[name][1]
    assert re.fullmatch(rf'cudaspy: {name}={re.escape(value)} is not .+; using {fallback}', first), first
    assert len(rest) == 1 and 'calls, ' in rest[0], r.err
    assert r.report['totals']['calls'] == 2 * 100 + STEADY_CALLS


@pytest.mark.parametrize('name,value', pairs(RIGHT))
def test_right_value(run, name, value):
    r = crowd(run, **{name: value})
    assert [line for line in r.err.splitlines() if 'calls, ' not in line] == []


def test_a_long_or_hostile_value(run):
    r = crowd(run, CUDASPY_RING='\x1b[31m\n' + 'x' * 100000)
    assert len(r.err.splitlines()) == 2
    assert '\x1b' not in r.err
    assert len(r.err) < 2000


# ---- rings and stores ------------------------------------------------------------------------------------------------

CLOSING = re.compile(r': (\d+) calls, (\d+) records lost;')


def test_a_small_ring_under_full_load(run):
    """The collector cannot follow: what is exact stays exact, and the loss is printed."""
    r = crowd(run, threads=4, calls=300000, CUDASPY_RING=64)
    against_truth.assert_same_calls(r.report, r.truth)
    assert against_truth.peek(r.recording)['largest_ring'] == 64
    lost = r.report['lost']
    assert lost['records'] > 0
    assert lost['share'] == pytest.approx(lost['records'] / lost['written'], rel=1e-3)
    assert lost['written'] >= r.report['totals']['calls']
    calls, in_line = map(int, CLOSING.search(r.err).groups())
    assert (calls, in_line) == (r.report['totals']['calls'], lost['records'])
    kept = against_truth.peek(r.recording)
    assert kept['keep']['written'] == lost['written'] - lost['records']
    launch, = [k for k in r.report['kernels'] if k['launches']]
    assert launch['launches'] == 4 * 299999
    assert launch['api_total_ns'] > 0


def test_rings_grow_as_needed_and_no_further(run):
    r = crowd(run, threads=1, calls=300000, CUDASPY_RING=4096)
    assert against_truth.peek(r.recording)['largest_ring'] <= 4096
    little = crowd(run, threads=1, calls=10, CUDASPY_OUT=r.folder / 'little.cudaspy')
    assert against_truth.peek(little.folder / 'little.cudaspy')['largest_ring'] < 4096


def test_trace_keeps_every_record(run):
    r = crowd(run, threads=4, calls=50000, CUDASPY_TRACE=1, CUDASPY_RING=1 << 20, SIM_COST=1, SIM_LAUNCH_NS=1000)
    kept = against_truth.peek(r.recording)
    lost = r.report['lost']['records']
    assert kept['trace']['written'] == r.report['lost']['written'] - lost
    assert kept['trace']['whole'] == kept['trace']['written']
    assert kept['trace']['written'] + lost >= 4 * 50000


def test_trace_goes_on_with_the_recent_records_when_full(run):
    r = crowd(run, threads=2, calls=100000, CUDASPY_TRACE=1, CUDASPY_TRACE_MAX='1M', CUDASPY_KEEP=1)
    kept = against_truth.peek(r.recording)
    assert kept['trace']['written'] == kept['trace']['room'] == 16384
    assert kept['keep']['written'] > 16384
    taken = r.report['lost']['written'] - r.report['lost']['records']
    assert kept['trace']['written'] + kept['keep']['written'] == taken
    against_truth.assert_same_calls(r.report, r.truth)


@pytest.mark.parametrize('keep,room', [('0', 0), ('1', 16384), ('0.125', 2048), ('4', 65536)])
def test_keep_bounds_the_recent_records(run, keep, room):
    r = crowd(run, threads=2, calls=100000, CUDASPY_KEEP=keep)
    kept = against_truth.peek(r.recording)
    assert kept['keep']['room'] == room
    assert kept['keep']['whole'] <= room
    if room:
        assert kept['keep']['whole'] == room
    assert kept['trace'] is None
    against_truth.assert_same_calls(r.report, r.truth)


def test_the_file_does_not_grow_with_the_run(run):
    short = crowd(run, threads=2, calls=100000, CUDASPY_KEEP=1, CUDASPY_OUT='short.cudaspy')
    crowd(run, threads=2, calls=1000000, CUDASPY_KEEP=1, CUDASPY_OUT='long.cudaspy')
    sizes = [(short.folder / name).stat().st_size for name in ('short.cudaspy', 'long.cudaspy')]
    assert sizes[1] < sizes[0] * 1.5 + (16 << 20) # rings may have grown


# ---- ranges ----------------------------------------------------------------------------------------------------------

PROFILED = r'''
#include <cudaProfiler.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
int main(void)
{
	work_start();
	work_launches(100);
	cuProfilerStart();
	work_launches(30);
	cuProfilerStop();
	work_launches(100);
	cuProfilerStart();
	work_launches(7);
	cuProfilerStop();
	work_launches(100);
	return 0;
}
'''


def program(compile_c, source):
    return compile_c(source, '-lcuda', '-I', str(against_truth.ROOT))


def test_range_profiler(run, compile_c):
    path = program(compile_c, PROFILED)
    r = run(path, CUDASPY_RANGE='profiler')
    assert r.status == 0
    assert r.report['totals']['launches'] == 37
    assert r.report['kernels'][0]['launches'] == 37
    assert against_truth.counted(r.report)['cuLaunchKernel'] == (37, 0)
    assert not {'cuInit', 'cuModuleLoadData'} & set(against_truth.counted(r.report))
    assert r.truth['totals']['launches'] == 337
    assert r.report['window_ns'] <= r.report['wall_ns']


def test_range_profiler_never_opened(run):
    r = crowd(run, CUDASPY_RANGE='profiler')
    assert r.report['totals']['calls'] == 0
    assert ': 0 calls,' in r.err


def test_profiler_calls_mean_nothing_without_the_range(run, compile_c):
    r = run(program(compile_c, PROFILED))
    assert r.report['totals']['launches'] == 337


TIMED = r'''
#include <time.h>
#include "tests/e2e/programs/work.h"
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
/* One launch each millisecond or so for SECONDS; prints when each was. */
int main(int argc, char **argv)
{
	work_start();
	double start = now();
	while (now() - start < atof(argv[1])) {
		work_launches(1);
		printf("%f\n", now() - start);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1000000}, NULL);
	}
	return 0;
}
'''


def test_range_by_time(run, compile_c):
    """What lies well inside is counted, what lies well outside is not; the edges are the collector's to a few ms."""
    r = run(program(compile_c, TIMED), '3', CUDASPY_RANGE='1:1', **VIRTUAL_TIME)
    times = [float(line) for line in r.out.split()]
    inside = [t for t in times if 1.1 < t < 1.9]
    around = [t for t in times if 0.9 < t < 2.1]
    launches = r.report['totals']['launches']
    assert inside and len(inside) <= launches <= len(around)
    assert len(around) < len(times)
    assert 0.8e9 < r.report['window_ns'] < 1.2e9
    # Time slices begin with it, not a second before.
    text = subprocess.run([REPORTER, 'report', '--all', r.recording], stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout
    found = re.search(r'^The range, (?:(\d+)ms|(1\.\d+)s) from left to right', text, re.M)
    assert found and 0.8 < float(found.group(2) or int(found.group(1)) / 1000) < 1.3, text[:3000]
    assert 'cuInit' not in against_truth.counted(r.report)


def test_range_by_time_that_never_begins(run):
    r = crowd(run, CUDASPY_RANGE='3600:1')
    assert r.report['totals']['calls'] == 0


def test_run_id(run):
    r = crowd(run, CUDASPY_RUN_ID='nightly-42')
    assert r.report['run_id'] == 'nightly-42'
    own = crowd(run, CUDASPY_OUT=r.folder / 'own.cudaspy')
    assert report(own.folder / 'own.cudaspy')['run_id'] not in ('', 'nightly-42')


@pytest.mark.parametrize('variables, run_id, source', [
    ({'CUDASPY_RUN': 'job-7'}, 'job-7', 'CUDASPY_RUN'),
    ({'CUDASPY_RUN_ID': 'one', 'CUDASPY_RUN': 'job-7'}, 'one', 'CUDASPY_RUN_ID'),
    ({'CUDASPY_RUN': 'x' * 40}, None, None), ({'CUDASPY_RUN': ''}, None, None),
])
def test_where_the_run_id_is_from(run, variables, run_id, source):
    r = crowd(run, **variables).report
    assert r['run'] == {'id': r['run_id'], 'id_source': source, 'processes': 1}
    assert run_id in (None, r['run_id'])


@pytest.mark.parametrize('name', ['CUDASPY_RUN', 'CUDASPY_RUN_ID'])
def test_a_run_id_that_is_too_long(run, name):
    """It was left without a word."""
    r = crowd(run, **{name: 'x' * 100})
    said, closing = r.err.splitlines()
    assert said == f'cudaspy: {name}={"x" * 80} is not a name of up to 39 characters; not using it'
    assert 'cudaspy report ' in closing and r.report['run_id'] and 'x' not in r.report['run_id']
    assert len(crowd(run, **{name: 'x' * 39}).err.splitlines()) == 1


def test_ranks(run):
    """What is known of a process alone, under the names of the contract; null what is not."""
    r = crowd(run, RANK=3, WORLD_SIZE=8).report
    rank, = r['ranks']
    process, = r['processes']
    assert [rank[k] for k in ('rank', 'host', 'pid', 'state')] == ['3', process['host'], process['pid'], 'complete']
    assert rank['verdict'] == r['verdict'] and rank['comm_wait_ns'] is rank['late_ns'] is rank['busy_share'] is None
    assert rank['step_ns'] == {key: r['steps']['duration_ns'][key] for key in ('mean', 'p50', 'p99')}
    assert crowd(run, RANK=None, CUDASPY_OUT=process['file'] + '.alone.cudaspy') and \
        not report(process['file'] + '.alone.cudaspy')['ranks']
