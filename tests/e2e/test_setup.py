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


def test_pythons_are_pinned_for_both_machines():
    rows = [line.split() for line in (ROOT / 'scripts/setup_pythons.txt').read_text().splitlines() if not line.startswith('#')]
    versions = {what for what, *_ in rows} - {'base'}
    assert versions >= {'3.9', '3.11', '3.13', '3.14', '3.15'}
    for what, release, path, amd64, arm64 in rows:
        assert release in ('bullseye', 'bookworm', 'trixie', 'sid') and re.fullmatch(r'[a-z]+/[a-z0-9.-]+/[A-Za-z0-9.+~_-]+', path)
        assert amd64 != arm64 and re.fullmatch(r'[0-9a-f]{64}', amd64) and re.fullmatch(r'[0-9a-f]{64}', arm64)
    for version in versions:
        packages = {path.split('/')[-1].split('_')[0] for what, _, path, *_ in rows if what == version}
        assert packages >= {f'libpython{version}-minimal', f'libpython{version}-stdlib', f'python{version}-minimal'}


def test_pythons_that_are_there_run():
    """Those that were fetched, by name and version; a version the machine has is not fetched."""
    folder = ROOT / 'build/deps/pythons'
    found = sorted(folder.glob('3.*/usr/bin/python3.*')) if folder.exists() else []
    if not found:
        pytest.skip('scripts/setup --test fetched none')
    for path in found:
        p = subprocess.run([path, '-c', 'import sys, ctypes; print("%d.%d" % sys.version_info[:2])'], stdout=subprocess.PIPE,
                           universal_newlines=True)
        assert p.returncode == 0 and p.stdout.strip() == path.name[len('python'):]


def test_a_package_of_other_content_is_refused(tmp_path):
    """By its checksum, before anything of it is unpacked."""
    import hashlib
    import http.server
    import importlib.util
    import threading

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self): # noqa: N802
            there = not self.path.endswith('gone.deb')
            self.send_response(200 if there else 404)
            self.end_headers()
            self.wfile.write(b'something' if there else b'')

        def log_message(self, *a):
            pass

    spec = importlib.util.spec_from_file_location('setup_pythons', ROOT / 'scripts/setup_pythons.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = http.server.HTTPServer(('127.0.0.1', 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f'http://127.0.0.1:{server.server_port}/'
        assert module.download(url + 'a.deb', hashlib.sha256(b'something').hexdigest()) == b'something'
        assert module.download(url + 'gone.deb', '0' * 64) is None
        with pytest.raises(SystemExit, match='not what it should be'):
            module.download(url + 'a.deb', '0' * 64)
    finally:
        server.shutdown()
