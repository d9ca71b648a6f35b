# SPDX-License-Identifier: Apache-2.0
"""Copies of pageable memory, sampled: no event pair stands around them, their calls tell what they take on the GPU.

The simulated driver takes them through its buffers piece by piece (tests/sim/driver_stage.c), at the speed of the link that
the simulated NVML tells; what it says of the GPU's time is the truth. In virtual time.
"""
import pytest

from conftest import SIM, VIRTUAL_TIME

KIB, MIB = 1 << 10, 1 << 20
SAMPLED = {'CUDASPY_GPU': 'sample', 'SIM_DATA_MIB': 0, **VIRTUAL_TIME}


def pageable(r, direction):
    row, = [c for c in r.report['copies'] if (c['direction'], c['host_memory']) == (direction, 'pageable')]
    return row


def truth_of(r):
    """Busy time and the copies' part of it, ns."""
    device, = r.truth['devices'][:1]
    return device['busy_ns'], device['copy_ns']


def assert_close(r, rel=0.1):
    busy, copies = truth_of(r)
    gpu = r.report['gpu']
    rows = [c for c in r.report['copies'] if c['host_memory'] == 'pageable']
    assert sum(c['gpu_total_ns'] for c in rows) == pytest.approx(copies, rel=rel)
    assert sum(c['gpu_low_ns'] for c in rows) < copies < sum(c['gpu_high_ns'] for c in rows)
    assert gpu['busy_ns'] == pytest.approx(busy, rel=rel)
    assert gpu['busy_low_ns'] < busy < gpu['busy_high_ns']
    for row in rows:
        assert row['gpu_known_share'] == 1 and row['samples'] == row['count']


def test_a_program_of_pageable_copies(run):
    """Busy time, copies and why the GPU was idle, as CUPTI's records say them."""
    r = run('pageable_copies', 300, **SAMPLED)
    assert_close(r, 0.05)
    assert r.report['verdict']['class'] == 'copy-bound'


def shares(report):
    """Of the window: the GPU busy, and idle by each cause."""
    gpu = report['gpu']
    return {what: ns / report['window_ns'] for what, ns in dict(gpu['idle_by'], busy=gpu['busy_ns']).items()}


@pytest.mark.parametrize('program, steps', [('pageable_copies', 300), ('implicit_sync', 2000)])
def test_beside_cupti(run, program, steps):
    """Each share of the time is within 5 points of what the exact times make it. A kernel starts 1.8 us after its launch's
    return, as on an H200."""
    if not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    settings = dict(SAMPLED, SIM_LATENCY_NS=4300)
    r = run(program, steps, **settings)
    sampled = shares(r.report)
    r.recording.unlink()
    exact = run(program, steps, sim=f'{SIM}:{SIM}/cupti13', **dict(settings, CUDASPY_GPU='cupti')).report
    assert exact['gpu']['mode'] == 'cupti'
    for what, share in shares(exact).items():
        assert sampled[what] == pytest.approx(share, abs=0.05), what


@pytest.mark.parametrize('how', ['sync', 'async'])
@pytest.mark.parametrize('way', ['in', 'out'])
@pytest.mark.parametrize('size', [96 * KIB, 256 * KIB, 768 * KIB, MIB, 3 * MIB // 2, 2 * MIB, 5 * MIB, 32 * MIB])
def test_all_sizes(run, size, way, how):
    r = run('tests/e2e/staged', 40, size, way, how, 0, **SAMPLED)
    assert_close(r)


@pytest.mark.parametrize('size', [4, 4 * KIB, 64 * KIB])
def test_small_ones_to_the_host(run, size):
    assert_close(run('tests/e2e/staged', 200, size, 'out', 'sync', 0, **SAMPLED))


@pytest.mark.parametrize('kernel_us', [20, 300, 2000])
@pytest.mark.parametrize('way', ['in', 'out'])
@pytest.mark.parametrize('size', [4, 256 * KIB, 4 * MIB])
def test_with_work_ahead(run, size, way, kernel_us):
    """The call waits for the kernel first: useful, and no time of the copy's. One to the device that finds a free buffer does
    not, and it finds one where the kernel is short."""
    if (size, way) == (4, 'in'):
        size = 96 * KIB  # what is smaller travels with the command
    r = run('tests/e2e/staged', 200, size, way, 'async', 1000 * kernel_us, **SAMPLED)
    assert_close(r)
    host = r.report['host']
    waited = r.truth['totals']['implicit_wait_ns'] + r.truth['totals']['sync_wait_ns']
    useful = host['sync_useful_ns'] + host['sync_wasted_ns']
    assert useful == pytest.approx(waited, rel=0.1, abs=200 * 4000)  # its start may be some us off in each step
    waits = 0 if way == 'in' and size <= 2 * MIB and kernel_us == 20 else 200
    assert r.report['totals']['implicit_syncs'] == pytest.approx(waits, abs=10)


def test_a_slower_bus(run):
    """PCIe 3 x8: half of what the host stages goes over it in that time."""
    link = {'SIM_NVML_GEN': 3, 'SIM_NVML_GEN_MAX': 3, 'SIM_NVML_WIDTH': 8, 'SIM_PCIE_GBPS': 0.877 * 7.88}
    for size in (512 * KIB, 4 * MIB):
        for way in ('in', 'out'):
            r = run('tests/e2e/staged', 40, size, way, 'async', 0, **dict(SAMPLED, **link))
            assert_close(r)
            for file in r.recordings:
                file.unlink()


def test_an_unknown_bus(run):
    """NVML cannot be asked: what the call alone tells is said, with its doubt, and small copies are not known."""
    unknown = {'SIM_NVML_INIT': 9}
    r = run('tests/e2e/staged', 40, 8 * MIB, 'out', 'async', 0, **dict(SAMPLED, **unknown))
    row, (_, copies) = pageable(r, 'DtoH'), truth_of(r)
    assert row['gpu_low_ns'] < copies < row['gpu_high_ns']
    r.recording.unlink()
    r = run('tests/e2e/staged', 40, 64, 'out', 'async', 0, **dict(SAMPLED, **unknown))
    row = pageable(r, 'DtoH')
    assert row['gpu_total_ns'] is None and row['gpu_known_share'] == 0
