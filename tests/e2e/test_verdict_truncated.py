"""A verdict of a run that was cut short, that lost records or whose GPU was not timed is never a wrong one of high confidence.

Every sample runs three times: killed 50 ms after it began, with rings far too small, and with CUDASPY_GPU=off. Whatever the
machine makes of that, the report says the expected class, less than high confidence, or that it does not know.
"""
import signal
import subprocess
import time

import pytest

from conftest import ROOT, SAMPLES, environment, report
from test_verdicts import EXPECT, SPEAKING

SIMULATED = {'SIM_DATA_MIB': '0', 'SIM_LAUNCH_LOCK': '1'}


@pytest.fixture(scope='module')
def expected(tmp_path_factory):
    """The class that a sample announces."""
    said = {}

    def go(name):
        if name not in said:
            folder = tmp_path_factory.mktemp(name)
            out = subprocess.run([SAMPLES / 'sim' / name], cwd=folder, stdout=subprocess.PIPE, check=True, timeout=300,
                                 universal_newlines=True, env=environment(folder, preload=(), **SIMULATED)).stdout
            said[name] = [value for key, value in EXPECT.findall(out) if key == 'verdict']
        if not said[name]:
            pytest.skip('the sample leaves its class open')
        return said[name][0]

    return go


# Of a pair that gains the same, a busy machine makes one the larger: that is then no wrong class.
PAIRS = {'mixed': ('mixed', 'host-bound', 'sync-bound')}


def assert_modest(verdict, expected):
    if verdict['confidence'] == 'high':
        assert verdict['class'] in (*PAIRS.get(expected, (expected,)), 'inconclusive'), verdict


@pytest.mark.parametrize('name', SPEAKING)
def test_killed_early(tmp_path, expected, name):
    process = subprocess.Popen([SAMPLES / 'sim' / name], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=environment(tmp_path, CUDASPY_GPU='sample', **SIMULATED))
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob('*.cudaspy')) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    recording, = tmp_path.glob('*.cudaspy')
    assert_modest(report(recording)['verdict'], expected(name))


@pytest.mark.parametrize('name', SPEAKING)
def test_records_lost(run, expected, name):
    r = run(SAMPLES / 'sim' / name, CUDASPY_GPU='sample', CUDASPY_RING='64', **SIMULATED)
    assert r.status == 0, r.out + r.err
    said = r.report
    assert_modest(said['verdict'], expected(name))
    if said['lost']['share'] > 0.3:
        assert said['verdict']['class'] == 'inconclusive'


@pytest.mark.parametrize('name', SPEAKING)
def test_without_gpu_times(run, expected, name):
    r = run(SAMPLES / 'sim' / name, CUDASPY_GPU='off', **SIMULATED)
    assert r.status == 0, r.out + r.err
    assert_modest(r.report['verdict'], expected(name))
