# SPDX-License-Identifier: Apache-2.0
"""make bench, in small: every row is there, measured or skipped for a reason. What it measures is not judged here."""
import re
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT
from e2e import browser as chromium

ROWS = ('floor: two clock reads, one 64-byte store',
        'cuLaunchKernel, bare', 'cuLaunchKernel, passed on and nothing else', 'cuLaunchKernel, cudaspy',
        'cuLaunchKernel, pair of LTTng-UST tracepoints', 'cuLaunchKernel, uftrace',
        'cuMemcpyHtoDAsync pinned, bare', 'cuMemcpyHtoDAsync pinned, cudaspy',
        'cuStreamSynchronize, bare', 'cuStreamSynchronize, cudaspy',
        'cuMemAllocAsync or cuMemFreeAsync, bare', 'cuMemAllocAsync or cuMemFreeAsync, cudaspy',
        'cudaLaunchKernel, static runtime, bare', 'cudaLaunchKernel, static runtime, cudaspy')


@pytest.fixture(scope='module')
def lines():
    p = subprocess.run([BUILD / 'bench' / 'bench', '--quick', BUILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=600, universal_newlines=True)
    assert p.returncode == 0, p.stdout + p.stderr
    return p.stdout.splitlines()


@pytest.mark.parametrize('row', ROWS)
def test_row(lines, row):
    found = [line[len(row):] for line in lines if line.startswith(row + '  ')]
    assert len(found) == 1, lines
    if 'skipped: ' in found[0]:
        assert row.endswith(('tracepoints', 'uftrace'))
        pytest.skip(found[0].strip())
    median, low, high = map(float, re.match(r' +([\d.]+) +([\d.]+) \.\. *([\d.]+)', found[0]).groups())
    assert 0 < low <= median <= high
    if 'bare' not in row and 'floor' not in row:
        assert re.search(r'floor [+-][\d.]+$', found[0])


def test_bars_are_judged(lines):
    bars = [line for line in lines if line.endswith(('PASS', 'FAIL'))]
    assert len([line for line in bars if 'floor + 25 ns' in line]) == 5
    assert [line for line in lines if 'quarter of' in line]
    assert len([line for line in bars if ' of at most 1 s' in line or 'of at most 300 MiB' in line]) == 2
    assert len([line for line in bars if ' a second of CPU time, at least 1 ' in line]) == 2
    assert len([line for line in bars if 'of at most 400 MiB' in line]) == 2
    assert len([line for line in bars if line.startswith('  own memory, a tenth -> all')]) == 9
    assert [line for line in bars if line.startswith('  size of the page') and line.endswith('PASS')]
    usable, = [line for line in lines if line.startswith('  until it can be used')]
    assert usable in bars if chromium.find() else 'no chromium' in usable


def test_all_calls_were_recorded_and_nothing_left_lying(lines):
    recorded = re.search(r'cudaspy recorded (\d+) calls, \d+ records lost', '\n'.join(lines))
    # 5 kinds of call, 4 rounds, 2 bursts of 500; what starts CUDA comes on top. A ring that was full makes no difference.
    assert int(recorded[1]) >= 5 * 4 * 2 * 500
    assert not list((BUILD / 'bench').glob('run-*'))


@pytest.mark.parametrize('mode', ('off', 'sample'))
def test_collector(lines, mode):
    found, = [line for line in lines if line.startswith(f'collector, CUDASPY_GPU={mode}  ')]
    assert re.search(r'  -?[\d.]+ ns a record  \(', found) # so few calls tell no more
    idle, = [line for line in lines if line.startswith(f'collector, idle, CUDASPY_GPU={mode}, wakes up ')]
    assert re.search(r'  \d+ times in 1 s  \(', idle)


def test_report_of_the_trace(lines):
    line, = [line for line in lines if line.startswith('cudaspy report  ')]
    wall, mib, calls = re.match(r'cudaspy report +([\d.]+) s +([\d.]+) MiB +(\d+) calls', line).groups()
    assert float(mib) > 0 and int(calls) >= 2 * 8192
    for peer in 'uftrace report', 'babeltrace2':
        assert [line for line in lines if line.startswith(peer)], lines


def test_export_of_the_trace(lines):
    line, = [line for line in lines if line.startswith('cudaspy export, chrome  ')]
    wall, mib, events = re.match(r'cudaspy export, chrome +([\d.]+) s +([\d.]+) MiB +(\d+) events +[\d.]+ s of CPU time$', line).groups()
    assert float(mib) > 0 and int(events) >= 4 * 10000
    assert [line for line in lines if line.startswith('cudaspy export, chrome, compressed')]
    assert [line for line in lines if line.startswith('cudaspy export, sqlite  ')]
    for form in 'chrome', 'sqlite', 'pprof', 'folded', 'openmetrics', 'bmf', 'gha-benchmark', 'csv', 'md':
        line, = [line for line in lines if line.startswith(f'cudaspy export, {form}, 100000 calls  ')]
        assert re.search(r' [\d.]+ s of CPU time +[\d.]+ MiB  (thrown away|[\d.]+ MiB of file)$', line)


def test_stacks():
    """What call sites cost, in small."""
    p = subprocess.run([sys.executable, ROOT / 'tests/bench/sites.py', '--quick', BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, timeout=600, universal_newlines=True)
    assert p.returncode == 0, p.stdout
    assert len(re.findall(r'^report of 1,000 stacks, .*: [\d.]+ s, [\d.]+ s of CPU time$', p.stdout, re.MULTILINE)) == 3, p.stdout
    figures = r'least (\d+) p50 (\d+) p99 (\d+)' # of the clock alone too, in the same loop: what the machine does to the rest
    for kind in 'plain', 'snapshot':
        for cache in 'warm', 'cold':
            found = re.search(rf'^depth 17 {kind} {cache}: {figures} ns, quietest \d+: {figures}; the clock alone: {figures}$', p.stdout, re.M)
            assert found or 'is not read' in p.stdout, p.stdout
            least, p50, p99 = map(int, found.groups()[:3]) if found else (1, 1, 1)
            assert 0 < least <= p50 <= p99
