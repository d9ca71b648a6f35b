# SPDX-License-Identifier: Apache-2.0
"""What every test has at hand: the built files, a folder of its own, programs under the shim, their reports.

Tests run the way a user does: LD_PRELOAD, a program, `cudaspy report --format json`. Where there is no GPU (in CI, always)
the program runs on the simulated CUDA, whose own count of what happened is the truth to compare with.
"""
import fcntl
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

pytest.register_assert_rewrite('against_truth') # its failures say what differed, as a test's own do

# A terminal's width is no matter of tests. Python's readline, which pytest 8 loads, puts it into the environment behind
# os.environ's back.
for name in 'COLUMNS', 'LINES':
    os.environ.pop(name, None)
    os.unsetenv(name)

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get('O', ROOT / 'build')).resolve()
READERS = ROOT / 'build/deps/readers' # what scripts/setup_readers.sh fetched
SHIM = BUILD / 'libcudaspy.so'
REPORTER = BUILD / 'cudaspy'
SIM = BUILD / 'sim'
SAMPLES = BUILD / 'samples'
CLOCK = SIM / 'libvirtual_clock.so'
# For environment() and run(): time passes by what the program does, the same on every machine (tests/sim/virtual_clock.c). For
# programs of one thread, which stands still while the shim's collector has its turn. The rings hold all that comes between two.
VIRTUAL_TIME = {'preload': (SHIM, CLOCK), 'CUDASPY_CLOCK': 'monotonic', 'CUDASPY_RING': 1 << 23}


class Run:
    """A finished program: exit status, output, the recordings it left, the simulator's truth."""

    def __init__(self, process, folder, truth_file):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.folder = folder
        self._truth_file = truth_file

    @property
    def recordings(self):
        return sorted(self.folder.glob('*.cudaspy'))

    @property
    def recording(self):
        assert len(self.recordings) == 1, f'{self.recordings}\n{self.err}'
        return self.recordings[0]

    @property
    def report(self):
        return report(self.recording)

    @property
    def truth(self):
        text = subprocess.run([SIM / 'truth', self._truth_file], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(text)


def report(*files, status=0):
    """`cudaspy report --format json FILES`, parsed."""
    p = subprocess.run([REPORTER, 'report', '--format', 'json', *files], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    assert p.returncode == status, p.stderr.decode(errors='replace')
    return json.loads(p.stdout)


def environment(folder, preload=(SHIM,), sim=SIM, **variables):
    """The environment of a program under the shim, on the simulated CUDA unless sim=None. A variable of None is removed."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(('CUDASPY_', 'SIM_')) and k not in ('LD_PRELOAD', 'MAKEFLAGS')}
    if sim:
        env['LD_LIBRARY_PATH'] = str(sim)
        env['SIM_TRUTH'] = str(folder / 'truth')
    if 'NVTX_INJECTION64_PATH' in variables:
        need_nvtx()
    if preload:
        env['LD_PRELOAD'] = ':'.join(str(p) for p in preload)
    env['CUDASPY_OUT'] = f'{folder}/'
    env['SITES_READY'] = str(BUILD / 'tests/e2e/libsites_ready.so')
    env['CUDASPY_GPU'] = 'off'  # the simulator counts every call it gets, those of the sampler too; test_sampling.py has it on
    for name, value in variables.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


@pytest.fixture
def run(tmp_path):
    """run('vector_add', '20', CUDASPY_KEEP=1) runs build/samples/sim/vector_add; a path runs that program."""

    def go(program, *args, preload=(SHIM,), sim=SIM, timeout=120, cwd=None, **variables):
        path = pathlib.Path(program)
        if not path.is_absolute():
            path = SAMPLES / 'sim' / program if '/' not in str(program) else BUILD / program
        env = environment(tmp_path, preload, sim, **variables)
        process = subprocess.run([path, *map(str, args)], env=env, cwd=cwd or tmp_path, timeout=timeout,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 universal_newlines=True, errors='replace')
        return Run(process, tmp_path, tmp_path / 'truth')

    return go


@pytest.fixture
def compile_c(tmp_path):
    """compile_c('int main(void) {...}', '-lcuda') builds a small program (or, with shared=True, a library)."""

    def go(source, *flags, name='program', shared=False, compiler='gcc'):
        out = tmp_path / (f'lib{name}.so' if shared else name)
        cmd = [compiler, '-x', 'c++' if compiler == 'g++' else 'c', '-', '-o', out, '-w',
               f'-I{cuda_include()}', f'-L{SIM}', *(['-shared', '-fPIC'] if shared else []), *flags]
        subprocess.run(cmd, input=source.encode(), check=True)
        return out

    return go


def cuda_include():
    """The toolkit's headers, as the Makefile found them."""
    return os.environ['CUDA_INC']


@functools.lru_cache(maxsize=None)
def make(*arguments, folder=BUILD):
    """Builds what a test looks at, in a build folder; a moment where `make check` has. The finished process: its output says why
    it failed."""
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'O', 'CC')}
    with open(BUILD / f'{folder.name}.lock', 'w') as lock: # two tests beside one another
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(['make', '--no-print-directory', f'-j{os.cpu_count() or 1}', f'O={folder}', *map(str, arguments)],
                              cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=1800, universal_newlines=True, errors='replace')


SANITIZED = BUILD / 'asan'


def make_sanitized(*targets):
    """The same under AddressSanitizer and UBSan."""
    p = make('SAN=address,undefined', 'CFLAGS=-O1 -g1', *targets, folder=SANITIZED)
    if p.returncode and re.search(r'cannot find .*(lib)?[au]san', p.stdout):
        pytest.skip('the compiler has no sanitizers here')
    assert p.returncode == 0, p.stdout


def need_nvtx():
    """Skips the test where NVTX's headers were missing, without which no program of ours has ranges."""
    if not (BUILD / 'tests/e2e/nvtx_ranges').exists():
        pytest.skip('NVTX headers are not there (scripts/setup --test fetches them): programs with ranges were not built')


def need(tool, why):
    """Skips the test, saying why, where a program it needs is not there."""
    path = shutil.which(tool)
    if not path:
        pytest.skip(f'{tool} is not installed: {why}')
    return path


def reader(name):
    """The path of a program that reads exports; the test is skipped where there is none."""
    fetched = READERS / 'bin' / name
    path = fetched if fetched.exists() else shutil.which(name)
    if not path:
        pytest.skip(f'no {name} here (scripts/setup --test fetches it)')
    return path


def python_reader(*args, timeout=120, more_env=None, **more):
    """Runs Python with what scripts/setup_readers.txt has: HTA, nsys-ai. Skipped where they are not there."""
    if not (READERS / 'python/.have').exists():
        pytest.skip('no readers of exports in build/deps/readers (scripts/setup --test fetches them)')
    env = {**os.environ, 'PYTHONPATH': str(READERS / 'python'), 'PYTHONDONTWRITEBYTECODE': '1', **(more_env or {})}
    python = '/usr/bin/python3' if os.access('/usr/bin/python3', os.X_OK) else 'python3'
    return subprocess.run([python, *map(str, args)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, universal_newlines=True, **more)


# ---- temporary folders: nothing stays of a run but what belongs to a test that failed ----

class Folders:
    """The run's own folder: `tests` has the folders of tests and fixtures, `other` is TMPDIR to all that tests start."""
    base = None    # of the process that made it; a worker's are inside
    tests = None   # of this process
    kept = set()
    failed = set() # modules with a test that failed


def remove(folder):
    """Also where a test took rights away. What a program is still writing there goes with the whole, at the end."""
    subprocess.run(['chmod', '-R', 'u+rwX', folder], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True) # before pytest takes the option
def pytest_configure(config):
    config.addinivalue_line('markers', 'slow: not for `make check-quick`')
    if hasattr(config, 'workerinput'):
        if config.workerinput['own folders']:
            Folders.tests = pathlib.Path(config.option.basetemp)
    elif config.option.basetemp is None:
        Folders.base = pathlib.Path(tempfile.mkdtemp(prefix='cudaspy-tests-'))
        Folders.tests = Folders.base / 'tests'
        config.option.basetemp = str(Folders.tests)
        (Folders.base / 'other').mkdir()
        os.environ['TMPDIR'] = tempfile.tempdir = str(Folders.base / 'other')


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True
        Folders.failed.add(getattr(item, 'module', None))


@pytest.fixture
def tmp_path(request, tmp_path):
    yield tmp_path
    if not getattr(request.node, 'failed', False):
        remove(tmp_path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """With its last test those folders of a module go that its tests shared."""
    yield
    module = getattr(item, 'module', None)
    if Folders.tests and module is not getattr(nextitem, 'module', None) and Folders.tests.exists():
        here = {f for f in Folders.tests.iterdir() if not f.is_symlink()}
        if module in Folders.failed:
            Folders.kept |= here
        for folder in here - Folders.kept:
            remove(folder)


def pytest_sessionfinish(session):
    if hasattr(session.config, 'workeroutput'):
        session.config.workeroutput['kept'] = sorted(map(str, Folders.kept))


def pytest_terminal_summary(terminalreporter):
    if Folders.kept:
        terminalreporter.write_line('kept of tests that failed: ' + ' '.join(sorted(map(str, Folders.kept))))


def pytest_unconfigure(config):
    if Folders.base:
        remove(Folders.base / 'other' if Folders.kept else Folders.base)
    say_how_many(config)


def say_how_many(config):
    """The last line: what failed to be set up or taken down has failed."""
    reporter = config.pluginmanager.get_plugin('terminalreporter')
    if reporter and not config.option.collectonly:
        count = {name: len(reporter.stats.get(name, ())) for name in ('passed', 'failed', 'error', 'skipped')}
        reporter.write_line(f'{count["passed"]} passed, {count["failed"] + count["error"]} failed, {count["skipped"]} skipped')


# ---- tests beside one another, by pytest-xdist where it is there (make check) ----

# A piece is what one process does in a row. Of these modules each test is one, of the others all together: they share what
# ran once for them.
APART = {'test_harm', 'test_sampling', 'test_kill', 'test_stress', 'test_damage', 'test_sites_frames'}
# Pieces that take long are begun first, in this order.
LONG = ['test_fuzz', 'test_report_damage', 'test_damage', 'test_aarch64', 'test_acceptance_simulated', 'test_readme', 'test_lookup',
        'test_harm', 'test_verdict_truncated', 'test_verdicts', 'test_counts', 'test_lifecycle', 'test_cupti', 'test_options',
        'test_report_rules', 'test_environment', 'test_check.py', 'test_stress', 'test_sites_frames', 'test_report_screen', 'test_html',
        'test_sampling', 'test_whole_steps', 'test_calibrate', 'test_drawn', 'test_timeline']
# What `make check-quick` does without: other builds, campaigns, browsers, and programs that others look at too.
SLOW = re.compile('tests/(bench|fuzz|gpu|stress)/|test_aarch64|test_acceptance_simulated|test_readme|test_harm|test_kill|test_verdict|'
                  'test_sanitized|test_the_same_counts_and_output|clang|unoptimized|test_counts|test_report_damage|test_lookup|'
                  'test_lifecycle|test_options|test_every_sample|test_drawn|test_whole_steps|test_calibrate|test_times_divide|'
                  'test_drain_cut|test_estimates_are|test_memory_does_not_grow|test_daemons_of_an_interpreter|test_lint|test_layers|'
                  'test_html|test_sampling|test_sites_(frames|hostile|native|stacks)')


def piece_of(nodeid):
    module, _, test = nodeid.partition('::')
    name = pathlib.PurePath(module).stem
    program = re.match(r'test_\w+\[(test_\w+)', test)
    if name == 'test_units' and program: # runs once for all its tests
        return f'{module} {program[1]}'
    return nodeid if name in APART else module


def place(piece):
    return next((i for i, name in enumerate(LONG) if name in piece), len(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return piece_of(nodeid)

        def _assign_work_unit(self, node):
            self.workqueue.move_to_end(min(self.workqueue, key=place), last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput['own folders'] = Folders.base is not None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    Folders.kept |= {pathlib.Path(f) for f in getattr(node, 'workeroutput', {}).get('kept', ())}


def pytest_collection_modifyitems(items):
    for item in items:
        if SLOW.search(item.nodeid):
            item.add_marker('slow')
