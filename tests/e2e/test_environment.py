# SPDX-License-Identifier: Apache-2.0
"""What NVML says of the devices: read at the start and at exit, named where something is wrong, and harmless whatever it does.

The simulated NVML (tests/sim/nvml.c) lies beside the simulated driver and answers as SIM_NVML_... says.
"""
import contextlib
import ctypes.util
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import against_truth
from conftest import BUILD, REPORTER, ROOT, SAMPLES, SHIM, SIM, VIRTUAL_TIME, environment, report
from test_lifecycle import LAUNCHES

SHORT = LAUNCHES + 'int main(void) { work_start(); work_launches(100); CHECK(cuCtxSynchronize()); return 0; }'
STEADY = BUILD / 'tests/e2e/steady'
HEALTHY = {'sm_clock_mhz': 1980, 'power_limit_mw': 700000, 'temperature_c': 45, 'ecc_uncorrected': 0, 'pcie_generation': 5,
           'pcie_width': 16, 'throttle_reasons': [], 'mig': 0}
LATE = 'readings of NVML that failed or came too late (1)'


@pytest.fixture
def go(run, compile_c):
    """go(SIM_NVML_ECC='3') runs that program, which comes to no harm, and returns what ran."""
    program = compile_c(SHORT, '-lcuda', '-I', str(ROOT))

    def running(**variables):
        started = time.monotonic()
        # At the end NVML is waited for, for 100 ms: of time that a machine standing still does not use up.
        r = run(program, **({} if 'SIM_NVML_SLOW_MS' in variables else VIRTUAL_TIME), **variables)
        assert r.status == 0, r.out
        if 'CUDASPY_GPU' not in variables: # else the sampler's calls are in the truth too
            against_truth.assert_same_calls(r.report, r.truth)
        assert r.report['totals']['launches'] == 100
        r.seconds = time.monotonic() - started
        return r

    return running


def text(r):
    p = subprocess.run([REPORTER, 'report', '--all', r.recording], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return ' '.join(p.stdout.split())


def asked(path):
    """(process, thread, function) of every call that NVML got."""
    return [line.split() for line in path.read_text().splitlines()]


# ---- what it says ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('mode', ['off', 'sample'])
def test_a_healthy_device(go, mode):
    r = go() if mode == 'off' else go(CUDASPY_GPU=mode)
    found = r.report['environment']
    assert found['known'] and found['reason'] is None
    assert found['troubles'] == []
    assert found['kernel_driver_version'] == '580.95.05'
    device, = found['devices']
    assert (device['index'], device['pci_bus_id'], device['used']) == (0, '0000:01:00.0', True)
    assert device['uuid'].startswith('GPU-')
    for reading in device['start'], device['exit']:
        assert {key: reading[key] for key in HEALTHY} == HEALTHY
        assert reading['other_processes'] in (0, None)  # a container hides those outside
        assert reading['cost_ns'] >= 0
    assert 0 < device['between_ns'] <= r.report['wall_ns']
    assert device['power_capped_share'] == 0
    assert 'environment GPU 0 at exit: 1980 of 1980 MHz, 310 of 700 W, 45 C, PCIe generation 5 x16' in text(r)
    assert not [w for w in r.report['warnings'] if 'NVML' in w]


TROUBLES = {
    'power cap': (dict(SIM_NVML_CAPPED='5:999999999999', SIM_NVML_PROCESSES='x'),
                  'GPU 0: its work drew all its power (700 W), which held its clocks down for 100 % of the '),
    'temperature': (dict(SIM_NVML_REASONS=0x20), 'GPU 0: its clocks were held down at start or exit: temperature'),
    'slowdown at exit': (dict(SIM_NVML_REASONS='0:0x88'), 'GPU 0: its clocks were held down at exit: external power brake'),
    'lowered limit': (dict(SIM_NVML_LIMIT=400000), 'GPU 0: its power limit is 400 W, 700 W is the default'),
    'other processes': (dict(SIM_NVML_PROCESSES='own,3999999998,3999999999'),
                        'GPU 0: 2 other processes on it at exit (3999999998, 3999999999), with 2.00GiB of its memory'),
    'memory errors': (dict(SIM_NVML_ECC='2:5'),
                      'GPU 0: 5 uncorrected memory errors (ECC) since its driver was loaded, 3 of them during this run'),
    'narrow link': (dict(SIM_NVML_WIDTH=8),
                    'GPU 0: its PCIe link was of generation 5 x8 while it worked; 5 x16 is possible'),
    'slow link': (dict(SIM_NVML_GEN=3), 'GPU 0: its PCIe link was of generation 3 x16 while it worked; 5 x16 is possible'),
}


@pytest.mark.parametrize('what', TROUBLES)
def test_each_trouble_is_named(go, what):
    variables, sentence = TROUBLES[what]
    r = go(**variables)
    found, = r.report['environment']['troubles']
    assert found.replace('100.0 %', '100 %').startswith(sentence), found
    assert f'environment {found}' in text(r)


@pytest.mark.parametrize('limit, severity, title, evidence', [
    (700000, 'info', "The GPU's work draws all the power that it may", 'GPU 0: its work drew all its power (700 W), which held '),
    (400000, 'high', 'Something outside the program holds it up', 'GPU 0: the power limit (400 W) held its clocks down for ')])
def test_its_own_power_holds_no_program_up(go, limit, severity, title, evidence):
    """Work that takes all the power by default is no fault of what is around it; where the limit was lowered, that is."""
    r = go(SIM_NVML_CAPPED='5:999999999999', SIM_NVML_PROCESSES='x', SIM_NVML_LIMIT=limit)
    found, = [f for f in r.report['findings'] if f['id'] == 'environment']
    assert found['severity'] == severity and found['title'].startswith(title) and found['evidence'].startswith(evidence)
    assert ('nvidia-smi' in found['fix']) == (severity == 'high')


def test_power_that_others_drew(go):
    """Clocks were held down for longer than the program had work: then that is not said to have done it."""
    r = go(SIM_NVML_CAPPED='5:999999999999', CUDASPY_GPU='sample')
    found, = [f for f in r.report['findings'] if f['id'] == 'environment']
    assert found['title'] == 'Something outside the program may hold it up' and found['severity'] == 'low'
    assert found['evidence'].startswith('GPU 0: other work drew all its power (700 W): ')


@pytest.mark.parametrize('what', [dict(SIM_NVML_GEN=1, SIM_NVML_UTILIZATION=0), dict(SIM_NVML_REASONS=0x113),
                                  dict(SIM_NVML_PROCESSES='own,3999999999', SIM_NVML_MIG=1)])
def test_what_is_no_trouble(go, what):
    """A link that sleeps while the GPU is idle; clocks that a user set; others on a device in instances."""
    assert go(**what).report['environment']['troubles'] == []


def test_an_old_driver(run, compile_c):
    program = compile_c(SHORT, '-lcuda', '-I', str(ROOT))
    r = run(program, preload=(SHIM, SIM / 'libcudart.so.13'), SIM_DRIVER_VERSION=12020)
    assert r.status == 0, r.err
    trouble, = r.report['environment']['troubles']
    assert trouble.startswith("the driver is of CUDA 12.2, older than the runtime's 13.")


def test_only_devices_with_work_are_judged(go):
    r = go(SIM_DEVICES=3, SIM_NVML_DEVICE=1, SIM_NVML_ECC=7)
    found = r.report['environment']
    assert [(d['index'], d['used']) for d in found['devices']] == [(0, True), (1, False), (2, False)]
    assert found['devices'][1]['start']['ecc_uncorrected'] == 7
    assert found['troubles'] == []


def test_what_is_not_told_is_null(go):
    """A container may be refused, an older GPU may not know."""
    r = go(SIM_NVML_SM='x', SIM_NVML_REASONS='x', SIM_NVML_PROCESSES='x', SIM_NVML_CAPPED='x', SIM_NVML_ECC='x')
    device, = r.report['environment']['devices']
    for key in ('sm_clock_mhz', 'throttle_reasons', 'throttle_reason_bits', 'other_processes', 'other_pids', 'ecc_uncorrected'):
        assert device['exit'][key] is None
    assert device['power_capped_share'] is None
    assert device['exit']['temperature_c'] == 45
    assert 'n/a of 1980 MHz' in text(r)


# ---- CPUs ------------------------------------------------------------------------------------------------------------

def pin():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextlib.contextmanager
def spinning(count):
    """So many processes that want the CPU of pin() for themselves."""
    spinners = [subprocess.Popen([sys.executable, '-c', 'while True: pass'], preexec_fn=pin) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def pinned(program, *args, folder, **variables):
    """The report of a program that may run on one CPU only."""
    p = subprocess.run([program, *map(str, args)], env=environment(folder, **variables), cwd=folder, preexec_fn=pin, timeout=120,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert p.returncode == 0, p.stdout
    file, = folder.glob('*.cudaspy')
    return report(file)


def need_schedstat():
    file = pathlib.Path('/proc/thread-self/schedstat')
    if not file.exists() or not any(map(int, file.read_text().split())):
        pytest.skip('this kernel does not count what threads wait for a CPU')


def test_cpus(go):
    r = go()
    cpu, = r.report['environment']['cpu']
    assert cpu['pid'] == r.truth['pid']
    assert cpu['cores'] == len(os.sched_getaffinity(0))
    assert cpu['online_cores'] is None or cpu['online_cores'] >= cpu['cores']
    assert (cpu['quota_cores'] is None) == (not cpu['limited'])
    assert f'environment CPU: {cpu["cores"]} of ' in text(r)


def test_one_core(tmp_path):
    found = pinned(SAMPLES / 'sim/vector_add', folder=tmp_path)
    assert found['environment']['cpu'][0]['cores'] == 1
    thread, = found['host']['threads']
    assert thread['cpu_cores'] in (1, None)
    assert (thread['cpu_cores'] is None) == (thread['cpu_wait_ns'] is None)


def test_waiting_for_a_cpu_is_counted(tmp_path):
    need_schedstat()
    with spinning(2):
        found = pinned(SAMPLES / 'sim/many_tiny_launches', folder=tmp_path)
    thread, = found['host']['threads']
    assert found['window_ns'] / 5 < thread['cpu_wait_ns'] < found['wall_ns']


# ---- what it must not do ---------------------------------------------------------------------------------------------

def test_it_only_reads_and_in_threads_of_its_own(go, tmp_path):
    log = tmp_path / 'log'
    r = go(SIM_NVML_LOG=log)
    calls = asked(log)
    assert {int(process) for process, _, _ in calls} == {r.truth['pid']}
    assert {thread for _, thread, _ in calls} == {'cudaspy-nvml'}
    names = [name for _, _, name in calls]
    assert names[0] == 'nvmlInit_v2' and names.count('nvmlInit_v2') == 1
    assert all('Get' in name for name in names[1:]), names
    assert max(map(names.count, names)) <= 4 # at the start and at exit, of two clocks


def test_a_program_without_cuda_meets_no_nvml(run, tmp_path):
    r = run('/bin/true', SIM_NVML_LOG=tmp_path / 'log')
    assert r.status == 0
    assert not (tmp_path / 'log').exists()


def test_without_nvml(go, run, compile_c, tmp_path):
    if ctypes.util.find_library('nvidia-ml'):
        pytest.skip('this machine has an NVML of its own')
    alone = tmp_path / 'alone'
    alone.mkdir()
    (alone / 'libcuda.so.1').symlink_to(SIM / 'libcuda.so.1')
    r = go(LD_LIBRARY_PATH=alone)
    found = r.report['environment']
    assert not found['known']
    assert found['reason'] == 'no libnvidia-ml.so.1'
    assert found['devices'] == [] and found['kernel_driver_version'] is None
    assert 'environment not known (no libnvidia-ml.so.1)' in text(r)
    assert not [w for w in r.report['warnings'] if 'NVML' in w]


def test_an_nvml_that_fails(go):
    r = go(SIM_NVML_INIT=18)
    assert r.report['environment']['reason'] == 'NVML failed: error 18'
    assert any(LATE in warning for warning in r.report['warnings'])


@pytest.mark.parametrize('first', [1, 30])
def test_an_nvml_that_hangs_holds_no_exit_up(go, first):
    """From its first call on, and from the reading at exit on."""
    r = go(SIM_NVML_SLOW_MS=60000, SIM_NVML_SLOW_FROM=first)
    assert r.seconds < 30
    found = r.report['environment']
    if first == 1:
        assert found['reason'] == 'NVML did not answer in time'
    else:
        assert found['devices'][0]['start']['temperature_c'] == 45
        assert found['devices'][0]['exit'] is None
    assert any(LATE in warning for warning in r.report['warnings'])


def test_killed(tmp_path):
    """What was read at the start is in the recording."""
    log = tmp_path / 'log'
    process = subprocess.Popen([STEADY, '1'], env=environment(tmp_path, SIM_NVML_LOG=log, SIM_NVML_ECC=1), cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'ready\n'
        deadline = time.monotonic() + 30
        while not report(*tmp_path.glob('*.cudaspy'))['environment']['known']:
            assert time.monotonic() < deadline
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    found = report(*tmp_path.glob('*.cudaspy'))['environment']
    assert found['devices'][0]['start']['ecc_uncorrected'] == 1
    assert found['devices'][0]['exit'] is None
    assert found['troubles'] == ['GPU 0: 1 uncorrected memory error (ECC) since its driver was loaded']


# ---- fork ------------------------------------------------------------------------------------------------------------

FORKS = LAUNCHES + '''
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int children = atoi(argv[1]), status = 0;

	work_start();
	work_launches(100);
	for (int i = 0; i < children; i++) {
		usleep(2000);
		pid_t child = fork();
		if (!child) {
			alarm(60);
			if (cuCtxSynchronize() == CUDA_SUCCESS)
				_exit(1);
			int (*init)(void) = dlsym(dlopen("libnvidia-ml.so.1", RTLD_NOW), "nvmlInit_v2");
			if (argc > 2)
				exit(0);
			_exit(!init || init());
		}
		if (waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return 0;
}
'''


def test_a_child_may_use_nvml_whenever_it_was_forked(run, compile_c):
    """A fork while our thread was inside NVML would leave NVML's lock taken in the child for ever."""
    program = compile_c(FORKS, '-lcuda', '-ldl', '-I', str(ROOT))
    r = run(program, 20, SIM_NVML_SLOW_MS=3)
    assert r.status == 0


def test_a_forked_child_asks_nothing(run, compile_c, tmp_path):
    program = compile_c(FORKS, '-lcuda', '-ldl', '-I', str(ROOT))
    r = run(program, 1, 'quiet', SIM_NVML_LOG=tmp_path / 'log')
    assert r.status == 0
    assert {int(process) for process, _, _ in asked(tmp_path / 'log')} == {r.truth['pid']}
    reports = {p['processes'][0]['pid']: p['environment'] for p in map(report, r.recordings)}
    assert reports.pop(r.truth['pid'])['known']
    child, = reports.values()
    assert child['reason'] == 'a forked child does not ask'
    assert report(*r.recordings)['environment']['known'] # of the run
