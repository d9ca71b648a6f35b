# SPDX-License-Identifier: Apache-2.0
"""How a program's calls are found: by symbol, by dlsym, by the driver's own look-up; and what must not change for it.

The answers of the driver without the shim are the truth: with it, each pointer must be the wrapper of the very function
that the driver chose, for every name, version and flags that NVIDIA's headers know, and nothing else may differ.
"""
import subprocess

import pytest

import lookup_answers
from conftest import ROOT, SHIM, SIM, cuda_include, environment
from lookup_answers import PROGRAMS, ROUTES, built, check_answers, requests

BUILDS = ['make', 'unoptimized', 'clang']


def ask(folder, route, rows, preload=(SHIM,), **variables):
    return lookup_answers.ask([PROGRAMS / 'lookup_ask', route], environment(folder, preload, **variables), rows)


# ---- the driver's look-up ----

@pytest.mark.parametrize('route', ROUTES)
def test_every_version_of_every_name(tmp_path, route):
    rows = requests()
    bare = ask(tmp_path, route, rows, preload=())
    hooked = ask(tmp_path, route, rows)
    symbols = {a.symbol for a in bare.values()}
    assert {'cuMemAlloc', 'cuMemAlloc_v2', 'cuLaunchKernel_ptsz', 'cuMemcpy_ptds', 'cuEventElapsedTime_v2'} <= symbols
    assert {a.library for a in bare.values()} >= {'libcuda.so.1', 'null'}
    assert check_answers(bare, hooked) > 2000


@pytest.mark.parametrize('build', BUILDS[1:])
def test_every_version_of_every_name_by_other_builds(tmp_path, build):
    rows = requests()
    for route in ('v1-11030', 'v2-12000', 'dlsym'):
        check_answers(ask(tmp_path, route, rows, preload=()), ask(tmp_path, route, rows, preload=(built(build),)))


def test_the_look_up_asked_for_itself(tmp_path):
    rows = [('cuGetProcAddress', version, 0) for version in (11030, 11040, 11080, 12000, 12080, 13000)]
    for route in ROUTES:
        answers = ask(tmp_path, route, rows)
        for (_, version, _), a in answers.items():
            assert a.library == 'libcudaspy.so'
            assert a.symbol == ('cuGetProcAddress' if version < 12000 else 'cuGetProcAddress_v2')


def test_a_driver_that_asks_dlsym(tmp_path):
    """It answers with what the process has of a name: our exports. They must not be taken for the real functions."""
    rows = requests()
    bare = ask(tmp_path, 'v2', rows, preload=())
    hooked = ask(tmp_path, 'v2', rows, SIM_DRIVER_DLSYM=1)
    check_answers(bare, hooked)


def test_an_older_driver(tmp_path):
    """What it lacks stays missing, with the driver's own answer."""
    rows = requests()
    lacks = dict(SIM_MISSING='cuLaunchKernelEx,cuMemAllocAsync,cuGetProcAddress', SIM_DRIVER_VERSION=12020)
    bare = ask(tmp_path, 'v2', rows, preload=(), **lacks)
    check_answers(bare, ask(tmp_path, 'v2', rows, **lacks))
    assert bare['cuLaunchKernelEx', 12000, 0].library == 'null'
    assert bare['cuMemAlloc', 13000, 0].rc != 0


PROBES = r'''
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
int main(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuGetProcAddress) *v1 = dlsym(h, "cuGetProcAddress");
	__typeof__(cuGetProcAddress_v2) *v2 = dlsym(h, "cuGetProcAddress_v2");
	CUdriverProcAddressQueryResult s = 9;
	void *p;
	int rc;
#define SHOW(call) p = (void *)8; s = 9; errno = 5; rc = call; \
	printf("%s: %d %s %d errno %d\n", #call, rc, p == (void *)8 ? "untouched" : p ? "set" : "null", s, errno);
	v1("", &p, 0, 0); /* the simulator's own first call looks for the owner of an older truth */
	SHOW(v2("", &p, 0, 0, NULL))
	SHOW(v2("", &p, 12000, 0, &s))
	SHOW(v1("", &p, 0, 0))
	SHOW(v2("cuLaunchKernel", NULL, 12000, 0, &s))
	SHOW(v2("cuLaunchKernel", NULL, 12000, 0, NULL))
	SHOW(v1("cuLaunchKernel", NULL, 12000, 0))
	SHOW(v2("cuLaunchKernel", &p, 12000, 0, NULL))
	SHOW(v2("cuNoSuchCall", &p, 12000, 0, NULL))
	SHOW(v2("cuNoSuchCall", &p, 12000, 0, &s))
	SHOW(v2(NULL, &p, 12000, 0, &s))
	SHOW(v1(NULL, &p, 12000, 0))
	SHOW(v2(NULL, NULL, 12000, 0, NULL))
	SHOW(v2("cuLaunchKernel", &p, -1, 0, &s))
	return 0;
}
'''


def test_probes(run, compile_c):
    program = compile_c(PROBES)
    bare = run(program, preload=())
    hooked = run(program)
    assert bare.status == hooked.status == 0
    assert 'set' in bare.out and 'null' in bare.out and 'untouched' in bare.out
    assert hooked.out == bare.out


# ---- a program's calls, found each way ----

def counts(result):
    return {a['name']: a['calls'] for a in result.report['apis']}


def check_driven(result, launches):
    """The nine functions of drive.h were all seen, each as often as the driver was called."""
    assert result.status == 0, result.out + result.err
    truth, seen = result.truth, counts(result)
    assert truth['totals']['launches'] == launches
    assert result.report['totals']['launches'] == launches
    for name in ('cuInit', 'cuDevicePrimaryCtxRetain', 'cuCtxSetCurrent', 'cuModuleLoadData', 'cuModuleGetFunction',
                 'cuMemAlloc_v2', 'cuLaunchKernel', 'cuCtxSynchronize', 'cuMemFree_v2'):
        assert seen.get(name) == truth['apis'][name]['calls'] > 0, name
    assert result.report['kernels'][0]['name'] == 'driven'


@pytest.mark.parametrize('way', ['dlsym', 'plt', 'proc'])
@pytest.mark.parametrize('build', BUILDS)
def test_a_program(run, way, build):
    result = run(f'tests/e2e/drive_{way}', 7, preload=(built(build),))
    check_driven(result, 7)
    assert result.report['gaps'] == []


@pytest.mark.parametrize('way', ['dlsym', 'plt', 'proc'])
@pytest.mark.parametrize('mode', ['local', 'global'])
def test_a_plugin(run, way, mode):
    result = run('tests/e2e/load_plugins', f'{mode}:5:{PROGRAMS}/libplugin_{way}.so')
    check_driven(result, 5)
    assert result.report['gaps'] == []


def test_plugins_of_all_ways_together(run):
    result = run('tests/e2e/load_plugins', *(f'local:{n}:{PROGRAMS}/libplugin_{way}.so'
                                             for n, way in enumerate(('plt', 'dlsym', 'proc', 'static'), 1)))
    assert result.status == 0, result.out
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 1 + 2 + 3 + 4


def test_a_stub_driver_is_asked_by_dlsym(run):
    """A look-up that answers 34 sends the runtime to some 440 plain names."""
    result = run('vector_add', 3, SIM_STUB=1)
    assert result.status == 0, result.err
    truth = result.truth
    assert truth['apis'].get('cuGetProcAddress_v2', {'calls': 0})['calls'] <= 1
    assert result.report['totals']['launches'] == truth['totals']['launches'] == 3
    assert result.report['totals']['copies'] == truth['totals']['copies'] == 9
    assert result.report['gaps'] == []


@pytest.mark.parametrize('program', ['samples/sim/vector_add', 'samples/sim-static/vector_add', 'tests/e2e/drive_plt'])
def test_a_driver_that_asks_dlsym_is_not_called_in_circles(run, program):
    result = run(program, 3, SIM_DRIVER_DLSYM=1)
    assert result.status == 0, result.err
    assert result.report['totals']['launches'] == result.truth['totals']['launches'] == 3


@pytest.mark.parametrize('how', ['loaded', 'linked'])
def test_a_driver_under_another_file_name(run, tmp_path, how):
    """As drivers lie on disk, libcuda.so.580.159.04, here without the usual name or soname beside it."""
    folder = tmp_path / 'driver'
    folder.mkdir()
    driver = folder / 'libcuda.so.580.159.04'
    image = (SIM / 'libcuda.so.1').read_bytes()
    assert image.count(b'libcuda.so.1\0') == 1
    driver.write_bytes(image.replace(b'libcuda.so.1\0', b'libcuda.so.5\0'))
    if how == 'loaded':
        source = (ROOT / 'tests/e2e/programs/drive_dlsym.c').read_text().replace('libcuda.so.1', str(driver))
        objects = []
    else:
        source = (ROOT / 'tests/e2e/programs/drive_plt.c').read_text()
        (folder / 'libcuda.so.5').symlink_to(driver.name)
        objects = [driver]
    program = tmp_path / 'program'
    subprocess.run(['gcc', '-x', 'c', '-', '-x', 'none', PROGRAMS / 'drive_main.o', *objects, '-w', '-o', program,
                    f'-I{cuda_include()}', '-iquote', ROOT, '-ldl', '-lpthread'], input=source.encode(), check=True)
    check_driven(run(program, 4, sim=folder), 4)


# ---- dlsym itself ----

@pytest.mark.parametrize('build', BUILDS)
def test_dlsym_and_dlerror_are_as_without_us(run, build):
    bare = run('tests/e2e/dlsym_facts', preload=())
    hooked = run('tests/e2e/dlsym_facts', preload=(built(build),))
    assert bare.status == hooked.status == 0
    assert 'undefined symbol: cuNoSuchCall' in bare.out and 'found, no error' in bare.out
    assert hooked.out == bare.out


OLD_DRIVER = r'''
int cuInit(unsigned flags) { return 0; }
int cuLaunchKernelEx(void) { return 0; }
'''
TRITON = r'''
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW), *p;
	const char *error;
	dlerror();
	p = dlsym(h, "cuLaunchKernelEx");
	error = dlerror();
	printf("%s %s\n", p ? "found" : "null", error ? error : "no error");
	return 0;
}
'''


def test_no_error_is_left_by_what_an_old_driver_lacks(run, compile_c, tmp_path):
    """Triton clears dlerror(), looks up, and takes any dlerror() for a failure. Our own look-ups must leave none."""
    old = compile_c(OLD_DRIVER, '-Wl,-soname,libcuda.so.1', shared=True, name='cuda')
    old.rename(tmp_path / 'libcuda.so.1')
    result = run(compile_c(TRITON), sim=tmp_path)
    assert result.out == 'found no error\n', result.err


CHAIN = r'''
#include <dlfcn.h>
#include <stddef.h>
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
@pytest.mark.parametrize('build', BUILDS)
def test_rtld_next_goes_on_behind_its_caller(run, compile_c, tmp_path, level, build):
    letters = [compile_c(CHAIN, level, f"-DLETTER='{c}'", '-ldl', shared=True, name=f'chain{c}') for c in 'abc']
    program = compile_c(CHAIN_MAIN, level, '-Wl,--no-as-needed', '-x', 'none', *map(str, letters), f'-Wl,-rpath,{tmp_path}')
    assert run(program, preload=()).out == 'abc abc\n'
    assert run(program, preload=(built(build),)).out == 'abc abc\n'


OMPT = r'''
#include <dlfcn.h>
#include <stdio.h>
typedef const char *start_tool(unsigned version);
#pragma weak ompt_start_tool
const char *ompt_start_tool(unsigned version)
{
	start_tool *next = (start_tool *)dlsym(RTLD_NEXT, "ompt_start_tool");
	return next ? next(version) : "none";
}
const char *omp_start(void) { const char *a = ompt_start_tool(1), *b = ompt_start_tool(1); return a == b ? a : "two"; }
'''


@pytest.mark.parametrize('level', ['-O0', '-O2'])
@pytest.mark.parametrize('build', BUILDS)
def test_a_weak_function_that_forwards_twice(run, compile_c, tmp_path, level, build):
    """LLVM's OpenMP asks for the next ompt_start_tool; a hook that answered with its caller's own looped in PyTorch."""
    compile_c(OMPT, level, '-ldl', shared=True, name='omp')
    compile_c('const char *ompt_start_tool(unsigned v) { return "tool"; }', shared=True, name='tool')
    main = '#include <stdio.h>\nconst char *omp_start(void);\nint main(void) { puts(omp_start()); return 0; }'
    for libraries, answer in ((['-lomp'], 'none'), (['-lomp', '-Wl,--no-as-needed', '-ltool'], 'tool')):
        program = compile_c(main, level, f'-L{tmp_path}', *libraries, f'-Wl,-rpath,{tmp_path}')
        assert run(program, preload=()).out == f'{answer}\n'
        assert run(program, preload=(built(build),)).out == f'{answer}\n'


SCOPE_PLUGIN = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int only_in_dependency(void);
int plugin_run(unsigned unused)
{
	Dl_info info;
	void *p = dlsym(RTLD_DEFAULT, "only_in_dependency"), *cu = dlsym(RTLD_DEFAULT, "cuInit");
	dladdr(cu, &info);
	printf("%s, cuInit in %s\n", p == (void *)only_in_dependency ? "own scope" : "not found",
	       strrchr(info.dli_fname, '/') + 1);
	return 0;
}
'''


@pytest.mark.parametrize('build', BUILDS)
def test_rtld_default_of_a_plugin_sees_its_own_scope(run, compile_c, tmp_path, build):
    compile_c('int only_in_dependency(void) { return 1; }', shared=True, name='dependency')
    plugin = compile_c(SCOPE_PLUGIN, f'-L{tmp_path}', '-ldependency', '-ldl', f'-Wl,-rpath,{tmp_path}',
                       '-Wl,--no-as-needed', '-lcuda',
                       shared=True, name='scope')
    bare = run('tests/e2e/load_plugins', f'local:1:{plugin}', preload=())
    assert bare.out.splitlines()[0] == 'own scope, cuInit in libcuda.so.1'
    hooked = run('tests/e2e/load_plugins', f'local:1:{plugin}', preload=(built(build),))
    assert hooked.out.splitlines()[0] == 'own scope, cuInit in libcudaspy.so'


WEAK = r'''
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#pragma weak cuInit
#pragma weak cuCtxSynchronize
#pragma weak cuMemAlloc_v2
#pragma weak cuGetProcAddress_v2
int main(void)
{
	CUdeviceptr p;
	void *f;
	int (*by_default)(unsigned) = (int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
	if (!cuInit || !by_default)
		return printf("no driver\n"), 0;
	printf("%d %d %d", cuInit(0), cuCtxSynchronize(), cuMemAlloc_v2(&p, 1));
	printf(" %d %d\n", cuGetProcAddress_v2("cuInit", &f, 12000, 0, NULL), by_default(0));
	return 0;
}
'''


def test_weak_references_without_a_driver(run, compile_c, tmp_path):
    """With us they are there, and say what the lack of a driver means: no device, not initialised."""
    empty = tmp_path / 'empty'
    empty.mkdir()
    program = compile_c(WEAK, '-ldl')
    assert run(program, sim=empty, preload=()).out == 'no driver\n'
    result = run(program, sim=empty)
    assert result.out == '100 3 3 3 100\n'
    assert result.recordings == [] and result.err == ''


def test_weak_references_with_a_driver(run, compile_c):
    """Nobody has loaded it: the first call does."""
    result = run(compile_c(WEAK, '-ldl'))
    assert result.out.split()[0] == '0' and result.out.split()[3:] == ['0', '0'], result.out
    assert result.truth['apis']['cuInit']['calls'] == 2


def test_tools_get_the_real_functions(run):
    """What a profiler's library calls is none of the program's."""
    result = run('tests/e2e/load_plugins', f'local:2:{PROGRAMS}/libplugin_dlsym.so', f'local:5:{PROGRAMS}/libcupti-fake.so')
    assert result.status == 0, result.out
    assert result.truth['totals']['launches'] == 7
    assert result.report['totals']['launches'] == 2
    assert counts(result)['cuLaunchKernel'] == 2
    assert result.report['gaps'] == []
