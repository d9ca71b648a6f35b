# SPDX-License-Identifier: Apache-2.0
"""A verdict of a run that was cut short, that lost records or whose GPU was not timed is never a wrong one of high confidence.

Every sample runs three times: killed 50 ms after it began, with rings far too small, and with CUDASPY_GPU=off. The report
says the expected class, less than high confidence, or that it does not know.
"""
import signal
import subprocess

import pytest

from conftest import SAMPLES, environment, report
from test_verdicts import EXPECT, SPEAKING, ways_to_run


@pytest.fixture(scope='module')
def expected(tmp_path_factory):
    """The class that a sample announces."""
    said = {}

    def go(name):
        if name not in said:
            folder = tmp_path_factory.mktemp(name)
            out = subprocess.run([SAMPLES / 'sim' / name], cwd=folder, stdout=subprocess.PIPE, check=True, timeout=300,
                                 universal_newlines=True, env=environment(folder, **ways_to_run(name))).stdout
            said[name] = [value for key, value in EXPECT.findall(out) if key == 'verdict']
        if not said[name]:
            pytest.skip('the sample leaves its class open')
        return said[name][0]

    return go


def assert_modest(verdict, expected):
    if verdict['confidence'] == 'high':
        assert verdict['class'] in (expected, 'inconclusive'), verdict


@pytest.mark.parametrize('name', SPEAKING)
def test_killed_early(tmp_path, expected, name):
    wanted = expected(name)
    p = subprocess.run([SAMPLES / 'sim' / name], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=300,
                       env=environment(tmp_path, CUDASPY_GPU='sample', VIRTUAL_CLOCK_KILL_MS=50, **ways_to_run(name)))
    assert p.returncode == (0 if name == 'too_short' else -signal.SIGKILL)
    recording, = tmp_path.glob('*.cudaspy')
    assert_modest(report(recording)['verdict'], wanted)


@pytest.mark.parametrize('name', SPEAKING)
def test_records_lost(run, expected, name):
    r = run(SAMPLES / 'sim' / name, CUDASPY_GPU='sample', **{**ways_to_run(name), 'CUDASPY_RING': '64'})
    assert r.status == 0, r.out + r.err
    said = r.report
    assert_modest(said['verdict'], expected(name))
    if said['lost']['share'] > 0.3:
        assert said['verdict']['class'] == 'inconclusive'


@pytest.mark.parametrize('name', SPEAKING)
def test_without_gpu_times(run, expected, name):
    r = run(SAMPLES / 'sim' / name, CUDASPY_GPU='off', **ways_to_run(name))
    assert r.status == 0, r.out + r.err
    assert_modest(r.report['verdict'], expected(name))
