# SPDX-License-Identifier: Apache-2.0
"""What goes around us is seen and named in the report: RTLD_DEEPBIND, dlmopen, entries of a newer driver. And no more."""
import pytest

from conftest import BUILD

PROGRAMS = BUILD / 'tests/e2e'


def gaps(result, kind):
    return [g for g in result.report['gaps'] if g['kind'] == kind]


def plugins(*which):
    """load_plugins's arguments: (mode, launches, way) each."""
    return [f'{mode}:{launches}:{PROGRAMS}/libplugin_{way}.so' for mode, launches, way in which]


@pytest.mark.parametrize('way', ['plt', 'dlsym', 'proc'])
def test_deepbind(run, way):
    """Such a plugin binds to glibc's dlsym and to the driver itself. One that is hooked makes the recording."""
    result = run('tests/e2e/load_plugins', *plugins(('local', 2, 'proc' if way != 'proc' else 'plt'), ('deepbind', 3, way)))
    assert result.status == 0, result.out + result.err
    assert result.truth['totals']['launches'] == 5
    assert result.report['totals']['launches'] == 2
    assert [g['name'] for g in gaps(result, 'deepbind')] == [f'libplugin_{way}.so']
    assert len(result.report['gaps']) == 1


def test_a_hooked_plugin_is_no_gap(run):
    result = run('tests/e2e/load_plugins', *plugins(('local', 2, 'plt'), ('global', 3, 'dlsym'), ('local', 4, 'static')))
    assert result.status == 0
    assert result.report['totals']['launches'] == 9
    assert result.report['gaps'] == []


@pytest.mark.parametrize('way', ['plt', 'dlsym'])
def test_a_namespace_of_its_own(run, way):
    """dlmopen() gives a second copy of everything, the driver too, without us."""
    result = run('tests/e2e/load_plugins', *plugins(('local', 2, 'proc'), ('newlm', 3, way)))
    assert result.status == 0, result.out + result.err
    assert 'plugin 2: ok' in result.out
    assert result.report['totals']['launches'] == 2
    (gap,) = gaps(result, 'dlmopen')
    assert gap['name'].startswith('libcuda.so')
    assert len(result.report['gaps']) == 1


NEW_ENTRY = r'''
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
int main(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW), *p;
	__typeof__(cuGetProcAddress_v2) *ask = dlsym(h, "cuGetProcAddress_v2");
	__typeof__(cuInit) *init = dlsym(h, "cuInit");
	CUdriverProcAddressQueryResult s;
	static const char *const getters[] = { "cuDeviceGetAttribute", "cuCtxGetCurrent", "cuDriverGetVersion",
		"cuGetErrorName", "cuPointerGetAttribute", "cuFuncGetAttribute", "cuStreamGetCtx", "cuOccupancyMaxActiveBlocksPerMultiprocessor" };
	if (init(0))
		return 1;
	for (int i = 0; i < ASKS; i++)
		if (ask("cuFutureLaunch", &p, 14000, 0, &s) || !p)
			return 2;
	for (unsigned i = 0; i < sizeof(getters) / sizeof(getters[0]); i++)
		if (ask(getters[i], &p, 14000, 0, &s) || !p || !dlsym(h, getters[i]))
			return 3;
	ask("cuNoSuchCall", &p, 14000, 0, &s);
	BY_DLSYM
	return 0;
}
'''


@pytest.mark.parametrize('asks', [1, 3])
def test_an_entry_of_a_newer_driver(run, compile_c, asks):
    """Named with its version and how often it was asked for; getters, known or new versions of known ones, are none."""
    result = run(compile_c(NEW_ENTRY, f'-DASKS={asks}', '-DBY_DLSYM=', '-ldl'), SIM_NEW_ENTRY=1)
    assert result.status == 0, result.err
    (gap,) = result.report['gaps']
    assert (gap['kind'], gap['name'], gap['count']) == ('new_entry', 'cuFutureLaunch', asks)
    assert gap['version'] == 14000


def test_an_entry_found_by_dlsym(run, compile_c):
    result = run(compile_c(NEW_ENTRY, '-DASKS=0', '-DBY_DLSYM=dlsym(h, "cuFutureLaunch");', '-ldl'), SIM_NEW_ENTRY=1)
    assert result.status == 0, result.err
    (gap,) = result.report['gaps']
    assert (gap['kind'], gap['name'], gap['count']) == ('new_entry', 'cuFutureLaunch', 1)


@pytest.mark.parametrize('program', ['samples/sim/vector_add', 'samples/sim-static/vector_add', 'samples/sim11/vector_add',
                                     'samples/sim/graph_replay', 'samples/sim/driver_api'])
def test_none_on_the_driver_of_our_time(run, program):
    """Each runtime asks for hundreds of functions, getters for the most part."""
    result = run(program)
    assert result.status == 0, result.err
    assert result.report['gaps'] == []
