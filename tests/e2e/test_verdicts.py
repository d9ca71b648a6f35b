"""Each sample of cuda_samples says which verdict and which findings a correct report of it has, and its fixed twin which not.

The samples run at their full length and sampled, on a simulated GPU whose copies cost what the simulation says
(SIM_DATA_MIB=0: no bytes are copied) and whose driver holds a lock while it launches, as real ones do.
"""
import py_compile
import re
import subprocess

import pytest

from conftest import ROOT, SAMPLES, Run, environment

EXPECT = re.compile(r'^expect: (verdict|finding|no-finding)=(\S+)$', re.MULTILINE)
NAMES = sorted(path.stem for path in (ROOT / 'cuda_samples').glob('*.cu'))
SPEAKING = [name for name in NAMES if 'sample_expect(' in (ROOT / f'cuda_samples/{name}.cu').read_text()]
TWINS = [name for name in NAMES if f'{name}_fixed' in NAMES]
CLASSES = {'gpu-bound', 'launch-bound', 'sync-bound', 'copy-bound', 'alloc-bound', 'host-bound', 'comm-bound', 'mixed',
           'inconclusive'}
ATTEMPTS = 3
# Samples whose class may differ from the expected one, and why.
DIFFERS = {
    'work_then_wait': 'a busy machine wakes the waiting host late, and that late return counts as waiting',
}


def finding_ids():
    """Those that the README lists."""
    text = (ROOT / 'cuda_samples/README.md').read_text().split('## Findings')[1]
    return re.findall(r'^\| `([a-z-]+)` \|', text, re.MULTILINE)


class Sample:
    """A finished sample: its output, the report, what the simulated GPU did."""

    def __init__(self, name, folder):
        process = subprocess.run([SAMPLES / 'sim' / name], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, universal_newlines=True, timeout=300,
                                 env=environment(folder, CUDASPY_GPU='sample', SIM_DATA_MIB='0', SIM_LAUNCH_LOCK='1'))
        run = Run(process, folder, folder / 'truth')
        assert run.status == 0, run.out + run.err
        self.out = run.out
        self.report = run.report
        self.verdict = self.report['verdict']
        self.findings = {finding['id'] for finding in self.report['findings']}
        self.device = run.truth['devices'][0]

    def expected(self, what):
        return [value for key, value in EXPECT.findall(self.out) if key == what]

    @property
    def disturbed(self):
        """Whether a busy machine kept the host from feeding a GPU that was to be busy all the time."""
        if self.expected('verdict') != ['gpu-bound']:
            return False
        return self.device['busy_ns'] < 0.95 * (self.device['last_end_ns'] - self.device['first_start_ns'])


@pytest.fixture(scope='module')
def sample(tmp_path_factory):
    """Runs a sample once for all the tests that look at it; again where the machine disturbed it."""
    cache = {}

    def go(name):
        for _ in range(ATTEMPTS):
            if name in cache and not cache[name].disturbed:
                break
            cache[name] = Sample(name, tmp_path_factory.mktemp(name))
        return cache[name]

    return go


@pytest.fixture
def judged(sample):
    """The same, where the machine let the sample be what it is."""
    def go(name):
        if sample(name).disturbed:
            pytest.skip('the machine is too busy: the host did not keep the simulated GPU busy')
        return sample(name)

    return go


@pytest.mark.parametrize('name', SPEAKING)
def test_verdict_is_the_expected_one(judged, name):
    expected = judged(name).expected('verdict')
    if name in DIFFERS and expected != [judged(name).verdict['class']]:
        pytest.xfail(f'{DIFFERS[name]}: {judged(name).verdict}')
    assert [judged(name).verdict['class']] == (expected or [judged(name).verdict['class']]), judged(name).verdict
    if expected == ['mixed']:
        assert judged(name).verdict['second']


@pytest.mark.parametrize('name', SPEAKING)
def test_findings_are_the_expected_ones(judged, name):
    run = judged(name)
    assert set(run.expected('finding')) <= run.findings
    assert not set(run.expected('no-finding')) & run.findings


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
