# SPDX-License-Identifier: Apache-2.0
"""`cudaspy calibrate`: what CUPTI says of the empty kernel is found, stored with care and used with care.

On the simulated CUDA with the made-up libcupti; SIM_NULL_NS is what empty kernels of cudaspy's own last there.
"""
import json
import os
import signal
import stat
import subprocess
import time

import pytest

from conftest import REPORTER, SIM, report

needs_cupti = pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')
ENTRY = 'driver 13000 clock_khz 1980000 null_ns 830 off_ns 300 time 1763888888 gpu Simulated GPU 0\n'
HEAD = 'cudaspy-gpus 1\n'
WARNING = 'unusable lines of the user\'s file of GPU figures'


class Home:
    """A user's folders, and programs that run there."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / 'cache'
        self.file = self.cache / 'cudaspy/gpus'
        self.temporary = folder / 'temporary'
        self.temporary.mkdir()

    def environment(self, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith(('CUDASPY_', 'SIM_', 'FAKE_')) and k != 'LD_PRELOAD'}
        env.update(LD_LIBRARY_PATH=f'{SIM}:{SIM}/cupti13', XDG_CACHE_HOME=str(self.cache), TMPDIR=str(self.temporary))
        for name, value in variables.items():
            env[name] = str(value)
            if value is None:
                del env[name]
        return env

    def calibrate(self, *arguments, status=0, **variables):
        p = subprocess.run([REPORTER, 'calibrate', *arguments], env=self.environment(**variables), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=300)
        assert p.returncode == status, p.stdout + p.stderr
        assert list(self.temporary.iterdir()) == [] # nothing is left behind
        return p

    def figures(self, *arguments, **variables):
        return json.loads(self.calibrate('--format', 'json', *arguments, **variables).stdout)

    def refused(self, *arguments, **variables):
        """The one line that it says."""
        p = self.calibrate(*arguments, status=2, **variables)
        assert p.stdout == '' and p.stderr.startswith('cudaspy: calibrate: ') and p.stderr.count('\n') == 1
        return p.stderr

    def put(self, text):
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.file.chmod(0o600)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture
def recorded(run, home):
    """recorded(): what the report of a sampled program says of its calibration, and its warnings."""

    def go(program='vector_add', *arguments, **variables):
        variables = {'XDG_CACHE_HOME': home.cache, 'CUDASPY_GPU': 'sample', **variables}
        r = run(program, *(arguments or [200]), **variables)
        assert r.status == 0 and 'result: ok' in r.out, r.err
        said = report(r.recording)
        r.recording.unlink()
        return said

    return go


def source_of(said):
    c = said['gpu']['calibration']
    return c['source'], c['null_kernel_ns'], c['off_ns']


# ---- as it should be -------------------------------------------------------------------------------------------------

@needs_cupti
def test_what_is_found_is_stored_and_used(home, recorded):
    assert source_of(recorded(SIM_NULL_NS=830)) == ('built-in', 590, 400)
    found = home.figures(SIM_NULL_NS=830)
    device, = found['devices']
    assert (device['name'], device['cuda_driver'], device['clock_khz']) == ('Simulated GPU 0', 13000, 1980000)
    assert device['null_kernel_ns'] == pytest.approx(830, abs=5) and device['off_ns'] == pytest.approx(250, abs=50)
    assert (device['before']['null_kernel_ns'], device['before']['source']) == (590, 'built-in')
    assert [k['exact_ns'] for k in device['kinds']] == pytest.approx([830, 830, 1130, 1130, 2000, 5000, 20000], abs=5)
    assert all(k['launches'] == 6000 and k['pairs'] >= 48 for k in device['kinds'])
    assert found['stored'] and found['path'] == str(home.file)
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600 and stat.S_IMODE(home.file.parent.stat().st_mode) == 0o700
    assert os.listdir(home.file.parent) == ['gpus']

    said = recorded(SIM_NULL_NS=830)
    assert source_of(said) == ('calibrated', device['null_kernel_ns'].__round__(), device['off_ns'].__round__())
    assert said['gpu']['calibration']['calibrated_at'] == device['calibrated_at']
    assert said['gpu']['calibration']['measured_gpu'] is True

    again = home.figures(SIM_NULL_NS=1250)['devices'][0]
    assert again['before']['source'] == 'calibrated' and again['before']['null_kernel_ns'] == round(device['null_kernel_ns'])
    assert home.file.read_text().count('driver ') == 1 # in its place


@needs_cupti
def test_text(home, run):
    p = home.calibrate(SIM_NULL_NS=830)
    assert 'GPU 0: Simulated GPU 0' in p.stdout and 'simulated GPU' in p.stdout
    assert 'an empty kernel 590 ns +- 400 ns: built-in' in p.stdout and 'an empty kernel 830 ns +- 250 ns' in p.stdout
    assert f'Stored in {home.file}' in ' '.join(p.stdout.split())
    r = run('vector_add', 200, CUDASPY_GPU='sample', XDG_CACHE_HOME=home.cache)
    text = ' '.join(subprocess.run([REPORTER, 'report', r.recording], stdout=subprocess.PIPE, check=True,
                                   universal_newlines=True).stdout.split())
    assert 'by CUPTI on this machine (calibrated on 20' in text


@needs_cupti
def test_a_dry_run_stores_nothing(home):
    found = home.figures('--dry-run', SIM_NULL_NS=830)
    assert not found['stored'] and found['devices'][0]['null_kernel_ns'] == pytest.approx(830, abs=5)
    assert not home.cache.exists()


@needs_cupti
def test_each_kind_of_gpu_once(home, recorded):
    """Without a number both are measured; a program that sees both goes by their middle."""
    found = home.figures(SIM_DEVICES=2)['devices']
    assert [d['name'] for d in found] == ['Simulated GPU 0', 'Simulated GPU 1']
    one, = home.figures('--device', '1', SIM_DEVICES=2, SIM_NULL_NS=990)['devices']
    assert one['name'] == 'Simulated GPU 1' and one['before']['null_kernel_ns'] == pytest.approx(590, abs=5)
    text = home.file.read_text()
    low, high = (int(text.split('null_ns ')[i].split()[0]) for i in (1, 2))
    assert (low, high) == (pytest.approx(590, abs=5), pytest.approx(990, abs=5))
    source, null, off = source_of(recorded(SIM_DEVICES=2))
    assert (source, null) == ('calibrated', (low + high) / 2) and off == pytest.approx(250 + (high - low) / 2, abs=60)
    assert source_of(recorded())[:2] == ('calibrated', low)


@needs_cupti
def test_what_others_measured_stays(home):
    other = ENTRY.replace('Simulated GPU 0', 'NVIDIA H100 80GB HBM3')
    home.put(HEAD + other + 'rubbish\n' + ENTRY.replace('13000', '12080'))
    home.calibrate()
    text = home.file.read_text()
    assert other in text and '12080' in text and 'rubbish' not in text and text.count('driver ') == 3


def test_the_reporter_links_no_cuda():
    text = subprocess.run(['readelf', '-d', REPORTER], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    assert 'NEEDED' in text and 'cuda.so' not in text and 'cudart' not in text and 'cupti' not in text


# ---- refused: one line, nothing is stored ----------------------------------------------------------------------------

def test_without_a_driver(home):
    if os.path.exists('/dev/nvidiactl'):
        pytest.skip('this machine has a GPU')
    assert 'no NVIDIA driver here' in home.refused(LD_LIBRARY_PATH='')
    assert not home.cache.exists()


def test_without_cupti(home):
    line = home.refused(FAKE_CUPTI_REFUSE=35) if (SIM / 'cupti13').exists() else home.refused(LD_LIBRARY_PATH=SIM)
    assert 'CUPTI is needed: ' in line and 'LD_LIBRARY_PATH' in line
    assert not home.cache.exists()


@needs_cupti
def test_without_that_gpu(home):
    assert 'cuDeviceGet fails: CUDA_ERROR_INVALID_DEVICE' in home.refused('--device', '5')
    assert not home.cache.exists()


@pytest.mark.parametrize('arguments', [['--device', 'x'], ['--device', '-1'], ['--device', '99999'], ['--format', 'csv'], ['file']])
def test_wrong_usage(home, arguments):
    assert home.calibrate(*arguments, status=2).stdout == ''


def test_nowhere_to_store(home):
    for variables in {'XDG_CACHE_HOME': None, 'HOME': None}, {'XDG_CACHE_HOME': 'cache', 'HOME': 'here'}:
        assert 'nowhere to store' in home.refused(**variables)


@needs_cupti
def test_a_folder_that_is_not_the_users_own(home):
    """A link, or one that others can write to: who could put a file there could have any file replaced."""
    elsewhere = home.folder / 'elsewhere'
    elsewhere.mkdir(mode=0o700)
    home.cache.mkdir()
    (home.cache / 'cudaspy').symlink_to(elsewhere)
    home.refused()
    assert list(elsewhere.iterdir()) == []
    (home.cache / 'cudaspy').unlink()
    (home.cache / 'cudaspy').mkdir()
    (home.cache / 'cudaspy').chmod(0o777)
    assert 'others can write' in home.refused()
    assert not home.file.exists()


@needs_cupti
def test_a_link_in_the_files_place_is_replaced(home):
    victim = home.folder / 'victim'
    victim.write_text('mine\n')
    home.put('')
    home.file.unlink()
    home.file.symlink_to(victim)
    home.calibrate()
    assert victim.read_text() == 'mine\n' and not home.file.is_symlink() and home.file.read_text().startswith(HEAD)


@needs_cupti
def test_interrupted(home):
    p = subprocess.Popen([REPORTER, 'calibrate'], env=home.environment(SIM_LAUNCH_NS=1000000), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(home.temporary.glob('*/run.cudaspy')) and time.monotonic() < deadline:
        time.sleep(0.02)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    assert p.returncode == -signal.SIGTERM
    assert list(home.temporary.iterdir()) == [] and not home.cache.exists()


# ---- the file is hostile ---------------------------------------------------------------------------------------------

def test_an_entry_is_used(home, recorded):
    home.put(HEAD + '# said\n\n' + ENTRY)
    said = recorded()
    assert source_of(said) == ('calibrated', 830, 300)
    assert said['gpu']['calibration']['calibrated_at'].startswith('2025-11-23T')
    assert not any(WARNING in w for w in said['warnings'])


def test_home_stands_in_for_xdg(home, recorded):
    home.put(HEAD + ENTRY)
    (home.folder / '.cache').symlink_to(home.cache) # that is the user's affair
    assert source_of(recorded(XDG_CACHE_HOME=None, HOME=home.folder))[0] == 'calibrated'
    assert source_of(recorded(XDG_CACHE_HOME='relative', HOME=home.folder))[0] == 'calibrated'
    assert source_of(recorded(XDG_CACHE_HOME=None, HOME=None))[0] == 'built-in'


@pytest.mark.parametrize('entry', [ENTRY.replace('13000', '12080'), ENTRY.replace('1980000', '1755000'),
                                   ENTRY.replace('GPU 0', 'GPU 1'), ENTRY.replace('GPU 0', 'GPU')])
def test_of_another_driver_clock_or_gpu(home, recorded, entry):
    home.put(HEAD + entry)
    said = recorded()
    assert source_of(said)[0] == 'built-in' and not any(WARNING in w for w in said['warnings'])


DAMAGED = {
    'empty line missing': ENTRY,
    'another version': 'cudaspy-gpus 2\n' + ENTRY,
    'cut': HEAD + ENTRY[:-1],
    'too small': HEAD + ENTRY.replace('null_ns 830', 'null_ns 0'),
    'too large': HEAD + ENTRY.replace('null_ns 830', 'null_ns 99999999999999999999999'),
    'negative': HEAD + ENTRY.replace('null_ns 830', 'null_ns -830'),
    'no number': HEAD + ENTRY.replace('off_ns 300', 'off_ns x'),
    'no interval': HEAD + ENTRY.replace('off_ns 300', 'off_ns 0'),
    'no time': HEAD + ENTRY.replace('1763888888', '0'),
    'no name': HEAD + ENTRY.replace('Simulated GPU 0', ''),
    'long name': HEAD + ENTRY.replace('Simulated GPU 0', 'x' * 200),
    'control characters': HEAD + ENTRY.replace('Simulated', '\x1b[31m'),
    'zeros': b'\0' * 4000,
    'noise': bytes(i * 7919 % 251 for i in range(9000)),
    'too long': HEAD + ENTRY + '#' * 20000 + '\n',
    'too many': HEAD + ENTRY.replace('GPU 0', 'GPU 9') * 64 + ENTRY,
}


@pytest.mark.parametrize('text', DAMAGED.values(), ids=DAMAGED)
def test_damaged(home, recorded, text):
    home.put(text)
    said = recorded()
    assert source_of(said) == ('built-in', 590, 400)
    assert sum(WARNING in w for w in said['warnings']) == 1


def test_one_damaged_line_of_several(home, recorded):
    home.put(HEAD + 'rubbish\n' + ENTRY + 'rubbish\n')
    said = recorded()
    assert source_of(said)[0] == 'calibrated'
    assert [w for w in said['warnings'] if WARNING in w][0].endswith('(2)')


def test_not_to_be_trusted(home, recorded):
    def check():
        said = recorded()
        assert source_of(said)[0] == 'built-in' and sum(WARNING in w for w in said['warnings']) == 1

    home.put(HEAD + ENTRY)
    home.file.chmod(0o622)
    check()
    home.file.chmod(0o600)
    home.file.rename(home.folder / 'elsewhere')
    home.file.symlink_to(home.folder / 'elsewhere')
    check()
    home.file.unlink()
    os.mkfifo(home.file)
    check()
    home.file.unlink()
    home.file.mkdir()
    check()
    if os.geteuid() == 0:
        home.file.rmdir()
        home.put(HEAD + ENTRY)
        os.chown(home.file, 12345, 12345)
        check()


def test_without_gpu_times_it_is_not_read(home, recorded):
    home.put('rubbish\n')
    assert not any(WARNING in w for w in recorded(CUDASPY_GPU='off')['warnings'])
