# SPDX-License-Identifier: Apache-2.0
"""Each sample of cuda_samples states what a correct report must say of it; the simulated driver counted what happened.

Both are compared with the report: they come from the two ends of the path, and neither knows of cudaspy.
"""
import re
import subprocess

import pytest

import against_truth
from conftest import ROOT, SAMPLES, Run, environment

# As many iterations as these need to show all they count; the samples of verdicts, which would run for minutes in all, a few.
ARGUMENTS = {'alloc_every_step': ['500'], 'driver_api': [], 'graph_replay': [], 'launch_errors': [],
             'many_tiny_launches': ['20000'], 'one_big_kernel': ['1500', '2000'], 'pageable_copies': ['20'],
             'pinned_overlap': [], 'streams': [], 'sync_every_step': ['2000'], 'threads': ['2000'], 'vector_add': []}
FEW = ['40']

def samples():
    """variant/name of every sample that the build makes for the simulated CUDA."""
    text = (ROOT / 'cuda_samples/samples.mk').read_text()
    lists = dict(re.findall(r'^(SAMPLES\w*) := \\\n((?:\t\w+ \\\n)+)', text, re.MULTILINE))
    names = {key: re.findall(r'\w+', value) for key, value in lists.items()}
    every = sorted(source.stem for source in (ROOT / 'cuda_samples').glob('*.cu'))
    return ([f'{v}/{n}' for v in ('sim', 'sim-static') for n in every] +
            [f'{v}/{n}' for v in ('sim11', 'sim12') for n in names['SAMPLES_OLDER']] +
            [f'sim-ptsz/{n}' for n in names['SAMPLES_PTSZ']])


def stated(out):
    """The sample's own counts: totals, and launches by kernel."""
    line = re.search(r'^expect: (.*)$', out, re.MULTILINE)
    assert line, out
    totals = {k: int(v) for k, v in (pair.split('=') for pair in line[1].split())}
    kernels = {m[1]: int(m[2]) for m in re.finditer(r'^expect-kernel: (\S+) launches=(\d+)$', out, re.MULTILINE)}
    return totals, kernels


def base_name(kernel):
    return kernel.split('(')[0].split('<')[0].split('::')[-1].split(' ')[-1]


def copies_of(report, direction, memory=None):
    return sum(c['count'] for c in report['copies']
               if c['direction'] == direction and memory in (None, c['host_memory']))


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    """Runs a sample once for all the tests that look at it."""
    cache = {}

    def go(sample):
        if sample not in cache:
            folder = tmp_path_factory.mktemp('sample')
            name = sample.split('/')[1]
            process = subprocess.run([SAMPLES / sample, *ARGUMENTS.get(name, FEW)], env=environment(folder), cwd=folder,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     universal_newlines=True, timeout=300)
            run = Run(process, folder, folder / 'truth')
            assert run.status == 0, run.out + run.err
            cache[sample] = run.out, run.report, run.truth
        return cache[sample]

    return go


@pytest.mark.parametrize('sample', samples())
def test_totals_are_what_the_sample_states(finished, sample):
    out, report, _ = finished(sample)
    expected, _ = stated(out)
    for key in ('launches', 'graph_launches', 'captured', 'copies', 'pageable_copies', 'copy_bytes', 'sets', 'syncs',
                'allocs', 'failed'):
        assert report['totals'][key] == expected[key], key
    assert copies_of(report, 'HtoD', 'pageable') == expected['copies_htod_pageable']
    assert copies_of(report, 'HtoD', 'pinned') == expected['copies_htod_pinned']
    assert copies_of(report, 'DtoH', 'pageable') == expected['copies_dtoh_pageable']
    assert copies_of(report, 'DtoH', 'pinned') == expected['copies_dtoh_pinned']
    assert copies_of(report, 'DtoD') == expected['copies_dtod']


@pytest.mark.parametrize('sample', samples())
def test_kernels_are_what_the_sample_states(finished, sample):
    out, report, _ = finished(sample)
    _, expected = stated(out)
    launched = {base_name(k['name']): k['launches'] for k in report['kernels'] if k['launches']}
    assert launched == expected


@pytest.mark.parametrize('sample', samples())
def test_totals_are_what_the_driver_did(finished, sample):
    _, report, truth = finished(sample)
    for key in ('launches', 'graph_launches', 'captured', 'copies', 'pageable_copies', 'copy_bytes', 'sets', 'syncs'):
        assert report['totals'][key] == truth['totals'][key], key
    assert report['totals']['allocs'] == truth['totals']['allocs'] + truth['totals']['frees']
    for direction, theirs in (('HtoD', 'h2d'), ('DtoH', 'd2h'), ('DtoD', 'd2d')):
        mine = [c for c in report['copies'] if c['direction'] == direction]
        assert sum(c['count'] for c in mine) == truth['copies'][theirs]['count'], direction
        assert sum(c['bytes'] for c in mine) == truth['copies'][theirs]['bytes'], direction


@pytest.mark.parametrize('sample', samples())
def test_kernels_are_what_the_driver_launched(finished, sample):
    _, report, truth = finished(sample)
    theirs = {}
    for kernel in truth['kernels']:
        match = re.match(r'_Z(\d+)(\w+)', kernel['name'])
        name = match[2][:int(match[1])] if match else kernel['name']
        theirs[name] = theirs.get(name, 0) + kernel['launches']
    launched = {base_name(k['name']): k['launches'] for k in report['kernels'] if k['launches']}
    assert launched == {name: n for name, n in theirs.items() if n}


@pytest.mark.parametrize('sample', samples())
def test_nothing_is_lost_and_sums_agree(finished, sample):
    _, report, _ = finished(sample)
    assert report['lost']['records'] == 0
    assert report['processes'][0]['state'] == 'complete'
    assert sum(api['calls'] for api in report['apis']) == report['totals']['calls']
    assert sum(api['failed'] for api in report['apis']) == report['totals']['failed']
    assert sum(t['calls'] for t in report['host']['threads']) == report['totals']['calls']
    assert sum(k['launches'] for k in report['kernels']) == report['totals']['launches']
    assert sum(c['count'] for c in report['copies']) == report['totals']['copies']
    assert report['window_ns'] + report['startup_ns'] <= report['wall_ns']
    for api in report['apis']:
        assert api['max_ns'] <= api['total_ns']
        assert api['p50_ns'] <= api['p90_ns'] <= api['p99_ns'] <= api['max_ns'] * 1.03, api


@pytest.mark.parametrize('variant', ['sim', 'sim-static'])
def test_driver_calls_name_by_name(finished, variant):
    _, report, truth = finished(f'{variant}/driver_api')
    against_truth.assert_same_calls(report, truth)
    assert {api['level'] for api in report['apis']} == {'driver'}


@pytest.mark.parametrize('sample', samples())
def test_the_same_output_and_work_without_cudaspy(finished, run, sample):
    out, _, truth = finished(sample)
    name = sample.split('/')[1]
    bare = run(SAMPLES / sample, *ARGUMENTS.get(name, FEW), preload=())
    assert bare.status == 0
    assert bare.out == out
    assert bare.recordings == []
    for key in ('launches', 'graph_launches', 'captured', 'copies', 'copy_bytes', 'sets', 'syncs', 'allocs', 'frees'):
        assert bare.truth['totals'][key] == truth['totals'][key], key


def test_runtime_version_is_the_one_used(finished):
    for variant, version in (('sim', '13.'), ('sim12', '12.'), ('sim11', '11.')):
        _, report, _ = finished(f'{variant}/vector_add')
        assert [v for v in report['processes'][0]['runtime_versions'] if v.startswith(version)], variant


def test_simulation_is_named(finished):
    _, report, _ = finished('sim/vector_add')
    device = report['processes'][0]['devices'][0]
    assert device['simulated'] is True
    assert device['name'].startswith('Simulated GPU')
