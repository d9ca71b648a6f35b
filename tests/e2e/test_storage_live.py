# SPDX-License-Identifier: Apache-2.0
"""File systems that promise no space: the live data is in memory, a stub leads to it, a copy is made at exit."""
import contextlib
import json
import os
import stat
import subprocess
import time

import pytest

import against_truth
from conftest import BUILD, REPORTER, ROOT, SHIM, environment, report
from storage_runs import CALLS, go, mounted, trouble

NO_PROMISE = r'''
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
/* A file system without fallocate(), but for the folder of live data. */
int fallocate(int fd, int mode, long from, long bytes)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	long n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (!strstr(path, "/live/")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return syscall(SYS_fallocate, fd, mode, from, bytes);
}
'''


@pytest.fixture
def live(tmp_path):
    """A folder for live data that, as /dev/shm and the user's runtime folder are, is in memory."""
    folder = tmp_path / 'live'
    with contextlib.ExitStack() as stack:
        if not os.access('/dev/shm', os.W_OK):
            pytest.skip('/dev/shm is not writable here')
        place = f'/dev/shm/cudaspy-test-{os.getpid()}/live'
        os.makedirs(place)
        stack.callback(lambda: subprocess.run(['rm', '-rf', os.path.dirname(place)], check=True))
        folder.symlink_to(place)
        yield folder.resolve()


@pytest.fixture
def no_promise(compile_c):
    return compile_c(NO_PROMISE, '-O1', name='no_promise', shared=True)


def live_files(folder):
    return list(folder.glob('*.live'))


def test_live_data_in_memory_is_copied_at_exit(tmp_path, live, no_promise):
    p = go(tmp_path, preload=(no_promise, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=tmp_path / 'x.cudaspy')
    assert p.returncode == 0
    assert trouble(p) == []
    assert live_files(live) == []
    assert list(tmp_path.glob('*.part')) == []
    assert report(tmp_path / 'x.cudaspy')['totals']['calls'] == CALLS
    assert stat.S_IMODE((tmp_path / 'x.cudaspy').stat().st_mode) == 0o600


LATE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
/* Threads that go on with CUDA when main() has returned, and others that begin with it. */
static void *goes_on(void *pause)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (;;) {
		cuStreamQuery(NULL);
		usleep((useconds_t)(long)pause);
	}
	return NULL;
}
static void *begins(void *p)
{
	pthread_t t;
	for (;;) {
		if (!pthread_create(&t, NULL, p, NULL))
			pthread_join(t, NULL);
		usleep(500);
	}
	return NULL;
}
static void *one_call(void *p)
{
	cuCtxSetCurrent(work_context);
	cuStreamQuery(NULL);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	work_start();
	for (long i = 0; i < 3; i++)
		pthread_create(&t, NULL, goes_on, (void *)(i * 200));
	if (argc > 2)
		pthread_create(&t, NULL, begins, one_call);
	work_launches((unsigned)atoi(argv[1]));
	return 0;
}
"""


@pytest.mark.parametrize('begin', [[], ['begin']])
def test_calls_go_on_while_the_copy_is_made(begin, tmp_path, live, no_promise, compile_c):
    """What is copied then is of no one moment, and no damage: the copy has a seal that holds."""
    program = compile_c(LATE, '-O1', f'-I{ROOT}', '-lcuda', '-lpthread', name='late')
    for i in range(5):
        file = tmp_path / f'{i}.cudaspy'
        p = go(tmp_path, program, [150000, *begin], preload=(no_promise, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=file, CUDASPY_TRACE=1)
        assert p.returncode == 0 and trouble(p) == [] and live_files(live) == []
        r = report(file)
        assert (r['processes'][0]['state'], r['lost']['damaged']) == ('complete', None)
        assert r['totals']['launches'] == 150000
        text = subprocess.run([REPORTER, 'check', '--limit', 'launches = 150000', file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        assert text.returncode == 0 or (begin and 'in no figure' in text.stdout), text.stdout
        # It can be told from a damaged one, wherever that is not in a ring, which is empty.
        data = bytearray(file.read_bytes())
        for at in range(8192, len(data), 65536):
            data[at] ^= 0xff
        file.write_bytes(data)
        assert report(file)['lost']['damaged']


@pytest.fixture
def steady(tmp_path, live, no_promise):
    """A process that calls all the time and whose live data is in memory."""
    env = environment(tmp_path, (no_promise, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=tmp_path / 'x.cudaspy')
    process = subprocess.Popen([BUILD / 'tests/e2e/steady', '4'], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    time.sleep(0.1)
    yield process
    process.kill()
    process.communicate()


def test_a_stub_leads_to_the_live_data(tmp_path, live, steady):
    """While the process runs and after it was killed."""
    stub = tmp_path / 'x.cudaspy'
    file, = live_files(live)
    assert stub.read_bytes() == b'CUDASPY>' + os.fsencode(file) + b'\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(stub.stat().st_mode) == 0o600
    assert report(stub)['processes'][0]['state'] == 'running'
    steady.kill()
    steady.communicate()
    killed = report(stub)
    assert killed['processes'][0]['state'] == 'killed'
    assert killed['lost']['damaged'] is None
    truth = json.loads(subprocess.run([BUILD / 'sim/truth', tmp_path / 'truth'], stdout=subprocess.PIPE,
                                                    check=True).stdout)
    against_truth.assert_same_but_in_flight(killed, truth)


def end(process):
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_is_moved(tmp_path, live, steady):
    """By whoever meets the stub first, once nobody uses the live data; not before. Nothing stays in memory."""
    stub = tmp_path / 'x.cudaspy'
    file, = live_files(live)
    for _ in range(2):
        report(stub)
        assert live_files(live) == [file] and stub.read_bytes().startswith(b'CUDASPY>')
    end(steady)
    size = file.stat().st_size
    first = report(stub)
    assert live_files(live) == [] and list(tmp_path.glob('*.part')) == []
    assert stub.read_bytes().startswith(b'CUDASPY\n') and stub.stat().st_size == size
    assert stat.S_IMODE(stub.stat().st_mode) == 0o600
    assert first['processes'][0]['state'] == 'killed' and first['processes'][0]['file'] == str(stub)
    again = report(stub)
    assert again == first and again['lost']['damaged'] is None


def test_a_folder_of_leftovers(tmp_path, live, steady):
    """Looking for a run in it moves them; two at a time do no harm."""
    end(steady)
    reporters = [subprocess.Popen([REPORTER, 'report', tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    for p in reporters:
        out, err = p.communicate()
        assert p.returncode == 0 and err == b'' and b'killed' in out
    assert live_files(live) == [] and list(tmp_path.glob('*.part')) == []


@pytest.mark.parametrize('way', ['part', 'no room', 'read only'])
def test_what_cannot_be_moved_is_read_where_it_is(tmp_path, live, no_promise, way):
    options = {'no room': 'size=64k', 'read only': 'size=64M', 'part': 'size=64M'}[way]
    with mounted(tmp_path / 'small', '-t', 'tmpfs', '-o', options, 'none') as folder:
        stub = folder / 'x.cudaspy'
        env = environment(tmp_path, (no_promise, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=stub)
        process = subprocess.Popen([BUILD / 'tests/e2e/steady', '2'], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout.readline() == b'ready\n'
        end(process)
        if way == 'part':
            (folder / 'x.cudaspy.part').write_text('of another')
        elif way == 'read only':
            subprocess.run(['mount', '-o', 'remount,ro', folder], check=True)
        before = stub.read_bytes()
        p = subprocess.run([REPORTER, 'report', '--format', 'json', stub], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert p.returncode == 0 and p.stderr == b''
        assert json.loads(p.stdout)['totals']['calls'] > 0
        assert stub.read_bytes() == before and len(live_files(live)) == 1
        assert way == 'part' or os.listdir(folder) == ['x.cudaspy']


def test_force_takes_the_live_data_along(tmp_path, live, steady):
    """`cudaspy run --force` over a stub leaves nothing of it in memory."""
    end(steady)
    env = environment(tmp_path, preload=(), CUDASPY_OUT=None)
    subprocess.run([REPORTER, 'run', '-q', '--force', '-o', 'x.cudaspy', '--', BUILD / 'tests/e2e/steps', '5'], env=env, cwd=tmp_path,
                   check=True)
    assert live_files(live) == []
    assert report(tmp_path / 'x.cudaspy')['totals']['launches'] == 10


def test_a_stub_whose_live_data_is_gone(tmp_path, live, steady):
    steady.kill()
    steady.communicate()
    file, = live_files(live)
    file.unlink()
    p = subprocess.run([REPORTER, 'report', tmp_path / 'x.cudaspy'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True)
    assert p.returncode == 2
    assert p.stdout == ''
    assert p.stderr.count('\n') == 1
    assert str(file) in p.stderr


def test_no_room_for_live_data(tmp_path, live, compile_c):
    nowhere = compile_c(NO_PROMISE.replace('/live/', '/no such folder/'), name='nowhere', shared=True)
    p = go(tmp_path, preload=(nowhere, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=tmp_path / 'x.cudaspy')
    assert p.returncode == 0
    line, = p.stderr.splitlines()
    assert 'nothing is recorded' in line
    assert live_files(live) == []
    assert not (tmp_path / 'x.cudaspy').exists()


def test_no_room_for_the_copy_at_exit(tmp_path, live, no_promise):
    """The full disk is met at the end: the live data stays, the stub still leads to it, one line says so."""
    with mounted(tmp_path / 'small', '-t', 'tmpfs', '-o', 'size=64k', 'none') as folder:
        p = go(tmp_path, preload=(no_promise, SHIM), XDG_RUNTIME_DIR=live, CUDASPY_OUT=folder / 'x.cudaspy')
        assert p.returncode == 0
        line, = trouble(p)
        file, = live_files(live)
        assert str(file) in line
        assert report(folder / 'x.cudaspy')['totals']['calls'] == CALLS
        assert os.listdir(folder) == ['x.cudaspy']


def test_overlay(tmp_path, live):
    """A real file system of that kind: containers run on it."""
    lower, upper, work = tmp_path / 'lower', tmp_path / 'upper', tmp_path / 'work'
    for folder in (lower, upper, work):
        folder.mkdir()
    with mounted(tmp_path / 'over', '-t', 'overlay', '-o', f'lowerdir={lower},upperdir={upper},workdir={work}',
                 'none') as folder:
        p = go(tmp_path, XDG_RUNTIME_DIR=live, CUDASPY_OUT=folder / 'x.cudaspy')
        assert p.returncode == 0
        assert trouble(p) == []
        assert live_files(live) == []
        assert report(folder / 'x.cudaspy')['totals']['calls'] == CALLS


def test_forked_children_in_memory(tmp_path, live, no_promise):
    p = go(tmp_path, BUILD / 'tests/e2e/forks', ['fork'], preload=(no_promise, SHIM), XDG_RUNTIME_DIR=live,
           CUDASPY_OUT=f'{tmp_path}/')
    assert p.returncode == 0
    assert live_files(live) == []
    assert sorted(report(f)['totals']['calls'] for f in tmp_path.glob('*.cudaspy')) == [5, 26]
