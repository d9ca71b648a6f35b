# SPDX-License-Identifier: Apache-2.0
"""What takes longer than a second says on stderr what it is at, where that is a terminal, and leaves nothing of it."""
import json
import os
import pty
import re
import select
import subprocess

import pytest

from conftest import REPORTER, ROOT, VIRTUAL_TIME
from test_check import STEPS, record

# Opening a recording takes a while, and so do reading it, writing and room for many calls, as with a large one on a slow disk.
# HASTY: the timer that says how far it is begins at once and comes every 500 us.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static void wait_ms(long ms)
{
	struct timespec end; /* a sleep for the rest, again and again, may never end beside a hasty timer */
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ms % 1000 * 1000000;
	end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (ms && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL)) ;
}
size_t fwrite(const void *from, size_t size, size_t count, FILE *to)
{
	const char *ms = getenv("SLOW_WRITE_MS");
	wait_ms(ms && count > 10000 ? atol(ms) : 0);
	return ((size_t (*)(const void *, size_t, size_t, FILE *))dlsym(RTLD_NEXT, "fwrite"))(from, size, count, to);
}
void *__libc_calloc(size_t, size_t);
void *calloc(size_t count, size_t size)
{
	const char *ms = getenv("SLOW_CALLOC_MS");
	wait_ms(ms && count * size > 50000 ? atol(ms) : 0);
	return __libc_calloc(count, size);
}
int madvise(void *at, size_t bytes, int what) /* 22: read it from the disk now */
{
	const char *ms = getenv("SLOW_PAGES_MS");
	wait_ms(ms && what == 22 ? atol(ms) : 0);
	return ((int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise"))(at, bytes, what);
}
int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	struct itimerval hasty = {.it_interval = {0, 500}, .it_value = {0, 1}};
	int (*real)(__itimer_which_t, const struct itimerval *, struct itimerval *) = dlsym(RTLD_NEXT, "setitimer");
	return real(which, getenv("HASTY") && value->it_value.tv_sec ? &hasty : value, old);
}
static int slow(const char *name, const char *path, int flags, int mode)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
	size_t bytes = strlen(path);
	if (bytes > 8 && !strcmp(path + bytes - 8, ".cudaspy"))
		wait_ms(atol(getenv("SLOW_MS")));
	return real(path, flags, mode);
}
int open(const char *path, int flags, ...) { va_list a; va_start(a, flags); int m = va_arg(a, int); va_end(a); return slow("open", path, flags, m); }
int open64(const char *path, int flags, ...) { va_list a; va_start(a, flags); int m = va_arg(a, int); va_end(a); return slow("open64", path, flags, m); }
"""


@pytest.fixture
def slowly(tmp_path, compile_c):
    """slowly(ms, 'report', ...) -> what it writes to stdout, and to stderr, which is a terminal."""
    library = compile_c(SLOW, '-ldl', name='slow', shared=True)

    def go(ms, *args, term='xterm', status=0, **variables):
        master, slave = pty.openpty()
        env = {**os.environ, 'LD_PRELOAD': str(library), 'SLOW_MS': str(ms), 'TERM': term, **variables}
        p = subprocess.Popen([REPORTER, *map(str, args)], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=slave)
        os.close(slave)
        out, err = b'', b''
        ends = {master, p.stdout.fileno()}
        while ends: # a terminal that nobody reads is full soon
            for end in select.select(ends, [], [], 120)[0]:
                try:
                    part = os.read(end, 1 << 16)
                except OSError: # a terminal without anybody at its other end
                    part = b''
                if not part:
                    ends.remove(end)
                out, err = (out, err + part) if end == master else (out + part, err)
        p.wait(timeout=120)
        p.stdout.close()
        os.close(master)
        out, err = out.decode(), err.decode()
        assert p.returncode == status, err
        return out, err

    return go


@pytest.fixture
def recording(tmp_path):
    return next(record(tmp_path / 'run', STEPS, 20).glob('*.cudaspy'))


def test_report_says_what_it_is_at(slowly, recording):
    out, err = slowly(1500, 'report', recording)
    assert 'verdict' in out and '\r\x1b[Kreading ' in err and '.cudaspy (1 s)' in err
    assert err.endswith('\r\x1b[K') and '\n' not in err and '\x1b[K' not in out


def check_reading(err):
    """It goes up to 100 per cent, and never back."""
    shares = [int(s) for s in re.findall(r'\r\x1b\[Kreading \S+\.cudaspy, (\d+) %', err)]
    assert len(set(shares)) > 1 and shares == sorted(shares) and shares[-1] <= 100, err
    assert err.endswith('\r\x1b[K') and '\n' not in err


def test_reading_says_how_far_it_is(slowly, recording):
    """By the bytes, which the check of the seal is of."""
    assert recording.stat().st_size > 2 << 20
    check_reading(slowly(0, 'report', recording, SLOW_PAGES_MS='200', HASTY='1')[1])


KILLED = r"""
#include "tests/e2e/programs/work.h"
#include <signal.h>
int main(void) { work_start(); for (int i = 0; i < 400000; i++) cuStreamQuery(0); raise(SIGKILL); return 0; }
"""


def test_draining_says_how_far_it_is(slowly, tmp_path, compile_c):
    """By the records that a killed process left in its rings."""
    program = compile_c(KILLED, '-lcuda', '-I', str(ROOT), name='killed')
    recording, = record(tmp_path / 'run', program, **VIRTUAL_TIME).glob('*.cudaspy')
    out, err = slowly(0, 'report', '-f', 'json', recording, HASTY='1')
    process, = json.loads(out)['processes']
    assert process['state'] == 'killed'
    check_reading(err)


def test_several_recordings(slowly, recording, tmp_path):
    """Together they take longer than a second, though none does."""
    others = [next(record(tmp_path / f'run{i}', STEPS, 20).glob('*.cudaspy')) for i in range(2)]
    err = slowly(200, 'diff', '--base', recording, others[0], '--new', others[1], '-f', 'json', '-o', 'out')[1]
    assert not err or err.endswith('\r\x1b[K')
    err = slowly(700, 'diff', '--base', recording, *others, '--new', recording)[1]
    assert '\r\x1b[K2 of 3, reading ' in err or '\r\x1b[K3 of 3, reading ' in err


def test_an_error_stands_on_a_line_of_its_own(slowly, recording, tmp_path):
    recording.write_bytes(recording.read_bytes()[:50])
    err = slowly(1500, 'report', recording, status=2)[1]
    assert err.split('\r\x1b[K')[-1].startswith('cudaspy: ')


def test_nothing_where_nobody_looks(slowly, recording, tmp_path):
    assert slowly(1500, 'report', recording, term='dumb')[1] == ''
    env = {**os.environ, 'LD_PRELOAD': str(tmp_path / 'libslow.so'), 'SLOW_MS': '1500', 'TERM': 'xterm'}
    p = subprocess.run([REPORTER, 'report', recording], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.returncode == 0 and p.stderr == b''


def test_analysis_says_how_far_it_is(slowly, tmp_path):
    """By the changes that were tried of those there are, at each end of the range, in each process and phase."""
    recording = next(record(tmp_path / 'run', STEPS, 400, CUDASPY_GPU='sample').glob('*.cudaspy'))
    err = slowly(0, 'report', recording, SLOW_CALLOC_MS='250')[1] # every replay needs room for its calls
    shares = [int(s) for s in re.findall(r'\r\x1b\[Kworking out what would change what, (\d+) %', err)]
    assert len(set(shares)) > 2 and shares == sorted(shares) and shares[-1] <= 100
    assert err.endswith('\r\x1b[K') and '\n' not in err


def test_export_says_how_far_it_is(slowly, tmp_path):
    """By the records: so many are done of those there are."""
    recording = next(record(tmp_path / 'run', STEPS, 4000, CUDASPY_TRACE=1).glob('*.cudaspy'))
    err = slowly(0, 'export', '-f', 'chrome', '-o', 'out.json', recording, SLOW_WRITE_MS='250')[1]
    shares = [int(s) for s in re.findall(r'\r\x1b\[Kwriting out\.json, (\d+) % \(\d+ s\)', err)]
    assert len(set(shares)) > 2 and shares == sorted(shares) and shares[-1] <= 100
    assert err.endswith('\r\x1b[K') and '\n' not in err


def test_export_to_a_pipe_says_nothing(slowly, recording):
    """Who reads it may show it on that terminal."""
    for ms, form in (0, 'folded'), (700, 'csv'):
        out, err = slowly(ms, 'export', '-f', form, recording)
        assert out and (not err or err.endswith('\r\x1b[K')) and 'writing' not in err


def test_nothing_within_a_second(slowly, recording):
    """But for a machine that is slow by itself."""
    err = slowly(0, 'report', recording)[1]
    assert err == '' or ' s)' in err
