# SPDX-License-Identifier: Apache-2.0
"""Beside other guests: preloads before and after us, allocators that look up under their lock, sanitized programs, set-user-id.

Whoever else is in LD_PRELOAD must see what it would see without us, and the program must not notice either.
"""
import os
import pwd
import re
import shutil
import stat
import subprocess

import pytest

from conftest import BUILD, REPORTER, ROOT, SHIM, cuda_include, environment, need

PROGRAMS = BUILD / 'tests/e2e'
ORDERS = ['before', 'after']


def both(order, other):
    """LD_PRELOAD with another library before or after us."""
    return (other, SHIM) if order == 'before' else (SHIM, other)


def line(result, start):
    found = [text for text in result.out.splitlines() if text.startswith(start)]
    assert len(found) == 1, result.out + result.err
    return found[0]


# ---- allocators ----

@pytest.mark.parametrize('order', ORDERS)
@pytest.mark.parametrize('program', ['samples/sim/vector_add', 'samples/sim-static/vector_add', 'tests/e2e/drive_dlsym',
                                     'tests/e2e/dlsym_facts'])
def test_an_allocator_that_looks_up_under_its_lock(run, order, program):
    allocator = PROGRAMS / 'libpreload_allocator.so'
    arguments = [] if program.endswith('facts') else [3]
    bare = run(program, *arguments, preload=(allocator,))
    hooked = run(program, *arguments, preload=both(order, allocator))
    assert bare.status == 0 and hooked.status == 0, bare.err + hooked.err
    line(bare, 'preload_allocator: served')
    assert hooked.out == bare.out
    if arguments:
        assert hooked.report['totals']['launches'] == hooked.truth['totals']['launches'] == 3


# ---- another dlsym ----

@pytest.mark.parametrize('order', ORDERS)
@pytest.mark.parametrize('way', ['dlsym', 'proc'])
def test_another_dlsym_is_called_and_so_are_we(run, order, way):
    other = PROGRAMS / 'libpreload_dlsym.so'
    bare = run(f'tests/e2e/drive_{way}', 4, preload=(other,))
    hooked = run(f'tests/e2e/drive_{way}', 4, preload=both(order, other))
    seen = int(line(bare, 'preload_dlsym:').split()[2])
    assert (way == 'dlsym') == (seen == 1)
    assert hooked.status == 0 and 'drove 4' in hooked.out, hooked.out + hooked.err
    # What the program asks comes by; what we ask for ourselves may come on top.
    assert int(line(hooked, 'preload_dlsym:').split()[2]) >= seen
    assert line(hooked, 'preload_dlsym:').endswith('others some')
    assert hooked.report['totals']['launches'] == hooked.truth['totals']['launches'] == 4
    assert hooked.report['gaps'] == []


@pytest.mark.parametrize('order', ORDERS)
def test_another_dlsym_changes_no_answer(run, order):
    """A hook in C makes itself the caller of RTLD_NEXT and RTLD_DEFAULT; we add nothing to that."""
    other = PROGRAMS / 'libpreload_dlsym.so'
    bare = run('tests/e2e/dlsym_facts', preload=(other,))
    hooked = run('tests/e2e/dlsym_facts', preload=both(order, other))

    def facts(result):
        # Its own place behind or before us is what RTLD_NEXT tells.
        return [text for text in result.out.splitlines() if not text.startswith(('preload_dlsym', 'next'))]

    assert len(facts(bare)) > 50
    assert facts(hooked) == facts(bare)


# ---- other wrappers of the driver's calls ----

@pytest.mark.parametrize('how', ['next', 'handle'])
def test_a_wrapper_before_us_sees_the_calls_and_so_do_we(run, how):
    other = PROGRAMS / 'libpreload_cu.so'
    result = run('tests/e2e/drive_plt', 6, preload=both('before', other), PRELOAD_CU=how)
    assert result.status == 0, result.out + result.err
    assert line(result, 'preload_cu:') == 'preload_cu: launches 6 allocs 1'
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 6
    assert result.truth['apis']['cuMemAlloc_v2']['calls'] == 1


@pytest.mark.parametrize('how', ['next', 'handle'])
@pytest.mark.parametrize('way', ['plt', 'dlsym', 'proc'])
def test_a_wrapper_after_us_is_not_called_in_circles(run, how, way):
    """We call the driver itself, found by its handle: a wrapper behind us that exports cu* names and no dlsym has no part
    in it, whatever way it goes on. The calls are made once, and counted once."""
    other = PROGRAMS / 'libpreload_cu.so'
    result = run(f'tests/e2e/drive_{way}', 6, preload=both('after', other), PRELOAD_CU=how)
    assert result.status == 0, result.out + result.err
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 6
    assert result.truth['apis']['cuMemAlloc_v2']['calls'] == 1


# ---- sanitized programs ----

CUDA_PROGRAM = ['tests/e2e/programs/drive_main.c', 'tests/e2e/programs/drive_dlsym.c']


def sanitized(tmp_path, kind, *more, compiler='gcc'):
    """The driving program, built with a sanitizer; and the run-time library it wants first."""
    program = tmp_path / f'sanitized_{kind}'
    p = subprocess.run([compiler, f'-fsanitize={kind}', '-g', '-o', program, *CUDA_PROGRAM, *more, f'-I{cuda_include()}',
                        '-iquote', '.', '-ldl'], cwd=ROOT, stderr=subprocess.PIPE, universal_newlines=True)
    if p.returncode:
        pytest.skip(f'{compiler} cannot build with -fsanitize={kind}: {p.stderr.splitlines()[-1]}')
    needed = subprocess.run(['ldd', program], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    library = re.search(r'=> (\S*lib[at]san\S*)', needed)
    return program, library and library[1]


def check_sanitized(result):
    assert result.status == 0, result.err
    assert 'drove 5' in result.out
    assert 'Sanitizer' not in result.err, result.err
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 5


# What the simulated driver keeps to its end is none of the program's leaks.
NO_LEAKS = 'detect_leaks=0'


def test_an_asan_program_with_its_library_first(run, tmp_path):
    program, library = sanitized(tmp_path, 'address')
    check_sanitized(run(program, 5, preload=(library, SHIM), ASAN_OPTIONS=NO_LEAKS))


def test_an_asan_program_that_is_told_not_to_mind(run, tmp_path):
    program, _ = sanitized(tmp_path, 'address')
    check_sanitized(run(program, 5, ASAN_OPTIONS=NO_LEAKS + ':verify_asan_link_order=0'))


def test_an_asan_program_by_cudaspy_run(run, tmp_path):
    """The launcher sees what the program needs, and puts it first."""
    program, _ = sanitized(tmp_path, 'address')
    check_sanitized(run(REPORTER, 'run', '--', program, 5, preload=(), ASAN_OPTIONS=NO_LEAKS))


LEAK = r'''
#include <stdlib.h>
static void __attribute__((constructor)) leak(void)
{
	for (int i = 0; i < 10; i++)
		*(volatile char *)malloc(1234) = 1;
}
'''


def test_we_leak_nothing(run, tmp_path):
    """Where the program itself leaks, so that leaks are seen to be looked for."""
    (tmp_path / 'leak.c').write_text(LEAK)
    program, library = sanitized(tmp_path, 'address', tmp_path / 'leak.c')
    result = run(program, 5, preload=(library, SHIM), ASAN_OPTIONS='exitcode=0')
    assert result.status == 0, result.err
    assert 'LeakSanitizer' in result.err and 'leak.c' in result.err, result.err
    assert not re.search(r'^ +#\d+ .*(libcudaspy|shim/)', result.err, flags=re.M), result.err


def test_a_tsan_program(run, tmp_path):
    """It cannot see the locks of libraries that are not instrumented, ours and the driver's, and is told so."""
    alone = 'ignore_noninstrumented_modules=1'
    program, library = sanitized(tmp_path, 'thread')
    bare = run(program, 5, preload=(), TSAN_OPTIONS=alone)
    if bare.status:
        pytest.skip(f'ThreadSanitizer does not run here: {bare.err.splitlines()[0] if bare.err else bare.status}')
    check_sanitized(run(program, 5, TSAN_OPTIONS=alone))
    for recording in tmp_path.glob('*.cudaspy'):
        recording.unlink()
    check_sanitized(run(program, 5, preload=(library, SHIM), TSAN_OPTIONS=alone))


# ---- programs that are none of ours ----

def test_python_imports_are_unchanged(run):
    python = need('python3', 'it is the program of this test')
    code = ('import ctypes, ssl, sqlite3\n'
            'c = ctypes.CDLL(None)\n'
            'print(ctypes.sizeof(ctypes.c_void_p), ssl.OPENSSL_VERSION, sqlite3.sqlite_version, c.strlen(b"four"))\n'
            'try:\n    c.cuNoSuchCall\nexcept AttributeError as e:\n    print(e)\n'
            'try:\n    ctypes.CDLL("libnosuch.so")\nexcept OSError as e:\n    print(e)\n')
    bare = run(python, '-c', code, preload=())
    hooked = run(python, '-c', code)
    assert bare.status == 0, bare.err
    assert 'undefined symbol: cuNoSuchCall' in bare.out
    assert (hooked.status, hooked.out, hooked.err) == (bare.status, bare.out, bare.err)
    assert hooked.recordings == []


@pytest.mark.parametrize('command', [['sh', '-c', 'echo a; (echo b); exit 3'], ['ls', '/'], ['env', 'true']])
def test_programs_without_cuda_leave_nothing(run, command):
    path = need(command[0], 'it is the program of this test')
    bare = run(path, *command[1:], preload=())
    hooked = run(path, *command[1:])
    assert (hooked.status, hooked.out, hooked.err) == (bare.status, bare.out, bare.err)
    assert hooked.recordings == []


EARLY = r'''
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
static int rc = -1;
static void __attribute__((constructor)) early(void) { rc = cuInit(0); }
int library_result(void) { return rc; }
'''


def test_a_constructor_that_calls_before_ours(run, compile_c, tmp_path):
    """A library's constructors run before a preload's."""
    library = compile_c(EARLY, '-lcuda', shared=True, name='early')
    program = compile_c('#include <stdio.h>\nint library_result(void);\nint plugin_run(unsigned);\n'
                        'int main(void) { printf("%d\\n", library_result()); return plugin_run(2); }',
                        '-x', 'none', str(library), str(PROGRAMS / 'drive_plt.o'), '-lcuda', f'-Wl,-rpath,{tmp_path}')
    result = run(program)
    assert result.status == 0 and result.out.startswith('0\n'), result.out + result.err
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 2
    calls = {a['name']: a['calls'] for a in result.report['apis']}
    assert calls['cuInit'] == result.truth['apis']['cuInit']['calls'] == 2


# ---- set-user-id ----

AT_SECURE = r'''
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
int main(void)
{
	char line[4096];
	int loaded = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		loaded |= strstr(line, "libcudaspy") != NULL;
	printf("secure %lu loaded %d\n", getauxval(AT_SECURE), loaded);
	return 0;
}
'''


def test_a_set_user_id_program_is_let_alone(compile_c, tmp_path):
    """The loader drops a preload that is named by a path; the program works as ever."""
    if os.geteuid():
        pytest.skip('only root can make a program that runs as another user')
    try:
        nobody = pwd.getpwnam('nobody')
    except KeyError:
        pytest.skip('there is no user nobody')
    place = tmp_path / 'open'
    place.mkdir()
    program = shutil.copy(compile_c(AT_SECURE), place / 'program')
    os.chown(program, nobody.pw_uid, nobody.pw_gid)
    os.chmod(program, stat.S_ISUID | 0o755)
    if subprocess.run([program], env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 127:
        pytest.skip('another user cannot read the libraries of this root')
    env = environment(place)
    plain = subprocess.run([compile_c(AT_SECURE)], env=env, stdout=subprocess.PIPE, universal_newlines=True)
    assert plain.stdout == 'secure 0 loaded 1\n'
    p = subprocess.run([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if 'secure 0' in p.stdout:
        pytest.skip('the temporary folder is mounted nosuid')
    assert p.returncode == 0
    assert p.stdout == 'secure 1 loaded 0\n'
    assert list(place.glob('*.cudaspy')) == []
