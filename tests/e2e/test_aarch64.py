# SPDX-License-Identifier: Apache-2.0
"""The shim for aarch64: cross-built, its ways of finding calls tried under qemu-user, its recording read by this machine's
reporter. The simulated CUDA and the programs are cross-built with it."""
import subprocess

import pytest

import lookup_answers
from conftest import BUILD, Run, cuda_include, environment, make, need
from lookup_answers import check_answers, requests
from test_exports import check_exports, check_needs, check_segments

CROSS = 'aarch64-linux-gnu-'
ROOT_THERE = '/usr/aarch64-linux-gnu'
FOLDER = BUILD / 'aarch64'
LIBRARY = FOLDER / 'libcudaspy.so'
PROGRAMS = FOLDER / 'tests/e2e'
MADE = ['dlsym_facts', 'drive_dlsym', 'drive_plt', 'drive_proc', 'libplugin_dlsym.so', 'libplugin_plt.so',
        'libplugin_runtime_11.so', 'libplugin_runtime_12.so', 'libplugin_runtime_13.so', 'libpreload_allocator.so',
        'libpreload_dlsym.so', 'load_plugins', 'lookup_ask', 'runtime_static']


@pytest.fixture(scope='module', autouse=True)
def cross_built():
    need(CROSS + 'gcc', 'it builds the shim for aarch64')
    need('qemu-aarch64', 'it runs what was built for aarch64')
    p = make(f'CC={CROSS}gcc', f'AR={CROSS}ar', 'shim', 'sim', *(PROGRAMS / name for name in MADE), folder=FOLDER)
    assert p.returncode == 0, p.stdout[-4000:]


def emulated(program, *args):
    return ['qemu-aarch64', '-L', ROOT_THERE, str(program), *map(str, args)]


def environment_there(folder, preload, **variables):
    """The loader's variables are for the program alone, not for qemu, which keeps books of each page that is reserved."""
    env = environment(folder, preload=(), sim=None, SIM_TRUTH=folder / 'truth', SIM_COST=0, SIM_MEMORY_MIB=256,
                      **variables)
    there = {'LD_LIBRARY_PATH': FOLDER / 'sim'}
    if preload:
        there['LD_PRELOAD'] = ':'.join(map(str, preload))
    return dict(env, QEMU_SET_ENV=','.join(f'{k}={v}' for k, v in there.items()))


@pytest.fixture
def run_there(tmp_path):
    """As `run`, for aarch64. A name is one of our programs there."""

    def go(program, *args, preload=(LIBRARY,), **variables):
        path = program if str(program).startswith('/') else PROGRAMS / program
        p = subprocess.run(emulated(path, *args), env=environment_there(tmp_path, preload, **variables), cwd=tmp_path,
                           timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           universal_newlines=True, errors='replace')
        return Run(p, tmp_path, tmp_path / 'truth')

    return go


@pytest.fixture
def compile_there(tmp_path):
    def go(source, *flags, name='program', shared=False):
        out = tmp_path / (f'lib{name}.so' if shared else name)
        subprocess.run([CROSS + 'gcc', '-x', 'c', '-', '-o', out, '-w', '-D_GNU_SOURCE', f'-I{cuda_include()}',
                        *(['-shared', '-fPIC'] if shared else []), '-Wl,--no-as-needed', *flags], input=source.encode(),
                       check=True)
        return out

    return go


def test_the_library_is_as_on_any_machine():
    check_exports(LIBRARY, FOLDER, 'GLIBC_2.17', CROSS + 'nm')
    check_needs(LIBRARY)
    check_segments(LIBRARY)


@pytest.mark.parametrize('way', ['dlsym', 'plt', 'proc'])
def test_a_program(run_there, way):
    result = run_there(f'drive_{way}', 7)
    assert result.status == 0, result.out + result.err
    report, truth = result.report, result.truth
    assert report['totals']['launches'] == truth['totals']['launches'] == 7
    seen = {a['name']: a['calls'] for a in report['apis']}
    for name in ('cuInit', 'cuModuleLoadData', 'cuMemAlloc_v2', 'cuLaunchKernel', 'cuCtxSynchronize', 'cuMemFree_v2'):
        assert seen[name] == truth['apis'][name]['calls'] > 0
    assert report['kernels'][0]['name'] == 'driven'
    assert report['window_ns'] > 0 and report['gaps'] == []


@pytest.mark.parametrize('route', ['v1-11030', 'v2-12000', 'dlsym'])
def test_every_version_of_every_name(tmp_path, route):
    rows = requests()
    command = emulated(PROGRAMS / 'lookup_ask', route)
    bare = lookup_answers.ask(command, environment_there(tmp_path, ()), rows)
    hooked = lookup_answers.ask(command, environment_there(tmp_path, (LIBRARY,)), rows)
    assert check_answers(bare, hooked) > (500 if route == 'dlsym' else 2000)


def test_dlsym_and_dlerror_are_as_without_us(run_there):
    bare = run_there('dlsym_facts', preload=())
    hooked = run_there('dlsym_facts')
    assert 'undefined symbol: cuNoSuchCall' in bare.out
    assert (hooked.status, hooked.out) == (0, bare.out), hooked.err


CHAIN = r'''
#include <dlfcn.h>
const char *chain(char *to)
{
	const char *(*next)(char *) = (const char *(*)(char *))dlsym(RTLD_NEXT, "chain");
	*to = LETTER;
	return next ? next(to + 1) : to;
}
'''
CHAIN_MAIN = r'''
#include <stdio.h>
const char *chain(char *to);
int main(void)
{
	char text[9] = "", again[9] = "";
	chain(text);
	chain(again);
	printf("%s %s\n", text, again);
	return 0;
}
'''


@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_rtld_next_goes_on_behind_its_caller(run_there, compile_there, tmp_path, level):
    """The tail jump leaves the program's own return address to glibc."""
    letters = [compile_there(CHAIN, level, f"-DLETTER='{c}'", shared=True, name=f'chain{c}') for c in 'abc']
    program = compile_there(CHAIN_MAIN, level, '-x', 'none', *map(str, letters))
    assert run_there(program, preload=()).out == 'abc abc\n'
    assert run_there(program).out == 'abc abc\n'


def test_arguments_beyond_the_registers(run_there, tmp_path):
    """cuLaunchKernel has eleven, three of them on the stack; a runtime passes structures by value."""
    plugins = [f'local:{n}:{PROGRAMS}/libplugin_runtime_{v}.so' for n, v in ((2, 12), (3, 13), (4, 11))]
    result = run_there('load_plugins', *plugins)
    assert result.status == 0, result.out + result.err
    assert [line for line in result.out.splitlines() if line.startswith('runtime')] == [
        'runtime 12 launched 2', 'runtime 13 launched 3', 'runtime 11 launched 4']
    report = result.report
    assert report['totals']['launches'] == result.truth['totals']['launches'] == 9
    (launch,) = [a for a in report['apis'] if a['class'] == 'launch']
    assert (launch['name'], launch['level'], launch['calls']) == ('cudaLaunchKernel', 'runtime', 9)
    kernel = report['kernels'][0]
    assert (kernel['grid'], kernel['block']) == ([1, 1, 1], [1, 1, 1])


def test_a_static_runtime(run_there):
    result = run_there('runtime_static', 5)
    assert result.status == 0, result.out + result.err
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 5


@pytest.mark.parametrize('order', ['before', 'after'])
@pytest.mark.parametrize('other', ['allocator', 'dlsym'])
def test_beside_another_preload(run_there, order, other):
    library = PROGRAMS / f'libpreload_{other}.so'
    result = run_there('drive_dlsym', 3, preload=(library, LIBRARY) if order == 'before' else (LIBRARY, library))
    assert result.status == 0 and 'drove 3' in result.out, result.out + result.err
    assert f'preload_{other}:' in result.out
    assert result.report['totals']['launches'] == 3


def test_deepbind_is_seen(run_there):
    result = run_there('load_plugins', f'local:2:{PROGRAMS}/libplugin_dlsym.so', f'deepbind:3:{PROGRAMS}/libplugin_plt.so')
    assert result.status == 0, result.out + result.err
    assert result.truth['totals']['launches'] == 5 and result.report['totals']['launches'] == 2
    assert [(g['kind'], g['name']) for g in result.report['gaps']] == [('deepbind', 'libplugin_plt.so')]
