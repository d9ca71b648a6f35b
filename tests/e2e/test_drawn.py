# SPDX-License-Identifier: Apache-2.0
"""What exports draw of a kernel and what the report says that it takes are the same, and the GPU is busy as long in both."""
import contextlib
import sqlite3
import subprocess

import pytest

from conftest import REPORTER, VIRTUAL_TIME, report

# The timeline knows the end of work by waits, whose return it knows to about a microsecond.
NEAR_NS = 1500
NEAR = 0.10

PROGRAMS = ('alloc_every_step', 'copy_back_and_forth', 'copy_not_overlapped', 'copy_not_overlapped_fixed', 'device_sync', 'device_sync_fixed',
            'dominant_kernel', 'dominant_kernel_fixed', 'driver_api', 'first_launches', 'first_launches_fixed', 'host_starves_gpu',
            'host_starves_gpu_fixed', 'implicit_sync', 'implicit_sync_fixed', 'legacy_stream', 'legacy_stream_fixed', 'low_occupancy',
            'many_small_copies', 'many_tiny_launches', 'one_big_kernel', 'pageable_copies', 'pinned_overlap', 'streams', 'sync_every_step',
            'sync_every_step_fixed', 'sync_too_early', 'sync_too_early_fixed')


# Which pieces are sampled is by chance, and in 1 to 2 % of runs the first dozens of dominant_kernel are drawn one place off.
TRIES = 3


def wrong(run, tmp_path, program):
    """The kernels whose drawn time is not the report's."""
    r = run(f'samples/sim/{program}', CUDASPY_GPU='sample', CUDASPY_TRACE=1, **VIRTUAL_TIME)
    assert r.status == 0, r.err
    out = tmp_path / 'a.sqlite'
    out.unlink(missing_ok=True)
    subprocess.run([REPORTER, 'export', '-f', 'sqlite', '-o', out, r.recording], check=True, timeout=120)
    with contextlib.closing(sqlite3.connect(out)) as db:
        drawn = {name: (count, total) for name, count, total in db.execute(
            'SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = demangledName GROUP BY 1')}
    kernels = [k for k in report('-n', 'all', r.recording)['kernels'] if k['gpu_low_ns'] is not None]
    off = []
    for k in kernels:
        count, total = drawn[k['name']]
        low, high = (k[key] / k['launches'] for key in ('gpu_low_ns', 'gpu_high_ns'))
        near = NEAR_NS + NEAR * k['gpu_mean_ns']
        assert count == k['launches']
        if not low - near <= total / count <= high + near:
            off.append((k['name'], total / count, low, high))
    r.recording.unlink()
    return off


@pytest.mark.parametrize('program', PROGRAMS)
def test_drawn_time_is_the_reports(run, tmp_path, program):
    """Also where the launch queue is full: which piece had ended is known there by some pieces only."""
    for _ in range(TRIES):
        off = wrong(run, tmp_path, program)
        if not off:
            break
    assert not off
