# SPDX-License-Identifier: Apache-2.0
"""Rings under load: what was written was drained, counted as lost, or is left; no record torn; ThreadSanitizer silent."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD

# threads, calls of each, records of a ring at most, the collector's pause in us, generations of threads
SCENES = {
    'rings grow, nothing need be lost': (4, 50000, 65536, 100, 1),
    'rings overflow, nobody collects for a second': (4, 50000, 2048, 1000000, 1),
    'rings overflow now and then': (4, 50000, 2048, 1000, 1),
    'smallest rings, collector at its heels': (3, 50000, 64, 0, 1),
    'one thread, nothing need be lost': (1, 100000, 65536, 0, 1),
    'threads come and go, slots are taken over': (16, 300, 512, 500, 25),
}


def run(program, *arguments):
    cmd = [BUILD / 'stress' / program, *map(str, arguments)]
    env = dict(os.environ, TSAN_OPTIONS='exitcode=66 halt_on_error=0')
    p = subprocess.run(cmd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=900, universal_newlines=True)
    if 'unexpected memory mapping' in p.stdout and shutil.which('setarch'):
        # An old ThreadSanitizer under a kernel that spreads mappings wider than it knows.
        p = subprocess.run(['setarch', '-R', *cmd], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=900, universal_newlines=True)
        if 'unexpected memory mapping' in p.stdout or 'failed to set personality' in p.stdout:
            pytest.skip('ThreadSanitizer does not run under this kernel: ' + p.stdout.strip())
    return p


@pytest.mark.parametrize('scene', SCENES)
@pytest.mark.parametrize('kind', ('plain', 'tsan'))
def test_ring(kind, scene):
    threads, calls, ring, _, generations = SCENES[scene]
    p = run(f'ring_stress_{kind}', *SCENES[scene])
    assert 'WARNING: ThreadSanitizer' not in p.stdout, p.stdout
    assert p.returncode == 0, p.stdout
    sums = {k: int(v) for k, v in re.findall(r'(\w+)=(\d+)', p.stdout)}
    assert sums['complaints'] == 0
    assert sums['calls'] == threads * calls * generations
    assert sums['calls'] + sums['nested'] == sums['drained'] + sums['lost']
    assert sums['drained'] >= threads * min(ring, 512)  # with 512, past the counters' wrap: it is at 200
    if 'nothing need be lost' in scene:
        assert sums['lost'] == 0  # the chain of growing rings has room for all
    if 'nobody collects' in scene:
        assert sums['lost'] > 0
    if generations > 1:
        assert sums['slots'] < threads * generations


def test_what_is_known_of_memory():
    p = run('ranges_tsan')
    assert 'WARNING: ThreadSanitizer' not in p.stdout, p.stdout
    assert p.returncode == 0, p.stdout
