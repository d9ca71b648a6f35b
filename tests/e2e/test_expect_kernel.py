# SPDX-License-Identifier: Apache-2.0
"""--expect-kernel: a library that fell back to a slower kernel without a word is found out, by report and by check."""
import json
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import REPORTER, VIRTUAL_TIME

# Attention by one kernel where "fast" is asked for, else by two others; a norm in each case; "graph": the same from a graph.
ATTENTION = r'''
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(call) do if ((call) != CUDA_SUCCESS) { puts(#call); exit(1); } while (0)

static CUfunction flash, softmax, multiply, norm;

static void launch(CUfunction f, CUstream s)
{
	CHECK(cuLaunchKernel(f, 64, 1, 1, 128, 1, 1, 0, s, NULL, NULL));
}

static void step(int fast, CUstream s)
{
	launch(norm, s);
	if (fast) {
		launch(flash, s);
		return;
	}
	launch(multiply, s);
	launch(softmax, s);
	launch(multiply, s);
}

int main(int argc, char **argv)
{
	static const char image[] = "simcuda 1\nkernel _Z9flash_fwdILi128EEvPf fixed:20000\nkernel softmax_kernel fixed:20000\n"
	                            "kernel batched_gemm fixed:30000\nkernel layer_norm fixed:5000\n";
	int fast = !strcmp(argv[1], "fast"), graph = argc > 2;
	CUcontext context;
	CUmodule module;
	CUstream s;
	CUgraph g;
	CUgraphExec exec;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&flash, module, "_Z9flash_fwdILi128EEvPf"));
	CHECK(cuModuleGetFunction(&softmax, module, "softmax_kernel"));
	CHECK(cuModuleGetFunction(&multiply, module, "batched_gemm"));
	CHECK(cuModuleGetFunction(&norm, module, "layer_norm"));
	CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	if (graph) {
		CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		step(fast, s);
		CHECK(cuStreamEndCapture(s, &g));
		CHECK(cuGraphInstantiate(&exec, g, 0));
	}
	for (int i = 0; i < 50; i++) {
		if (graph)
			CHECK(cuGraphLaunch(exec, s));
		else
			step(fast, s);
		CHECK(cuStreamSynchronize(s));
	}
	return 0;
}
'''
SAMPLED = {'CUDASPY_GPU': 'sample', 'CUDASPY_BUDGET': 50, **VIRTUAL_TIME}
NAME = 'void flash_fwd<128>(float*)'


@pytest.fixture
def record(run, compile_c, tmp_path):
    """record('fast') is the recording of that program."""
    program = compile_c(ATTENTION, '-lcuda')

    def go(*args, **variables):
        known = set(tmp_path.glob('*.cudaspy'))
        r = run(program, *args, **variables)
        assert r.status == 0, r.out
        new, = set(tmp_path.glob('*.cudaspy')) - known
        return new

    return go


def ask(command, *args):
    return subprocess.run([REPORTER, command, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          stdin=subprocess.DEVNULL)


def expectations(*args, status):
    p = ask('report', '-f', 'json', *args)
    assert p.returncode == status, p.stderr
    return json.loads(p.stdout)['expect_kernels']


# ---- report ----------------------------------------------------------------------------------------------------------

def test_a_kernel_that_ran(record):
    found, = expectations('--expect-kernel', r'^void flash_fwd<[0-9]+>\(', record('fast', **SAMPLED), status=0)
    assert found['ran'] is True
    assert (found['launches'], found['captured']) == (50, 0)
    assert [k['name'] for k in found['kernels']] == [NAME]
    assert 0.5 < found['gpu_share'] <= 1 # of 25 us a step, 20
    assert found['gpu_total_ns'] > 0
    assert found['instead'] is None and found['note'] is None


def damaged(recording):
    recording.write_bytes(recording.read_bytes()[:1000000])
    return recording


@pytest.mark.parametrize('name', ['flash', 'none'])
@pytest.mark.parametrize('make, why', [(lambda record: damaged(record('fast')), 'the recording is damaged: '),
                                       (lambda record: record('fast', CUDASPY_RANGE='profiler'), 'its range never opened')],
                         ids=['damaged', 'range'])
def test_whether_a_kernel_ran_is_not_known(record, make, why, name):
    """It was said never to have run, nor any other, with exit status 1."""
    recording = make(record)
    found, = expectations('--expect-kernel', name, recording, status=3)
    assert (found['ran'], found['launches'], found['captured'], found['instead']) == (None,) * 4
    assert found['note'].startswith(why)
    for form in ('text', 'md'):
        p = ask('report', '-f', form, '--expect-kernel', name, recording)
        text = ' '.join(p.stdout.split())
        assert p.returncode == 3 and 'NEVER RAN' not in text and 'whether a kernel of that name ran' in text and why in text
    assert ask('check', '--expect-kernel', name, recording).returncode == 3


def test_a_kernel_that_never_ran(record):
    recording = record('slow', **SAMPLED)
    found, = expectations('--expect-kernel', 'flash', recording, status=1)
    assert found['ran'] is False
    assert (found['launches'], found['kernels']) == (0, [])
    assert [(k['name'], k['launches']) for k in found['instead']] == [('batched_gemm', 100), ('softmax_kernel', 50),
                                                                    ('layer_norm', 50)]
    p = ask('report', '--all', '--expect-kernel', 'flash', recording)
    assert p.returncode == 1
    text = ' '.join(p.stdout.split())
    assert 'NEVER RAN flash: no kernel of that name ran; these did instead batched_gemm: 100 launches' in text
    assert 'command' in p.stdout and 'Kernels' in p.stdout # the report is there all the same


def test_gpu_time_that_is_not_known(record):
    recording = record('fast')
    found, = expectations('--expect-kernel', 'flash', recording, status=0)
    assert found['gpu_share'] is None and found['gpu_total_ns'] is None
    assert 'ran flash: 50 launches, GPU time n/a' in ' '.join(ask('report', '--all', '--expect-kernel', 'flash', recording).stdout.split())


def test_several_expectations(record):
    both = ['--expect-kernel', 'norm', '--expect-kernel=flash']
    assert [x['ran'] for x in expectations(*both, record('fast'), status=0)] == [True, True]
    assert [x['ran'] for x in expectations(*both, record('slow'), status=1)] == [True, False]


def test_inside_a_graph(record):
    found, = expectations('--expect-kernel', 'flash', record('fast', 'graph'), status=0)
    assert (found['ran'], found['launches'], found['captured']) == (True, 0, 1)
    assert 'how often the graphs ran it is not known' in found['note']
    found, = expectations('--expect-kernel', 'flash', record('slow', 'graph'), status=1)
    assert 'graphs were launched 50 times' in found['note']


def test_markdown_and_csv(record):
    recording = record('slow')
    p = ask('report', '-f', 'md', '--expect-kernel', 'flash', recording)
    assert p.returncode == 1
    assert '## Expected kernels' in p.stdout and '- **NEVER RAN**: flash' in p.stdout
    assert ask('report', '-f', 'csv', '--expect-kernel', 'flash', recording).returncode == 1
    assert ask('report', '-f', 'csv', '--expect-kernel', 'norm', recording).returncode == 0


def test_nothing_expected(record):
    assert expectations(record('slow'), status=0) == []


@pytest.mark.parametrize('command', ['report', 'check'])
def test_no_regular_expression(record, command):
    p = ask(command, '--expect-kernel', 'flash(', record('fast'))
    assert p.returncode == 2
    assert p.stdout == ''
    assert p.stderr.startswith(f'cudaspy: {command}: --expect-kernel flash(: no regular expression: ')
    assert p.stderr.count('\n') == 1


# ---- check -----------------------------------------------------------------------------------------------------------

def test_check_passes(record):
    p = ask('check', '--expect-kernel', 'flash', record('fast', **SAMPLED))
    assert p.returncode == 0, p.stdout + p.stderr
    line, = [line for line in p.stdout.splitlines() if line.startswith('pass')]
    assert line.split(None, 1)[1].startswith('expect-kernel flash: 50; ')
    assert line.endswith(' % of GPU time')


def test_check_fails_and_says_what_ran(record):
    p = ask('check', '--expect-kernel', 'flash', record('slow'))
    assert p.returncode == 1
    assert 'FAIL        expect-kernel flash: 0, limit 1; what ran: batched_gemm 100 launches, ' in p.stdout


def test_check_against_a_baseline_names_what_is_new(record):
    before, after = record('fast'), record('slow')
    p = ask('check', '-f', 'json', '-b', before, '--expect-kernel', 'flash', after)
    assert p.returncode == 1
    rules = json.loads(p.stdout)['rules']
    rule = rules[0]
    assert (rule['rule'], rule['outcome'], rule['of'], rule['pattern']) == ('expect-kernel flash', 'fail', 'kernel', 'flash')
    assert (rule['before'], rule['after'], rule['limit']) == ([50, 50], [0, 0], [1, 1])
    assert rule['where'] == 'more than before: batched_gemm 100 launches, softmax_kernel 50 launches'
    assert len(rules) > 5 # and the baseline is held to, as without an expectation


def test_check_in_graphs(record):
    assert ask('check', '--expect-kernel', 'flash', record('fast', 'graph')).returncode == 0
    assert ask('check', '--expect-kernel', 'flash', record('slow', 'graph')).returncode == 1


@pytest.mark.parametrize('form, parts', [('md', ['| FAIL', 'expect-kernel flash']),
                                         ('github', ['::error title=cudaspy check::expect-kernel flash: 0, limit 1; what ran: '])])
def test_other_forms(record, form, parts):
    p = ask('check', '-f', form, '--expect-kernel', 'flash', record('slow'))
    assert p.returncode == 1
    assert all(part in p.stdout for part in parts), p.stdout


def test_junit(record):
    p = ask('check', '-f', 'junit', '--expect-kernel', 'flash<', '--expect-kernel', 'norm', record('slow'))
    assert p.returncode == 1
    failed, passed = ElementTree.fromstring(p.stdout).iter('testcase')
    assert failed.get('name') == 'expect-kernel flash<' and failed.find('failure') is not None
    assert passed.get('name') == 'expect-kernel norm' and passed.find('failure') is None


def test_check_of_what_was_killed_has_no_answer(run, compile_c, tmp_path):
    program = compile_c(ATTENTION.replace('return 0;', 'abort();'), '-lcuda')
    r = run(program, 'slow')
    p = ask('check', '--expect-kernel', 'flash', r.recording)
    assert p.returncode == 3, p.stdout
    assert ask('check', '--allow-killed', '--expect-kernel', 'flash', r.recording).returncode == 1
    assert ask('check', '--expect-kernel', 'softmax', r.recording).returncode == 3
