# SPDX-License-Identifier: Apache-2.0
"""What takes longer than a second says on stderr what it is at, where that is a terminal, and leaves nothing of it."""
import os
import pty
import subprocess

import pytest

from conftest import REPORTER
from test_check import STEPS, record

# Opening a recording takes a while, as a large one on a slow disk does.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int slow(const char *name, const char *path, int flags, int mode)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
	struct timespec left = {atol(getenv("SLOW_MS")) / 1000, atol(getenv("SLOW_MS")) % 1000 * 1000000};
	size_t bytes = strlen(path);
	if (bytes > 8 && !strcmp(path + bytes - 8, ".cudaspy"))
		while (nanosleep(&left, &left)) ;
	return real(path, flags, mode);
}
int open(const char *path, int flags, ...) { va_list a; va_start(a, flags); int m = va_arg(a, int); va_end(a); return slow("open", path, flags, m); }
int open64(const char *path, int flags, ...) { va_list a; va_start(a, flags); int m = va_arg(a, int); va_end(a); return slow("open64", path, flags, m); }
"""


@pytest.fixture
def slowly(tmp_path, compile_c):
    """slowly(ms, 'report', ...) -> what it writes to stdout, and to stderr, which is a terminal."""
    library = compile_c(SLOW, '-ldl', name='slow', shared=True)

    def go(ms, *args, term='xterm', status=0):
        master, slave = pty.openpty()
        env = {**os.environ, 'LD_PRELOAD': str(library), 'SLOW_MS': str(ms), 'TERM': term}
        p = subprocess.Popen([REPORTER, *map(str, args)], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=slave)
        out = p.communicate(timeout=120)[0].decode()
        os.write(slave, b'.')
        os.close(slave)
        err = os.read(master, 1 << 16).decode()
        os.close(master)
        assert p.returncode == status, err
        return out, err[:-1]

    return go


@pytest.fixture
def recording(tmp_path):
    return next(record(tmp_path / 'run', STEPS, 20).glob('*.cudaspy'))


def test_report_says_what_it_is_at(slowly, recording):
    out, err = slowly(1500, 'report', recording)
    assert 'launches' in out and '\r\x1b[Kreading ' in err and '.cudaspy (1 s)' in err
    assert err.endswith('\r\x1b[K') and '\n' not in err and '\x1b[K' not in out


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


def test_nothing_within_a_second(slowly, recording):
    """But for a machine that is slow by itself."""
    err = slowly(0, 'report', recording)[1]
    assert err == '' or ' s)' in err
