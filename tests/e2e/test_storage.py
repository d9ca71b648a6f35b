# SPDX-License-Identifier: Apache-2.0
"""Where the recording goes, under which name, and that no trouble with it ever reaches the program."""
import os
import re
import resource
import signal
import socket
import stat
import time

import pytest

from conftest import ROOT, SHIM, report
from storage_runs import CALLS, LAUNCHES, go, mounted, trouble, without_privilege

MIB = 1 << 20


# ---- names -----------------------------------------------------------------------------------------------------------

def test_default_name_in_the_working_folder(tmp_path):
    p = go(tmp_path, CUDASPY_OUT=None)
    file, = tmp_path.glob('*.cudaspy')
    assert re.fullmatch(rf'cudaspy-{re.escape(socket.gethostname())}-\d+\.cudaspy', file.name)
    assert p.returncode == 0
    assert f'cudaspy report {file}\n' in p.stderr


@pytest.mark.parametrize('slash', ['', '/'])
def test_a_folder(tmp_path, slash):
    folder = tmp_path / 'recordings'
    folder.mkdir()
    go(tmp_path, CUDASPY_OUT=f'{folder}{slash}')
    assert re.fullmatch(r'cudaspy-.+-\d+\.cudaspy', next(folder.iterdir()).name)


def test_template(tmp_path):
    before = int(time.time())
    go(tmp_path, CUDASPY_OUT=f'{tmp_path}/%h_%p_%r_%t_%%.cudaspy', RANK='3')
    file, = tmp_path.glob('*.cudaspy')
    match = re.fullmatch(r'(.+)_(\d+)_3_(\d+)_%\.cudaspy', file.name)
    assert match, file.name
    assert match[1] == socket.gethostname()
    assert int(match[2]) == report(file)['processes'][0]['pid']
    assert before <= int(match[3]) <= time.time()
    assert report(file)['processes'][0]['rank'] in (3, '3')


def test_a_rank_cannot_leave_the_folder(tmp_path):
    (tmp_path / 'in').mkdir()
    go(tmp_path, CUDASPY_OUT=f'{tmp_path}/in/%r.cudaspy', RANK='../../x')
    assert [f.name for f in (tmp_path / 'in').iterdir()] == ['.._.._x.cudaspy']


def test_a_taken_name_gets_a_number(tmp_path):
    for name in ('run.cudaspy', 'run', 'x.y'):
        (tmp_path / name).write_text('precious')
    for _ in range(2):
        for name in ('run.cudaspy', 'run', 'x.y'):
            assert go(tmp_path, CUDASPY_OUT=tmp_path / name).returncode == 0
    for name in ('run-2.cudaspy', 'run-3.cudaspy', 'run-2', 'run-3', 'x.y-2', 'x.y-3'):
        assert report(tmp_path / name)['totals']['calls'] == CALLS, name
    for name in ('run.cudaspy', 'run', 'x.y'):
        assert (tmp_path / name).read_text() == 'precious'


@pytest.mark.parametrize('target', ['there', 'dangling'])
def test_never_through_a_symbolic_link(tmp_path, target):
    (tmp_path / 'there').write_text('precious')
    (tmp_path / 'run.cudaspy').symlink_to(target)
    go(tmp_path, CUDASPY_OUT=tmp_path / 'run.cudaspy')
    assert (tmp_path / 'there').read_text() == 'precious'
    assert not (tmp_path / 'dangling').exists()
    assert (tmp_path / 'run.cudaspy').is_symlink()
    assert report(tmp_path / 'run-2.cudaspy')['totals']['calls'] == CALLS


@pytest.mark.parametrize('mask', [0, 0o22, 0o77])
def test_only_the_user_may_read_it(tmp_path, mask):
    go(tmp_path, prepare=lambda: os.umask(mask) and None, CUDASPY_OUT=tmp_path / 'run.cudaspy')
    assert stat.S_IMODE((tmp_path / 'run.cudaspy').stat().st_mode) == 0o600


# ---- no file to be had -----------------------------------------------------------------------------------------------

def test_unwritable_folder(tmp_path):
    folder = tmp_path / 'closed'
    folder.mkdir(mode=0o555)
    p = go(tmp_path, prepare=without_privilege, CUDASPY_OUT=f'{folder}/')
    assert p.returncode == 0
    line, = p.stderr.splitlines()
    assert re.fullmatch(r'cudaspy: cannot make /.*: Permission denied; .*', line), line
    assert list(folder.iterdir()) == []


def test_missing_folder(tmp_path):
    p = go(tmp_path, CUDASPY_OUT=f'{tmp_path}/nowhere/x.cudaspy')
    assert p.returncode == 0
    line, = p.stderr.splitlines()
    assert re.fullmatch(r'cudaspy: cannot make /.*/nowhere/x.cudaspy: No such file or directory; .*', line), line
    assert not (tmp_path / 'nowhere').exists()


def test_a_name_that_is_too_long(tmp_path):
    p = go(tmp_path, CUDASPY_OUT=f'{tmp_path}/' + 'x' * 5000)
    assert p.returncode == 0
    assert len(p.stderr.splitlines()) == 1


def test_a_working_folder_that_is_gone(tmp_path):
    gone = tmp_path / 'gone'
    gone.mkdir()
    p = go(tmp_path, cwd=gone, prepare=lambda: os.rmdir(gone), CUDASPY_OUT='x.cudaspy')
    assert p.returncode == 0
    assert len(p.stderr.splitlines()) == 1


def test_read_only_file_system(tmp_path):
    with mounted(tmp_path / 'ro', '-t', 'tmpfs', '-o', 'ro', 'none') as folder:
        p = go(tmp_path, CUDASPY_OUT=f'{folder}/')
        assert p.returncode == 0
        line, = p.stderr.splitlines()
        assert 'Read-only file system' in line


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path):
    p = go(tmp_path, CUDASPY_OUT=f'{tmp_path}/a\x1b[31m\nb/x')
    assert p.returncode == 0
    assert len(p.stderr.splitlines()) == 1
    assert '\x1b' not in p.stderr


# ---- little space ----------------------------------------------------------------------------------------------------

def recorded_as_well_as_possible(p, folder):
    """The program was not harmed; whatever file there is can be read, and what it counts is right."""
    assert p.returncode == 0, p.stderr
    assert len(trouble(p)) <= 1, p.stderr
    files = list(folder.iterdir())
    for file in files:
        r = report(file)
        assert r['totals']['calls'] + r['lost']['calls'] == CALLS
    assert files or trouble(p), 'no recording and no word of it'
    return files


@pytest.mark.parametrize('kib', [4, 512, 1024, 1280, 1536, 1792, 2048, 3072, 4096, 6144, 10240, 20480])
def test_a_disk_that_is_full_sooner_or_later(tmp_path, kib):
    with mounted(tmp_path / 'small', '-t', 'tmpfs', '-o', f'size={kib}k', 'none') as folder:
        p = go(tmp_path, CUDASPY_OUT=f'{folder}/', CUDASPY_TRACE=1)
        files = recorded_as_well_as_possible(p, folder)
        assert trouble(p) or kib > 4096, 'a run that needs more than there was room for'
        if kib <= 1024:
            assert files == [], 'nothing stays of a recording that could not be made'
        # Threads may find the disk full of records; their calls are told as lost. How many records there are at a time is up
        # to how late the collector is: 11 MiB in all if it never comes.
        r = report(files[0]) if kib >= 6144 else None
        if kib >= 20480:
            assert r['lost']['calls'] == 0
        if r and not r['lost']['calls']:
            assert r['totals']['launches'] == 10 + 8 * LAUNCHES
            assert r['processes'][0]['state'] == 'complete'
        if r:  # none is gone in silence
            assert 0 <= 10 + 8 * LAUNCHES - r['totals']['launches'] <= r['lost']['calls']


@pytest.mark.parametrize('kib', [0, 4, 1024, 1536, 2048, 4096])
def test_a_limit_on_file_size_is_no_signal(tmp_path, kib):
    """RLIMIT_FSIZE: the kernel sends SIGXFSZ, which ends a process that does not expect it."""
    out = tmp_path / 'out'
    out.mkdir()
    limit = kib << 10
    p = go(tmp_path, SIM_TRUTH=None, CUDASPY_OUT=f'{out}/', CUDASPY_TRACE=1,
           prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    recorded_as_well_as_possible(p, out)
    assert trouble(p)


@pytest.mark.parametrize('signal_number', [signal.SIGXFSZ, signal.SIGPIPE])
def test_the_program_still_gets_its_own_signals(tmp_path, compile_c, signal_number):
    """Ours are taken back; one of the program's own, blocked and pending, is left to it."""
    program = compile_c(r'''
        #include <signal.h>
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv) {
        	sigset_t set;
        	int number = atoi(argv[1]);
        	sigemptyset(&set);
        	sigaddset(&set, number);
        	sigprocmask(SIG_BLOCK, &set, NULL);
        	raise(number);
        	work_start();
        	work_launches(3);
        	sigpending(&set);
        	return sigismember(&set, number) ? 0 : 1;
        }''', '-lcuda', '-I', str(ROOT))
    p = go(tmp_path, program, [int(signal_number)], CUDASPY_OUT=f'{tmp_path}/', CUDASPY_KEEP='wrong')
    assert p.returncode == 0


@pytest.mark.parametrize('mib', [4096, 8192, 65536])
def test_little_address_space(tmp_path, compile_c, mib):
    """ulimit -v: most of it stays the program's."""
    program = compile_c(r'''
        #include <sys/mman.h>
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv) {
        	size_t bytes = (size_t)atol(argv[1]) << 20;
        	work_start();
        	work_launches(3);
        	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        	return p == MAP_FAILED;
        }''', '-lcuda', '-I', str(ROOT))
    limit = mib * MIB

    def limited(preload, wanted):
        return go(tmp_path, program, [wanted], preload=preload, CUDASPY_OUT=f'{tmp_path}/x.cudaspy', SIM_TRUTH=None,
                  prepare=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))).returncode

    if limited((), mib // 4):
        pytest.skip('the simulated driver alone needs more')
    assert limited((SHIM,), mib // 4) == 0
    assert report(tmp_path / 'x.cudaspy')['totals']['launches'] == 3


# ---- while it runs ---------------------------------------------------------------------------------------------------

def test_a_recording_deleted_while_it_is_written(tmp_path, compile_c):
    program = compile_c(r'''
        #include <unistd.h>
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv) {
        	work_start();
        	work_launches(10);
        	if (unlink(argv[1]))
        		return 1;
        	work_launches(200000);
        	return 0;
        }''', '-lcuda', '-I', str(ROOT))
    p = go(tmp_path, program, [tmp_path / 'x.cudaspy'], CUDASPY_OUT=tmp_path / 'x.cudaspy', CUDASPY_TRACE=1)
    assert p.returncode == 0
    # That it cannot grow; and in the place of the line that says where the recording is, that it is not.
    assert len(trouble(p)) <= 2 and 'was removed, moved or replaced by another program' in trouble(p)[-1]
    assert 'cudaspy report' not in p.stderr
    assert list(tmp_path.glob('*.cudaspy')) == []


def test_another_file_put_in_its_place_is_left_alone(tmp_path, compile_c):
    program = compile_c(r'''
        #include <fcntl.h>
        #include <unistd.h>
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv) {
        	work_start();
        	work_launches(10);
        	unlink(argv[1]);
        	if (open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0644) < 0)
        		return 1;
        	work_launches(200000);
        	return 0;
        }''', '-lcuda', '-I', str(ROOT))
    p = go(tmp_path, program, [tmp_path / 'x.cudaspy'], CUDASPY_OUT=tmp_path / 'x.cudaspy', CUDASPY_TRACE=1)
    assert p.returncode == 0
    assert (tmp_path / 'x.cudaspy').read_bytes() == b''
