# SPDX-License-Identifier: Apache-2.0
"""What libcudaspy.so shows to a loader: exactly the symbols it means to, of old glibc only, little TLS. And the table
of calls it is made from is complete for the toolkit that is used."""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, cuda_include, need
from lookup_answers import built

# Through these others come to CUPTI: noted, passed on (shim/cupti/cupti_others.c).
CUPTI = {'cuptiSubscribe', 'cuptiSubscribe_v2', 'cuptiActivityRegisterCallbacks', 'cuptiActivityRegisterCallbacks_v2'}
# What NVTX asks the library named in NVTX_INJECTION64_PATH for.
NVTX = {'InitializeInjectionNvtx2'}
# Ends that no exit handler sees (shim/life/leaving.c).
ENDS = {'_exit', '_Exit', 'execl', 'execle', 'execlp', 'execv', 'execve', 'execveat', 'execvp', 'execvpe', 'fexecve'}
# POSIX: "cancellation points shall occur when a thread is executing", and what of "may occur" the shim could use; glibc
# has fallocate() among them. A thread with a pending pthread_cancel() must not end inside the shim, whose system calls
# are made directly (shim/base/sys.h). Two are called all the same, always with cancellation off: fallocate(), of which the
# tests take the place, and pthread_join().
CANCELLATION = set('''accept accept4 aio_suspend clock_nanosleep close connect creat epoll_wait fcntl fdatasync fsync
    getmsg getpmsg lockf mq_receive mq_send mq_timedreceive mq_timedsend msgrcv msgsnd msync nanosleep open openat pause
    poll ppoll pread preadv pselect pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel putmsg
    putpmsg pwrite pwritev read readv recv recvfrom recvmsg select sem_timedwait sem_wait send sendmsg sendto sigpause
    sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice sync_file_range system tcdrain tee usleep wait wait4 waitid
    waitpid write writev fallocate posix_fallocate access fopen fclose fread fwrite fgets fputs fprintf printf puts perror
    opendir readdir closedir getaddrinfo syslog dprintf vdprintf ftw nftw glob popen pclose stat fstat lseek'''.split())
QUIET = {'fallocate', 'pthread_join'}
BUILDS = ['make', 'unoptimized', 'clang']


def tool(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout


def exports_meant(folder):
    calls = set((folder / 'gen/exports.txt').read_text().split())
    assert len(calls) > 500
    nodes = {'libcudart.so.11.0', 'libcudart.so.12', 'libcudart.so.13'}
    assert {line.split('@')[1] for line in calls if '@' in line} == nodes
    return calls, nodes | {'GLIBC_2.2.5', 'GLIBC_2.17'}


def check_exports(library, folder, first_version, nm='nm'):
    """Calls of both levels, their version nodes, the doors to CUPTI and NVTX, ends of a process, dlsym with and without glibc's first version. No rt11_, no spy_."""
    calls, nodes = exports_meant(folder)
    symbols = {'T': set(), 'A': set()}
    for line in tool(nm, '-D', '--defined-only', library).splitlines():
        _, kind, name = line.split()
        if not kind.islower():  # local: no loader finds it
            symbols[kind].add(name.replace('@@', '@'))
    assert symbols['T'] == calls | CUPTI | NVTX | ENDS | {'dlsym', f'dlsym@{first_version}'}
    assert symbols['A'] == nodes


def check_needs(library):
    """It runs where its user is: glibc 2.28 or newer, nothing else."""
    versions = {tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_([\d.]+)', tool('readelf', '-VW', library))}
    assert versions and max(versions) <= (2, 28)
    # Headers of glibc 2.38 and newer give these another name, which older systems lack.
    assert not re.findall(r' UND (strto\w+|\w*scanf|__isoc23_\w+)@', tool('readelf', '--dyn-syms', '-W', library))
    dynamic = tool('readelf', '-dW', library)
    needed = set(re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic))
    assert {'libc.so.6', 'libdl.so.2', 'libpthread.so.0'} <= needed
    assert needed <= {'libc.so.6', 'libdl.so.2', 'libpthread.so.0', 'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}
    flags = re.search(r'\(FLAGS_1\).*', dynamic)[0]
    assert 'NOW' in flags and 'NODELETE' in flags
    for unwanted in ('RPATH', 'RUNPATH', 'TEXTREL'):
        assert unwanted not in dynamic
    assert re.search(r'\(SONAME\).*\[libcudaspy\.so\]', dynamic)


def check_segments(library):
    """Initial-exec TLS comes out of a small block that all libraries share; nothing is writable and executable."""
    headers = tool('readelf', '-lW', library)
    (tls,) = re.findall(r'^ +TLS +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)', headers, flags=re.M)
    assert 0 < int(tls, 16) < 1024
    assert 'GNU_RELRO' in headers
    assert re.search(r'GNU_STACK.* RW +0x', headers)
    assert not re.search(r'LOAD.* RWE ', headers)


@pytest.mark.parametrize('build', BUILDS)
def test_exports(build):
    library = built(build)
    machine = tool('uname', '-m').strip()
    check_exports(library, library.parent, 'GLIBC_2.2.5' if machine == 'x86_64' else 'GLIBC_2.17')


@pytest.mark.parametrize('build', BUILDS)
def test_no_cancellation_point(build):
    imported = {line.split()[-1].split('@')[0] for line in tool('nm', '-D', '--undefined-only', built(build)).splitlines()}
    assert 'syscall' in imported
    points = CANCELLATION | {f'{name}64' for name in CANCELLATION} | {f'__{name}' for name in CANCELLATION}
    assert imported & points <= QUIET


@pytest.mark.parametrize('build', BUILDS)
def test_needs(build):
    check_needs(built(build))


@pytest.mark.parametrize('build', BUILDS)
def test_segments(build):
    check_segments(built(build))


def test_no_loader_complains(run):
    """Version nodes that a program wants are there: LD_BIND_NOW and all warnings on."""
    for folder in ('sim', 'sim11', 'sim12', 'sim-ptsz'):
        result = run(f'samples/{folder}/vector_add', 1, LD_BIND_NOW=1, LD_WARN=1, CUDASPY_QUIET=1)
        assert result.status == 0 and result.err == ''


# ---- the table ----

def generate(rows, out):
    return subprocess.run(['python3', ROOT / 'shim/hook/gen_wrappers.py', rows, BUILD / 'gen/driver.i', BUILD / 'gen/runtime.i',
                           out], stderr=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)


def test_every_driver_call_of_this_toolkit_has_a_row(tmp_path):
    p = generate(ROOT / 'shim/core/format/calls.def', tmp_path)
    assert (p.returncode, p.stderr, p.stdout) == (0, '', '')


def test_a_lacking_row_is_told(tmp_path):
    text = (ROOT / 'shim/core/format/calls.def').read_text()
    lacking = tmp_path / 'calls.def'
    lacking.write_text(re.sub(r'^(?:PASS\(cuCtxGetDevice\)|ARGS\(cuLaunchKernel,).*\n', '', text, flags=re.M))
    p = generate(lacking, tmp_path)
    assert sorted(re.findall(r'has no row for (\w+)', p.stderr)) == ['cuCtxGetDevice', 'cuLaunchKernel', 'cuLaunchKernel_ptsz']
    # And by a report, where a program asks for it: it is none of those that are left alone on purpose.
    passed = (tmp_path / 'calls_gen.c').read_text().split('spy_passed[]')[1]
    assert '"cuCtxGetId"' in passed and '"cuLaunchKernel"' not in passed


@pytest.mark.parametrize('wrong', [
        'CALL(cuInit)', 'PASS(cuX, OTHER)', 'CALL(cuX, SYNC)', 'CALL(cuX, SYNC, SYNC_SOME)', 'ARGS(cuX, COPY, copy, WORK)',
        'CALL(cuX, COPY, WORK, SOMETIMES)', 'CALL(cuX, SYNC, SYNC_ALL, NOTHING)', 'CALL(cuInit, OTHER, NONE)', 'CALl(x, OTHER, NONE)'])
def test_a_wrong_row_is_refused(tmp_path, wrong):
    table = tmp_path / 'calls.def'
    table.write_text((ROOT / 'shim/core/format/calls.def').read_text() + wrong + '\n')
    p = generate(table, tmp_path)
    assert p.returncode != 0 and 'calls.def:' in p.stderr


def test_a_wrong_signature_does_not_compile(tmp_path):
    """A note whose arguments are not those of its call."""
    need('gcc', 'it compiles the wrapper')
    text = (ROOT / 'shim/core/format/calls.def').read_text()
    row = 'ARGS(cuProfilerStart, OTHER, profiler_start, NONE)'
    assert row in text
    table = tmp_path / 'calls.def'
    table.write_text(text.replace(row, 'ARGS(cuProfilerStart, OTHER, launch, NONE)'))
    assert generate(table, tmp_path).returncode == 0
    command = ['gcc', '-std=gnu11', '-D_GNU_SOURCE', '-iquote', ROOT, '-iquote', tmp_path, '-w', '-fsyntax-only',
               '-isystem', cuda_include(), '-include', ROOT / 'shim/base/compat.h', tmp_path / 'wrappers_driver.c']
    p = subprocess.run(command, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode != 0 and 'args_launch' in p.stderr
