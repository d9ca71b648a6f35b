# SPDX-License-Identifier: Apache-2.0
"""Where the program is while a thread that runs no Python makes a call for it, as JAX's read a result."""
import json
import pathlib
import subprocess

import pytest

from call_sites import HERE, interpreters, python, run_python  # noqa: F401 (a fixture)
from conftest import REPORTER, ROOT, report

LIBRARY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include "tests/e2e/programs/work.h"

static sem_t asked, done;
static int over, tunes;
static CUdeviceptr memory;
static void *pinned;
static pthread_t thread;

static void __attribute__((noinline)) tune(void)
{
	CHECK(cuMemcpyDtoHAsync(pinned, memory, 8, NULL));
	CHECK(cuStreamSynchronize(NULL));
}

static void *reader(void *p)
{
	pthread_setname_np(pthread_self(), "reader");
	CHECK(cuCtxSetCurrent(work_context));
	for (;;) {
		sem_wait(&asked);
		if (over)
			return NULL;
		if (tunes) {
			tune();
		} else {
			CHECK(cuMemcpyDtoHAsync(pinned, memory, 4, NULL));
			CHECK(cuStreamSynchronize(NULL));
		}
		sem_post(&done);
	}
}
void start(void)
{
	work_start();
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemAllocHost(&pinned, 4096));
	sem_init(&asked, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, reader, NULL);
}
void launch(void)
{
	work_launches(2);
}
void ask(void)
{
	sem_post(&asked);
}
void answered(void)
{
	sem_wait(&done);
}
void read_result(void)
{
	ask();
	answered();
}
void tune_result(void)
{
	tunes = 1;
	ask();
	answered();
	tunes = 0;
}
void enter(void)
{
	CHECK(cuCtxSetCurrent(work_context));
}
void end(void)
{
	over = 1;
	ask();
	pthread_join(thread, NULL);
}
"""


@pytest.fixture
def library(compile_c):
    return compile_c(LIBRARY, f'-I{ROOT}', '-lcuda', '-lpthread', shared=True, name='waits')


def line_of(text):
    lines = (HERE / 'waits.py').read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def sites_of(python, tmp_path, *arguments, **variables):
    run_python(python, tmp_path, 'waits.py', *arguments, CUDASPY_SITES='all', **variables)
    recording, = tmp_path.glob('*.cudaspy')
    return recording, {s['api']: s for s in report(recording)['sites'] if s['thread'] == 'reader'}


def test_the_line_that_waits(python, tmp_path, library):
    recording, sites = sites_of(python, tmp_path, library, 200)
    for api in 'cuMemcpyDtoHAsync_v2', 'cuStreamSynchronize':
        line = sites[api]['meanwhile']
        assert (pathlib.Path(line['file']).name, line['function'], line['line']) == ('waits.py', 'read', line_of('read_result')), api
    assert sites['cuMemcpyDtoHAsync_v2']['after']['line'] == line_of('launch()')
    text = subprocess.run([REPORTER, 'report', '--section', 'sites', recording], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout
    assert f"waits.py:{line_of('read_result')} in read, thread reader" in ' '.join(text.split())
    # Rows that only say where it was stand for no call.
    assert sum(s['seen'] for s in report(recording)['sites'] if s['api'] == 'cuMemcpyDtoHAsync_v2') == 200


@pytest.fixture
def any_python():
    return interpreters().get('3.11') or next(iter(interpreters().values()))


def test_a_program_that_moves(any_python, tmp_path, library):
    """At another line each time: none is told."""
    _, sites = sites_of(any_python, tmp_path, library, 200, 'moves')
    assert sites['cuMemcpyDtoHAsync_v2']['meanwhile'] is None
    assert sites['cuMemcpyDtoHAsync_v2']['seen'] == 200


def test_two_lines_of_a_step(any_python, tmp_path, library):
    """The one as often as the other: neither is told, however many steps there are."""
    _, sites = sites_of(any_python, tmp_path, library, 5000, 'twice', SIM_COST=0)
    assert sites['cuMemcpyDtoHAsync_v2']['meanwhile'] is None
    assert sites['cuMemcpyDtoHAsync_v2']['seen'] == 10000


def test_a_library_that_moves(any_python, tmp_path, library):
    """Where in it the thread waits is at another line each time: the program's line is one."""
    _, sites = sites_of(any_python, tmp_path, library, 200, 'library')
    for api in 'cuMemcpyDtoHAsync_v2', 'cuStreamSynchronize':
        line = sites[api]['meanwhile']
        assert (pathlib.Path(line['file']).name, line['line']) == ('waits.py', line_of('# by a library')), api


def test_a_loop_behind_a_warm_up(any_python, tmp_path, library):
    """The first calls are looked at more often, and stand for fewer: the loop's line has most of them."""
    _, sites = sites_of(any_python, tmp_path, library, 400, 'warmed')
    for api in 'cuMemcpyDtoHAsync_v2', 'cuStreamSynchronize':
        assert sites[api]['meanwhile']['line'] == line_of('return library.read_result'), api


def test_processes_at_two_lines(any_python, tmp_path, library):
    """Of one run: each line has the calls of its processes, whichever process is read first."""
    for steps, how in (100, 'one'), (60, 'moves'), (90, 'one'):
        run_python(any_python, tmp_path, 'waits.py', library, steps, how, CUDASPY_SITES='all', CUDASPY_RUN_ID='one')
    rows = [s for s in report(tmp_path)['sites'] if s['api'] == 'cuMemcpyDtoHAsync_v2' and s['thread']]
    assert {s['meanwhile'] and s['meanwhile']['line']: s['seen'] for s in rows} == {
        line_of('return library.read_result'): 190, None: 60}


def test_a_diff_tells_two_lines_apart(any_python, tmp_path, library):
    """Reads at one line become fewer, at another one more: neither takes the other's place."""
    sides = []
    for steps in 100, 300:
        folder = tmp_path / str(steps)
        folder.mkdir()
        run_python(any_python, folder, 'waits.py', library, steps, 'tuned', CUDASPY_SITES='all')
        sides.append(next(folder.glob('*.cudaspy')))
    text = subprocess.run([REPORTER, 'diff', '-f', 'json', *sides], stdout=subprocess.PIPE, check=False,
                          universal_newlines=True).stdout
    rows = [(s['before'], s['after']) for s in json.loads(text)['sites'] if s['api'] == 'cuMemcpyDtoHAsync_v2']
    assert {(a['line'], b['line']): (a['calls'], b['calls']) for a, b in rows} == {
        (line, line): (n * 100, n * 300) for n, line in ((2, line_of('tune_result')), (1, line_of('return library.read_result')))}


def test_reads_of_two_kinds(any_python, tmp_path, library):
    """More ahead of the steps, as autotuning has, at another line: each is told at its own."""
    run_python(any_python, tmp_path, 'waits.py', library, 200, 'tuned', CUDASPY_SITES='all')
    recording, = tmp_path.glob('*.cudaspy')
    seen = report(recording)
    reads = {s['seen']: s['meanwhile']['line'] for s in seen['sites'] if s['api'] == 'cuMemcpyDtoHAsync_v2' and s['thread']}
    assert reads == {400: line_of('tune_result'), 200: line_of('return library.read_result')}


def test_two_threads_of_python_that_give_work(any_python, tmp_path, library):
    """For which of them the library's works is not known."""
    _, sites = sites_of(any_python, tmp_path, library, 300, 'two')
    assert sites['cuMemcpyDtoHAsync_v2']['meanwhile'] is None
