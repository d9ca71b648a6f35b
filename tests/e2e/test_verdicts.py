# SPDX-License-Identifier: Apache-2.0
"""Each sample of cuda_samples says which verdict and which findings a correct report of it has, and its fixed twin which not.

The samples run at their full length and sampled, on a simulated GPU whose copies cost what the simulation says
(SIM_DATA_MIB=0: no bytes are copied) and whose driver holds a lock while it launches, as real ones do; in virtual time, so
that the machine has no part in it, but for those of several threads.
"""
import py_compile
import re
import subprocess

import pytest

from conftest import REPORTER, ROOT, SAMPLES, SIM, VIRTUAL_TIME, Run, environment
from test_environment import need_schedstat, pin

EXPECT = re.compile(r'^expect: (verdict|finding|no-finding)=(\S+)$', re.MULTILINE)
NAMES = sorted(path.stem for path in (ROOT / 'cuda_samples').glob('*.cu'))
SPEAKING = [name for name in NAMES if 'sample_expect(' in (ROOT / f'cuda_samples/{name}.cu').read_text()]
TWINS = [name for name in NAMES if f'{name}_fixed' in NAMES]
CLASSES = {'gpu-bound', 'launch-bound', 'sync-bound', 'copy-bound', 'alloc-bound', 'host-bound', 'comm-bound', 'mixed',
           'inconclusive'}
THREADS = ('crowded_core', 'threads', 'threads_fixed')
LOCKING = ('threads', 'threads_fixed')
TRIES = 10
# On a GPU a launch's start and a wait's return take some 5 us together, 6 where it is a copy that is waited for; the simulated
# one has the first alone.
SIMULATED = {'SIM_DATA_MIB': '0', 'SIM_LAUNCH_LOCK': '1', 'SIM_LATENCY_NS': '6000'}


def finding_ids():
    """Those that the README lists."""
    text = (ROOT / 'cuda_samples/README.md').read_text().split('## Findings')[1]
    return re.findall(r'^\| `([a-z-]+)` \|', text, re.MULTILINE)


def ways_to_run(name):
    return SIMULATED if name in THREADS else {**SIMULATED, **VIRTUAL_TIME}


class Sample:
    """A finished sample: its output and the report."""

    def __init__(self, name, folder, mode='sample', preexec_fn=None, **variables):
        sim = SIM if mode == 'sample' else f'{SIM}:{SIM}/cupti13'
        process = subprocess.run([SAMPLES / 'sim' / name], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, universal_newlines=True, timeout=300, preexec_fn=preexec_fn,
                                 env=environment(folder, sim=sim, CUDASPY_GPU=mode, **{**ways_to_run(name), **variables}))
        run = Run(process, folder, folder / 'truth')
        assert run.status == 0, run.out + run.err
        self.out = run.out
        self.report, self.recording = run.report, run.recording
        self.verdict = self.report['verdict']
        self.findings = {finding['id'] for finding in self.report['findings']}

    def expected(self, what):
        return [value for key, value in EXPECT.findall(self.out) if key == what]


@pytest.fixture(scope='module')
def sample(tmp_path_factory):
    """Runs a sample once for all the tests that look at it."""
    cache = {}

    def go(name):
        if name not in cache:
            # Threads that were kept from the CPUs, by other programs above all, may show nothing of each other: once more.
            for _ in range(TRIES if name in LOCKING else 1):
                run = cache[name] = Sample(name, tmp_path_factory.mktemp(name))
                if set(run.expected('finding')) <= run.findings:
                    break
        return cache[name]

    return go


@pytest.mark.parametrize('name', SPEAKING)
def test_verdict_is_the_expected_one(sample, name):
    expected, verdict = sample(name).expected('verdict'), sample(name).verdict
    assert [verdict['class']] == (expected or [verdict['class']]), verdict
    if expected == ['mixed']:
        assert verdict['second']


@pytest.mark.parametrize('name, way, change', [('copy_not_overlapped', 'overlapped copies', None),
                                               ('pageable_copies', 'pinned copies', None),
                                               ('sync_every_step_fixed', 'overlapped copies', 'copies beside kernels')])
def test_only_the_way_that_gains_is_offered(sample, name, way, change):
    """Copies that are pinned are not told to be; where no finding has the change, the verdict's words are on the screen."""
    run = sample(name)
    assert run.verdict['class'] == 'copy-bound'
    assert f', and {way} would save about ' in run.verdict['reason']
    screen = subprocess.run([REPORTER, 'report', run.recording], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    assert not change or f' 1 {change}  ' in screen
    assert 'pinned memory, or' not in screen


@pytest.mark.parametrize('name', SPEAKING)
def test_findings_are_the_expected_ones(sample, name):
    if name == 'crowded_core':
        need_schedstat()
    run = sample(name)
    missing = set(run.expected('finding')) - run.findings
    if name in LOCKING and missing and 'host-starved-of-cpu' in run.findings:
        pytest.skip(f'the threads waited for a CPU in each of {TRIES} runs')
    assert not missing
    assert not set(run.expected('no-finding')) & run.findings


def test_threads_on_too_few_cores_are_no_contention(tmp_path):
    """Without a lock in the driver a launch takes as long beside others as alone; what is missing is a CPU."""
    need_schedstat()
    run = Sample('threads', tmp_path, preexec_fn=pin, SIM_LAUNCH_LOCK=0)
    assert 'launch-contention' not in run.findings
    assert 'host-starved-of-cpu' in run.findings


def waited_for_a_cpu(run):
    """Share of the threads' time; None: the kernel does not tell."""
    waits = [(t['cpu_wait_ns'], t['window_ns']) for t in run.report['host']['threads'] if t['cpu_wait_ns'] is not None and t['window_ns']]
    return sum(wait for wait, _ in waits) / sum(window for _, window in waits) if waits else None


def test_contention_is_told_by_a_difference(sample, tmp_path):
    """Half as long again among others. Where threads wait for a CPU they hardly meet in the driver, or are held up alone too:
    such a run says little, and only such a run may be made again."""
    for number in range(TRIES):
        (tmp_path / str(number)).mkdir()
        run = Sample('threads', tmp_path / str(number)) if number else sample('threads')
        evidence = [f['evidence'] for f in run.report['findings'] if f['id'] == 'launch-contention']
        took = evidence and re.search(r'A launch takes (\S+) us \(lower quartile\) .*, (\S+) us while .* too, as', evidence[0])
        if took and float(took[2]) > 1.5 * float(took[1]):
            return
        waited = waited_for_a_cpu(run)
        assert waited is None or waited > 0.02, (evidence, waited)
    pytest.skip(f'the threads waited for a CPU in each of {TRIES} runs, {100 * waited:.0f} % of their time in the last one')


@pytest.mark.parametrize('name', [name for name in SPEAKING if name not in THREADS])
def test_a_busy_machine_changes_nothing(tmp_path, name):
    """The host loses three per cent of its time, in pieces."""
    run = Sample(name, tmp_path, VIRTUAL_CLOCK_NOISE=1)
    assert [run.verdict['class']] == (run.expected('verdict') or [run.verdict['class']]), run.verdict
    assert set(run.expected('finding')) <= run.findings
    assert not set(run.expected('no-finding')) & run.findings


@pytest.mark.parametrize('name', [name for name in SPEAKING if name not in THREADS])
def test_cupti_mode_says_the_same(tmp_path, name):
    if not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    run = Sample(name, tmp_path, 'cupti')
    assert run.report['gpu']['mode'] == 'cupti'
    assert [run.verdict['class']] == (run.expected('verdict') or [run.verdict['class']]), run.verdict
    assert set(run.expected('finding')) <= run.findings
    assert not set(run.expected('no-finding')) & run.findings


@pytest.mark.parametrize('name', [name for name in NAMES if name.startswith('graph_')])
def test_graphs_have_one_verdict_in_both_modes(sample, tmp_path, name):
    """Also those that are made anew for a launch or two."""
    if not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    verdict, exact = sample(name).verdict, Sample(name, tmp_path, 'cupti').verdict
    assert verdict['class'] == exact['class'] != 'inconclusive', (verdict, exact)


@pytest.mark.parametrize('name', SPEAKING)
def test_severity_follows_the_gain(sample, name):
    """Where none is predicted, the share at stake; errors are no matter of time. What gains nothing is not told."""
    saved = []
    for finding in sample(name).report['findings']:
        gain, share, severity = finding['predicted_speedup'], finding['share'], finding['severity']
        if gain is not None:
            assert gain >= 1.005 or finding['id'] == 'host-starved-of-cpu', finding
            assert severity == ('high' if gain >= 1.2 else 'medium' if gain >= 1.05 else 'low'), finding
        elif share is None:
            assert severity != 'high' or finding['id'] in ('failed-calls', 'memory-growth'), finding
        else:
            assert severity != 'high' or share >= 0.2, finding
        saved.append((['info', 'low', 'medium', 'high'].index(severity), 1 - 1 / gain if gain else share or 0))
    assert saved == sorted(saved, reverse=True)


@pytest.mark.parametrize('name', TWINS)
def test_a_fixed_twin_has_the_same_answer_and_not_the_finding(sample, name):
    faulty, fixed = sample(name), sample(f'{name}_fixed')
    answers = [re.findall(r'^answer: (\d+)$', run.out, re.MULTILINE) for run in (faulty, fixed)]
    assert len(answers[0]) == 1 and answers[0] == answers[1]
    assert faulty.expected('finding') == fixed.expected('no-finding') != []


def test_every_class_and_finding_has_a_sample(sample):
    runs = [sample(name) for name in SPEAKING]
    assert {value for run in runs for value in run.expected('verdict')} == CLASSES
    assert {value for run in runs for value in run.expected('finding')} == set(finding_ids())
    assert len(finding_ids()) == len(set(finding_ids()))


def test_reports_know_no_finding_that_is_not_listed(sample):
    for name in SPEAKING:
        assert sample(name).findings <= set(finding_ids()), name


@pytest.mark.parametrize('script', sorted(path.name for path in (ROOT / 'cuda_samples/pytorch').glob('*.py')))
def test_pytorch_scripts_compile(tmp_path, script):
    py_compile.compile(str(ROOT / 'cuda_samples/pytorch' / script), cfile=str(tmp_path / 'out.pyc'), doraise=True)
