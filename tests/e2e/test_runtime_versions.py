# SPDX-License-Identifier: Apache-2.0
"""Programs on libcudart 11, 12 and 13, also several of them in one process; the simulated ones and NVIDIA's own.

Each call of the runtime must reach the runtime that its caller was linked with: the kernel of another is unknown there, so
a call gone astray fails.
"""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, SIM

PROGRAMS = BUILD / 'tests/e2e'
REAL = ROOT / 'build/deps/cudart'
SONAMES = {11: 'libcudart.so.11.0', 12: 'libcudart.so.12', 13: 'libcudart.so.13'}


def plugin(which, launches=3, mode='local'):
    return f'{mode}:{launches}:{PROGRAMS}/libplugin_{which}.so'


def runtime_calls(result):
    return {a['name']: a['calls'] for a in result.report['apis'] if a['level'] == 'runtime'}


def check_work(result, versions, launches):
    """`launches` at runtime level and in the driver, by runtimes of these versions in this order."""
    assert result.status == 0, result.out + result.err
    assert [int(v) for v in re.findall(r'^runtime (\d+) launched', result.out, flags=re.M)] == versions
    assert result.truth['totals']['launches'] == result.report['totals']['launches'] == launches
    calls = runtime_calls(result)
    assert calls['cudaLaunchKernel'] == launches
    for name in ('cudaMalloc', 'cudaMemset', 'cudaDeviceSynchronize', 'cudaFree'):
        assert calls[name] == len(versions), name
    assert result.report['gaps'] == []


@pytest.mark.parametrize('version', [11, 12, 13])
@pytest.mark.parametrize('mode', ['local', 'global'])
def test_one_runtime(run, version, mode):
    check_work(run('tests/e2e/load_plugins', plugin(f'runtime_{version}', 4, mode)), [version], 4)


@pytest.mark.parametrize('versions', [(12, 13), (13, 12), (11, 13), (11, 12), (13, 11, 12)])
@pytest.mark.parametrize('mode', ['local', 'global'])
def test_several_runtimes_each_called_by_its_own(run, versions, mode):
    result = run('tests/e2e/load_plugins', *(plugin(f'runtime_{v}', v, mode) for v in versions))
    check_work(result, list(versions), sum(versions))


def test_a_global_runtime_and_a_local_one(run):
    result = run('tests/e2e/load_plugins', plugin('runtime_13', 2, 'global'), plugin('runtime_12', 3))
    check_work(result, [13, 12], 5)


def test_a_bundled_runtime(run):
    """Under a name of its own, as Python wheels carry it: libcudart-d0da41ae.so.12."""
    check_work(run('tests/e2e/load_plugins', plugin('bundled', 6)), [12], 6)


@pytest.mark.parametrize('other', [11, 13])
@pytest.mark.parametrize('mode', ['local', 'global'])
def test_a_bundled_runtime_beside_another(run, other, mode):
    """Neither its soname nor its scope tells which it is, but the version of its symbols does."""
    result = run('tests/e2e/load_plugins', plugin(f'runtime_{other}', 2, mode), plugin('bundled', 3))
    check_work(result, [other, 12], 5)


@pytest.mark.parametrize('way', ['program', 'plugin'])
def test_a_static_runtime(run, way):
    """It has no call to interpose; the driver's calls under it are counted."""
    result = run('tests/e2e/runtime_static', 5) if way == 'program' else run('tests/e2e/load_plugins', plugin('static', 5))
    assert result.status == 0, result.out
    assert result.truth['totals']['launches'] == result.report['totals']['launches'] == 5
    assert runtime_calls(result) == {}
    calls = {a['name']: a['calls'] for a in result.report['apis']}
    assert calls['cuLaunchKernel'] == 5


def test_static_and_shared_together(run):
    result = run('tests/e2e/load_plugins', plugin('static', 5), plugin('runtime_12', 4), plugin('runtime_13', 3))
    assert result.status == 0, result.out
    assert result.truth['totals']['launches'] == result.report['totals']['launches'] == 12
    assert runtime_calls(result)['cudaLaunchKernel'] == 7


@pytest.mark.parametrize('folder', ['sim11', 'sim12', 'sim', 'sim-static', 'sim-ptsz'])
def test_a_linked_program(run, folder):
    result = run(f'samples/{folder}/vector_add', 4)
    assert result.status == 0, result.err
    totals, truth = result.report['totals'], result.truth['totals']
    assert totals['launches'] == truth['launches'] == 4
    assert totals['copies'] == truth['copies'] == 12
    levels = {a['level'] for a in result.report['apis'] if a['class'] == 'launch'}
    assert levels == ({'driver'} if folder == 'sim-static' else {'runtime'})


# ---- NVIDIA's runtimes ----

def real(version):
    """The folder of NVIDIA's libcudart."""
    path = REAL / str(version)
    if not (path / SONAMES[version]).exists():
        pytest.skip(f'{path} has no {SONAMES[version]} (scripts/setup --test fetches it)')
    return path


@pytest.mark.parametrize('version', [11, 12, 13])
def test_a_real_runtime_without_a_driver(run, version):
    program = f'tests/e2e/runtime_calls_{version}'
    bare = run(program, preload=(), sim=real(version))
    hooked = run(program, sim=real(version))
    assert bare.status == hooked.status == 0
    assert f'runtime {version}\n' in bare.out or version == 11  # where even that asks the driver
    failed = re.findall(r'(\w+)\(.* = [1-9]', bare.out)
    assert {'cudaGetDeviceCount', 'cudaMalloc', 'cudaLaunchKernel'} <= set(failed)
    assert hooked.out == bare.out
    assert hooked.recordings == [] and hooked.err == ''


def requests_made(result):
    """How often the simulated driver was asked for functions, and for private tables."""
    return {name: api['calls'] for name, api in result.truth['apis'].items()
            if name.startswith('cuGetProcAddress') or name == 'cuGetExportTable'}


@pytest.mark.parametrize('version', [11, 12, 13])
def test_a_real_runtime_on_the_simulated_driver(run, version):
    """As far as it goes: it may find the simulation out, but it must do so with us as it does without."""
    program = f'tests/e2e/runtime_calls_{version}'
    where = f'{real(version)}:{SIM}'
    bare = run(program, preload=(), sim=where)
    asked = requests_made(bare)
    hooked = run(program, sim=where)
    assert (hooked.status, hooked.out) == (bare.status, bare.out)
    assert sum(asked.values()) > 100 and requests_made(hooked) == asked


@pytest.mark.parametrize('version', [11, 12, 13])
def test_a_real_runtime_asks_for_nothing_unknown(run, version):
    """Its questions to a driver of its time leave no gap, and every name that it holds is in the table."""
    result = run(f'tests/e2e/runtime_calls_{version}', sim=f'{real(version)}:{SIM}', SIM_DRIVER_VERSION=13050)
    assert result.report['gaps'] == []
    names = set(re.findall(rb'\0(cu[A-Z]\w+)(?=\0)', (real(version) / SONAMES[version]).read_bytes()))
    known = set(re.findall(r'^\w+\((\w+)', (ROOT / 'shim/core/format/calls.def').read_text(), flags=re.M))
    assert len(names) > 250
    assert {base(n.decode()) for n in names} - {base(n) for n in known} == set()


def base(name):
    return re.sub(r'(_v\d)?(_pt[ds][sz])?$', '', name)


def test_two_real_runtimes_in_one_process(run):
    where = ':'.join(str(real(v)) for v in (11, 12, 13))
    plugins = [plugin(f'runtime_{v}') for v in (13, 11, 12)]
    bare = run('tests/e2e/load_plugins', *plugins, preload=(), sim=where)
    hooked = run('tests/e2e/load_plugins', *plugins, sim=where)
    assert 'cudaMalloc' in bare.out
    assert (hooked.status, hooked.out) == (bare.status, bare.out)


def runtime_rows(form):
    return set(re.findall(rf'^{form}\((\w+)', (ROOT / 'shim/core/format/calls.def').read_text(), flags=re.M))


@pytest.mark.parametrize('version', [11, 12, 13])
def test_every_runtime_row_is_a_symbol_of_the_real_runtimes(version):
    """A row of a call that a runtime lacks would be a symbol of ours without anything behind it."""
    text = subprocess.run(['nm', '-D', '--defined-only', real(version) / SONAMES[version]], stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout
    symbols = {line.split()[2] for line in text.splitlines() if len(line.split()) == 3}
    names = {s.split('@')[0] for s in symbols if s.endswith('@' + SONAMES[version])}
    assert len(names) > 200
    exported = {line.split('@')[0] for line in (BUILD / 'gen/exports.txt').read_text().split() if line.endswith(SONAMES[version])}
    assert {re.sub(r'_pt[ds][sz]$', '', name) for name in exported} == runtime_rows('RT') | runtime_rows('RT12' if version > 11 else 'RT')
    assert exported - names == set()
    if version == 11:
        assert runtime_rows('RT12') and runtime_rows('RT12') & names == set()
