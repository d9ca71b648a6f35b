# SPDX-License-Identifier: Apache-2.0
"""scripts/setup says what is there and what is not, and what is optional is not built where it is missing. Installs nothing."""
import os
import re
import subprocess

import pytest

from conftest import ROOT, cuda_include

ENV = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'O')}


def output(*command, status=0):
    p = subprocess.run(command, cwd=ROOT, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       universal_newlines=True)
    assert p.returncode == status, p.stdout
    return p.stdout


def test_check_lists_every_item():
    table = output('scripts/setup', '--check')
    items = re.findall(r"^\s*item \S+ (required|optional) '([^']+)'", (ROOT / 'scripts/setup').read_text(), flags=re.M)
    listed = re.findall(r'^\w+ +(required|optional) +(?:found|missing) +(\S+(?: \S+)*)  ', table, flags=re.M)
    assert len(items) > 20 and {('optional', 'NVTX headers'), ('required', 'CUDA headers')} <= set(items)
    # Of a toolkit of the machine CUPTI is no item; on aarch64 its cross build is none.
    assert set(items) - set(listed) <= {('optional', n) for n in ('nvcc', 'CUPTI', 'aarch64 gcc', 'qemu-aarch64')}
    assert set(listed) <= set(items) | {('optional', 'nvcc'), ('optional', 'CUPTI')}


def test_nvtx_headers_are_found_where_the_build_finds_them():
    found = re.search(r'optional +(\w+) +NVTX headers', output('scripts/setup', '--check'))[1]
    p = subprocess.run(['gcc', '-E', '-isystem', cuda_include(), '-isystem', ROOT / 'build/deps/nvtx/include', '-include',
                        'nvtx3/nvToolsExt.h', '-x', 'c', '/dev/null'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert found == ('missing' if p.returncode else 'found')


@pytest.mark.parametrize('nvtx', ['', 'yes'])
def test_without_nvtx_headers_nothing_is_built_that_needs_them(tmp_path, nvtx):
    would = output('make', '-n', f'O={tmp_path}', f'NVTX={nvtx}', 'unit-build', 'e2e-build')
    for name in 'tests/unit/test_nvtx', 'tests/e2e/nvtx_ranges', 'tests/e2e/nvtx_helper':
        assert (f'{tmp_path}/{name}' in would) == bool(nvtx), name
    assert f'{tmp_path}/tests/e2e/steps' in would


def test_without_lttng_nothing_is_built_that_needs_it(tmp_path):
    assert 'work_lttng' not in output('make', '-n', f'O={tmp_path}', 'BENCH_LTTNG=', 'bench-build')
    assert 'work_lttng' in output('make', '-n', f'O={tmp_path}', 'BENCH_LTTNG=yes', 'bench-build')


def test_readers_are_pinned():
    """Each with one version, and the hash of a wheel for each Python that Debian 12 and 13 have."""
    text = (ROOT / 'scripts/setup_readers.txt').read_text()
    lines = [line for line in text.replace('\\\n', ' ').splitlines() if not line.startswith('#')]
    assert {line.split('==')[0] for line in lines} >= {'holistictraceanalysis', 'nsys-ai', 'viztracer'}
    for line in lines:
        assert re.fullmatch(r'[a-z0-9-]+==[0-9a-z.]+(\s+--hash=sha256:[0-9a-f]{64}){1,2}\s*', line), line


def test_packages_are_pinned_for_both_machines():
    rows = [line.split() for line in (ROOT / 'scripts/setup_wheels.txt').read_text().splitlines() if not line.startswith('#')]
    assert len(rows) >= 11
    for group, package, platform, x86, arm in rows:
        assert re.fullmatch(r'headers|nvcc|cupti|nvtx|cudart/1[123]|clang-format', group)
        assert re.fullmatch(r'(nvidia|clang)-[a-z0-9-]+==[0-9.]+', package) and platform.startswith('manylinux')
        assert x86 != arm and re.fullmatch(r'[0-9a-f]{64}', x86) and re.fullmatch(r'[0-9a-f]{64}', arm)
    toolkit = {package.split('==')[1].rsplit('.', 1)[0] for group, package, *_ in rows
               if group in ('headers', 'cudart/13') or package.startswith('nvidia-cuda-nvcc')}
    assert toolkit == {'13.5'} # of one release
