# SPDX-License-Identifier: Apache-2.0
"""CUDASPY_GPU=cupti: every piece of GPU work with its true times and the call that gave it, or one line and `sample`.

Runs against a made-up libcupti (tests/sim/fake_cupti.c) that records what the simulated GPU does, in NVIDIA's layouts of
the version asked for, and aborts the program where CUPTI's rules are broken: a call in a forked child, from a callback,
a refused buffer before 12.9, kinds ahead of callbacks, the kind that makes kernels wait for each other.
"""
import collections
import ctypes
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import BUILD, ROOT, SIM, environment

pytestmark = pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')

SAMPLE, CUPTI = 1, 2
KERNEL, GRAPH, COPY, SET = 1, 2, 3, 4
CHAINED = {'SIM_GRAPH_GAP_NS': 0}  # a launch of a graph takes what its nodes do
CLOSING = r'cudaspy: \S+: \d+ calls, 0 records lost; .*\n'
VERSIONS = {'cupti11': [13, 14, 15, 17, 18], 'cupti12': [19, 20, 26, 27, 28], 'cupti13': [130001, 130300]}


class Work:
    """What a recording holds of CUPTI's records."""

    def __init__(self, recording):
        text = subprocess.run([BUILD / 'tests/e2e/activities', recording], stdout=subprocess.PIPE, check=True).stdout
        data = json.loads(text)
        self.mode, self.partial, self.trouble = data['mode'], data['partial'], data['trouble']
        self.all = data['work']
        self.calls = {c['cause']: c for c in data['calls']}

    def kernels(self):
        """{name: (count, ns)}"""
        out = collections.defaultdict(lambda: [0, 0])
        for w in self.all:
            if w['kind'] == KERNEL:
                out[w['kernel']][0] += 1
                out[w['kernel']][1] += w['end'] - w['start']
        return {name: tuple(v) for name, v in out.items()}

    def count(self, kind):
        return sum(w['kind'] == kind for w in self.all)

    def sum(self, kind):
        return sum(w['end'] - w['start'] for w in self.all if w['kind'] == kind)

    def causes(self):
        """{name of the call: pieces of work}"""
        return collections.Counter(self.calls[w['cause']]['call'] if w['cause'] else None for w in self.all)


def libraries(*folders):
    return ':'.join(map(str, (SIM, *(SIM / f for f in folders))))


def split(log):
    return [tuple(line.split()) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def spy(run, tmp_path):
    """spy('vector_add', 20, FAKE_CUPTI_DROP=3): the run, its recording's work, the made-up CUPTI's log."""

    def go(program, *args, folder='cupti13', gpu='cupti', **variables):
        variables.setdefault('LD_LIBRARY_PATH', libraries(folder))
        r = run(program, *args, CUDASPY_GPU=gpu, FAKE_CUPTI_LOG=tmp_path / 'log', **variables)
        r.log = split(tmp_path / 'log')
        return r

    return go


def e2e(name):
    return f'tests/e2e/{name}'


def near(ns, pieces):
    """A sum over so many pieces: the clocks agree to some nanoseconds a piece."""
    return pytest.approx(ns, rel=1e-3, abs=20 + 5 * pieces)


def check_complete(r):
    """Every piece of work of the truth, with its time, at its time; of graphs their launches, or their nodes."""
    work, truth = Work(r.recording), r.truth
    assert work.mode == CUPTI and not work.partial
    assert not work.trouble['CUPTI_INVALID'] and not work.trouble['CUPTI_DROPPED']
    seen = work.kernels()
    nodes = not work.count(GRAPH)
    for k in truth['kernels']:
        count = k['launches'] + nodes * k['graph_launches']
        if not count:
            continue
        assert seen.pop(k['name'])[0] == count
        assert work.kernels()[k['name']][1] == near(k['gpu_ns'] + nodes * k['graph_gpu_ns'], count)
    assert not seen
    device = truth['devices'][0]
    if nodes:
        for kind, key in ((KERNEL, 'kernel_ns'), (COPY, 'copy_ns'), (SET, 'set_ns')):
            assert work.sum(kind) == near(device[key], len(work.all))
    else:
        assert work.count(GRAPH) == truth['totals']['graph_launches']
        assert sum(work.sum(kind) for kind in (KERNEL, GRAPH, COPY, SET)) == \
            near(sum(device[key] for key in ('kernel_ns', 'copy_ns', 'set_ns')), len(work.all))
    assert min(w['start'] for w in work.all) == pytest.approx(device['first_start_ns'], abs=20000)
    assert max(w['end'] for w in work.all) == pytest.approx(device['last_end_ns'], abs=20000)
    return work


def check_causes(work):
    """Each piece was given by a call that stands in the recording and began before it."""
    for w in work.all:
        assert w['cause'], w
        assert work.calls[w['cause']]['start'] <= w['start'] + 2000


# ---- as it should be -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('program', ['samples/sim/vector_add', 'samples/sim-static/vector_add', 'samples/sim/graph_replay',
                                     'samples/sim/streams', 'samples/sim/threads', 'samples/sim/pageable_copies',
                                     'samples/sim-ptsz/threads', 'samples/sim12/threads', 'samples/sim/driver_api'])
def test_all_work_is_there(spy, program):
    r = spy(program, 20, **CHAINED)
    assert r.status == 0 and re.fullmatch(CLOSING, r.err), r.err
    check_causes(check_complete(r))


def test_what_gave_the_work(spy):
    work = check_complete(spy('graph_replay', 30, **CHAINED))
    assert work.causes() == {'cudaGraphLaunch': 30, 'cudaMemset': 2, 'cudaMemcpy': 1}
    assert {work.calls[w['cause']]['call'] for w in work.all if w['kind'] == GRAPH} == {'cudaGraphLaunch'}
    assert not any(w['node'] for w in work.all)
    assert [w['bytes'] for w in work.all if w['kind'] == COPY] == [4]


def test_nodes_of_graphs_before_11_7(spy):
    """That CUPTI knows no record of a graph's launch."""
    r = spy('graph_replay', 30, FAKE_CUPTI_VERSION=15)
    work = check_complete(r)
    assert work.causes() == {'cudaGraphLaunch': 30 * 6, 'cudaMemset': 2, 'cudaMemcpy': 1}
    in_graph = [w for w in work.all if w['node']]
    assert len(in_graph) == 30 * 6
    assert {work.calls[w['cause']]['call'] for w in in_graph} == {'cudaGraphLaunch'}
    assert [w['bytes'] for w in work.all if w['kind'] == COPY and not w['node']] == [4]
    assert r.report['graphs'][0]['gpu_mean_ns'] > 0


def test_threads_are_told_apart(spy):
    """Each thread gave its own work, however they came in between each other."""
    work = check_complete(spy('threads', 200))
    mine = collections.Counter(w['cause'] >> 48 for w in work.all if w['kind'] == KERNEL)
    calls = collections.Counter(c['thread'] for c in work.calls.values() if 'LaunchKernel' in c['call'])
    assert len(mine) == 4 and mine == calls
    once = collections.Counter(w['cause'] for w in work.all if w['kind'] == KERNEL)
    assert set(once.values()) == {1}


@pytest.mark.parametrize('folder, version', [(f, v) for f in VERSIONS for v in VERSIONS[f]])
def test_versions(spy, folder, version):
    driver = {'cupti11': 11080, 'cupti12': 12040, 'cupti13': 13000}[folder]
    program = {'cupti11': 'samples/sim11/threads', 'cupti12': 'samples/sim12/threads', 'cupti13': 'graph_replay'}[folder]
    r = spy(program, 5, folder=folder, FAKE_CUPTI_VERSION=version, SIM_DRIVER_VERSION=driver, **CHAINED)
    check_causes(check_complete(r))
    assert ('subscribe', str(version)) in r.log


def test_the_rules_of_setting_up(spy):
    r = spy('vector_add', 5)
    names = [what for what, _ in r.log]
    assert names.index('subscribe') < names.index('attribute') < names.index('register') < names.index('enable')
    kinds = {int(kind) for what, kind in r.log if what == 'enable'}
    assert kinds == {1, 2, 10, 22, 51}
    assert {int(id) for what, id in r.log if what == 'callback'} == {2, 3, 4, 5}  # calls that give work, no others
    assert {int(a) for what, a in r.log if what == 'attribute'} >= {0, 2}  # device memory is bounded
    assert r.log[-1] == ('flush', '1') and 'finalize' not in names


# ---- when records come -----------------------------------------------------------------------------------------------

# No records of graphs; with them, handing over by itself; with them, and no way to hand over by itself.
ASKED, BY_ITSELF, AT_THE_END = ('cupti11', 15), ('cupti13', 130001), ('cupti11.0', 17)
OLDEST = ('cupti11.0', 13) # no records of graphs, no way to hand over by itself


def with_cupti(which):
    return {'LD_LIBRARY_PATH': libraries(which[0]), 'FAKE_CUPTI_VERSION': which[1],
            'SIM_DRIVER_VERSION': 13000 if which is BY_ITSELF else 11080}


def requests(log):
    return [int(flags) for what, flags in log if what == 'flush']


@pytest.fixture
def steps(compile_c):
    """`steps N`: N launches and a wait for each; then it says so and waits for a line, or to be killed."""
    return compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv)
        {
            work_start();
            for (int i = 0; i < atoi(argv[1]); i++) {
                work_launches(1);
                CHECK(cuCtxSynchronize());
            }
            puts("done");
            fflush(stdout);
            getchar();
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')


@pytest.mark.parametrize('which', [ASKED, BY_ITSELF, AT_THE_END, OLDEST])
def test_a_long_run(spy, steps, which):
    """Where graphs are recorded CUPTI is asked for nothing before the end: real ones make graph launches fail."""
    r = spy(steps, 2000, SIM_SYNC_NS=500000, **with_cupti(which))
    work = check_complete(r)
    kernels = sorted((w for w in work.all if w['kind'] == KERNEL), key=lambda w: w['start'])
    causes = [w['cause'] for w in kernels]
    assert len(set(causes)) == len(causes) == 2000 and causes == sorted(causes)
    if which in (ASKED, OLDEST):
        *before, last = requests(r.log)
        assert before and not any(before) and last == 1
    else:
        assert requests(r.log) == [1]
    assert [int(ms) for what, ms in r.log if what == 'period'] == ([100] if which is BY_ITSELF else [])


@pytest.mark.parametrize('which, least, most', [(ASKED, 1000, 1000), (BY_ITSELF, 800, 999), (AT_THE_END, 0, 0)])
def test_records_while_the_program_runs(tmp_path, steps, which, least, most):
    """What CUPTI hands over by itself are full buffers: the last one of each thread goes with a program that is killed."""
    out, log = tmp_path / 'x.cudaspy', tmp_path / 'log'
    env = environment(tmp_path, CUDASPY_GPU='cupti', CUDASPY_OUT=out, FAKE_CUPTI_LOG=log, **with_cupti(which))
    for kill in (False, True):
        process = subprocess.Popen([steps, '1000'], env=env, cwd=tmp_path, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b'done\n'
            deadline = time.monotonic() + 60
            while exact(out) < least and time.monotonic() < deadline:
                time.sleep(0.05)
            if kill:
                process.kill()
            else:
                process.communicate(b'\n', timeout=60)
        finally:
            process.kill()
            process.wait()
        seen = len(Work(out).all)
        assert least <= seen <= most if kill else seen == 1000
        if which is not ASKED:
            assert requests(split(log)) == ([] if kill else [1])
        out.unlink()
        log.unlink()


def exact(recording):
    """Pieces of work in a recording that is being written."""
    try:
        return len(Work(recording).all)
    except (subprocess.CalledProcessError, ValueError):
        return 0


def test_calls_that_are_never_told(spy):
    """The times are there all the same; which call it was is unknown."""
    work = check_complete(spy('vector_add', 10, FAKE_CUPTI_NO_CALLS=1))
    assert {w['cause'] for w in work.all} == {0}


def test_range(spy, compile_c):
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        #include <cudaProfiler.h>
        int main(void)
        {
            work_start();
            work_launches(10);
            CHECK(cuCtxSynchronize());
            CHECK(cuProfilerStart());
            work_launches(20);
            CHECK(cuCtxSynchronize());
            CHECK(cuProfilerStop());
            work_launches(30);
            CHECK(cuCtxSynchronize());
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    for untold in (0, 1):
        r = spy(program, CUDASPY_RANGE='profiler', FAKE_CUPTI_NO_CALLS=untold, CUDASPY_OUT=f'range{untold}.cudaspy')
        assert r.status == 0
        assert len(Work(r.folder / f'range{untold}.cudaspy').all) == 20


# ---- which library ---------------------------------------------------------------------------------------------------

def used(r):
    return [int(version) for what, version in r.log if what == 'subscribe']


def newest():
    """What cupti13's says: the version of the toolkit's headers."""
    version = ctypes.c_uint32()
    ctypes.CDLL(str(SIM / 'cupti13/libcupti.so.13')).cuptiGetVersion(ctypes.byref(version))
    return version.value


def test_the_library_goes_by_the_driver(spy):
    for driver, version in ((13000, newest()), (12040, 20), (11080, 18), (14000, newest())):
        r = spy(e2e('endings'), 'exit', LD_LIBRARY_PATH=libraries('cupti11', 'cupti12', 'cupti13'),
                SIM_DRIVER_VERSION=driver, CUDASPY_OUT=f'{driver}.cudaspy')
        assert used(r)[-1] == version
        assert Work(r.folder / f'{driver}.cudaspy').mode == CUPTI


def test_an_older_library_serves_a_newer_driver(spy):
    r = spy('vector_add', 3, folder='cupti12', CUDA_HOME='/nowhere')
    if used(r): # a toolkit of this machine may come first; without a GPU it only refuses
        check_complete(r)


def test_the_loaded_library_comes_first(spy, compile_c):
    program = compile_c('#include "tests/e2e/programs/work.h"\nint main(void) { work_start(); work_launches(5);'
                        ' return cuCtxSynchronize(); }', f'-I{ROOT}', '-Wl,--no-as-needed', '-l:libcuda.so.1',
                        f'-L{SIM}/cupti12', '-l:libcupti.so.12')
    r = spy(program, LD_LIBRARY_PATH=libraries('cupti12', 'cupti13'))
    assert r.status == 0 and used(r) == [20]
    check_complete(r)


@pytest.mark.parametrize('where', ['extras/CUPTI/lib64', 'lib64', 'lib'])
def test_a_toolkit(spy, tmp_path, where):
    known = subprocess.run(['ldconfig', '-p'], stdout=subprocess.PIPE, universal_newlines=True).stdout
    if 'libcupti.so.12' in known:
        pytest.skip('the loader knows a libcupti.so.12 of its own')
    place(tmp_path / 'toolkit' / where, 'cupti12/libcupti.so.12')
    r = spy('driver_api', 1, LD_LIBRARY_PATH=libraries(), CUDA_HOME=tmp_path / 'toolkit', SIM_DRIVER_VERSION=12040)
    check_complete(r)


@pytest.mark.parametrize('runtime, cupti', [('nvidia/cuda_runtime/lib', 'nvidia/cuda_cupti/lib'), ('cu13/lib', 'cu13/lib'),
                                            ('cuda/lib64', 'cuda/extras/CUPTI/lib64'),
                                            ('cuda/targets/x/lib', 'cuda/extras/CUPTI/lib64')])
def test_beside_the_runtime(spy, tmp_path, runtime, cupti):
    """Python's wheels and toolkits that nobody told the loader of."""
    (tmp_path / runtime).mkdir(parents=True)
    os.symlink(SIM / 'libcudart.so.13', tmp_path / runtime / 'libcudart.so.13')
    place(tmp_path / cupti)
    r = spy('vector_add', 3, LD_LIBRARY_PATH=f'{tmp_path}/{runtime}:{SIM}')
    check_complete(r)


def place(folder, library='cupti13/libcupti.so.13'):
    folder.mkdir(parents=True, exist_ok=True)
    os.symlink(SIM / library, folder / (SIM / library).name)


# ---- not to be had ---------------------------------------------------------------------------------------------------

def check_sample(r, why):
    """One line, and the run goes on in the default mode."""
    assert r.status == 0
    assert re.fullmatch(rf'cudaspy: CUDASPY_GPU=cupti: {why}; using sample\n' + CLOSING, r.err), r.err
    work = Work(r.recording)
    assert work.mode == SAMPLE and not work.all and not work.partial


def test_no_library(spy):
    # A toolkit of this machine has one that finds no GPU.
    check_sample(spy('vector_add', 3, LD_LIBRARY_PATH=libraries()), r'(no libcupti was found|CUPTI does not start .*)')


def test_another_subscriber(spy):
    r = spy('vector_add', 3, FAKE_CUPTI_REFUSE=39)
    check_sample(r, r'another CUDA tool uses CUPTI \(error 39\)')
    assert [what for what, _ in r.log] == ['subscribe']


def test_cupti_does_not_start(spy):
    check_sample(spy('vector_add', 3, FAKE_CUPTI_REFUSE=15), r'CUPTI does not start \(error 15\)')


def test_calls_that_cupti_refuses_to_tell(spy):
    r = spy('vector_add', 3, FAKE_CUPTI_REFUSE_CALLS=35)
    check_sample(r, r'CUPTI refuses to record \(error 35\)')
    assert ('unsubscribe', '0') in r.log


def test_nothing_is_held_where_nothing_is_recorded(spy, tmp_path):
    (tmp_path / 'file').write_text('')
    r = spy('vector_add', 3, CUDASPY_OUT=tmp_path / 'file' / 'out.cudaspy')
    assert r.status == 0 and not r.recordings
    kinds = [int(kind) for what, kind in r.log if what == 'enable']
    assert kinds and sorted(kinds) == sorted(int(kind) for what, kind in r.log if what == 'disable')
    assert r.log[-1] == ('unsubscribe', '0')


@pytest.mark.parametrize('variable', ['CUDA_INJECTION64_PATH', 'NSYS_PROFILING_SESSION_ID'])
def test_under_another_tool_it_is_not_even_tried(spy, variable):
    r = spy('vector_add', 3, **{variable: 'x'})
    check_sample(r, 'another CUDA tool is attached')
    assert not r.log


def test_a_library_too_old(spy):
    check_sample(spy('vector_add', 3, FAKE_CUPTI_VERSION=12), 'this libcupti is older than CUDA 11')


@pytest.mark.parametrize('gpu', ['sample', 'off'])
def test_other_modes_leave_cupti_alone(spy, gpu):
    r = spy('vector_add', 3, gpu=gpu)
    assert r.status == 0 and not r.log
    assert not Work(r.recording).all


def test_without_cuda_nothing_is_said(spy):
    """cuInit fails, as on a machine without a GPU."""
    r = spy('vector_add', 3, LD_LIBRARY_PATH=libraries(), SIM_FAIL='cuInit:100')
    assert r.status != 0 and 'cudaspy' not in r.err and not r.recordings


# ---- records that are no good ----------------------------------------------------------------------------------------

def test_invalid_records_are_counted(spy):
    work = Work(spy('vector_add', 50, FAKE_CUPTI_INVALID=10).recording)
    assert (len(work.all), work.trouble['CUPTI_INVALID']) == (180, 20)
    check_causes(work)


def test_dropped_records_are_counted(spy):
    work = Work(spy('vector_add', 50, FAKE_CUPTI_DROP=8).recording)
    assert (len(work.all), work.trouble['CUPTI_DROPPED']) == (175, 25)
    check_causes(work)


@pytest.mark.parametrize('version, all_there', [(130001, False), (26, True)])
def test_all_buffers_are_with_cupti(spy, version, all_there):
    """A buffer is refused only to a CUPTI that can bear it; what is lost is counted."""
    launches = 6000
    r = spy('many_tiny_launches', launches, FAKE_CUPTI_HOLD=1, FAKE_CUPTI_VERSION=version)
    work = Work(r.recording)
    assert r.status == 0, r.err
    # Records of work, of calls and of ids: all need a place.
    if all_there:
        assert not work.trouble['CUPTI_DROPPED'] and sum(n for n, _ in work.kernels().values()) == launches
    else:
        assert work.trouble['CUPTI_DROPPED'] and 1000 < len(work.all) < launches


# ---- others ----------------------------------------------------------------------------------------------------------

PROFILER = '#include <stdbool.h>\n#include "tests/e2e/programs/profiler.c"'


@pytest.fixture
def profiler(compile_c):
    def build(how):
        cupti = [f'-L{SIM}/cupti13', '-l:libcupti.so.13']
        if how == 'linked':
            return compile_c(PROFILER, f'-I{ROOT}', '-l:libcuda.so.1', *cupti, '-ldl'), {}
        program = compile_c(PROFILER, f'-I{ROOT}', '-DHANDLE_ONLY', '-l:libcuda.so.1', '-ldl')
        if how != 'plugin':
            return program, {}
        plugin = compile_c(PROFILER, f'-I{ROOT}', '-DPLUGIN', *cupti, shared=True, name='plugin')
        return program, {'PLUGIN': plugin}
    return build


@pytest.mark.parametrize('how', ['linked', 'handle', 'early', 'plugin'])
@pytest.mark.parametrize('pause_ms', [0, 300])
def test_the_program_keeps_its_profiler(spy, profiler, how, pause_ms):
    program, variables = profiler(how)
    r = spy(program, how, pause_ms, **variables)
    assert r.status == 0, r.out
    assert r.out == '50 kernels, 0 foreign buffers\n'
    assert re.fullmatch(r'cudaspy: the program calls cuptiSubscribe: exact GPU times end here\n' + CLOSING, r.err), r.err
    work = Work(r.recording)
    assert work.mode == CUPTI and len(work.all) == 100
    check_causes(work)
    assert all(w['end'] <= work.partial for w in work.all)
    launches = sorted(c['start'] for c in work.calls.values() if c['call'] == 'cuLaunchKernel')
    assert launches[99] < work.partial < launches[100]


@pytest.mark.parametrize('how', ['linked', 'handle', 'early', 'plugin'])
@pytest.mark.parametrize('gpu', ['sample', 'off'])
def test_a_profiler_is_not_seen_in_other_modes(spy, profiler, how, gpu):
    program, variables = profiler(how)
    r = spy(program, how, gpu=gpu, **variables)
    assert (r.status, r.out) == (0, '50 kernels, 0 foreign buffers\n')
    assert re.fullmatch(CLOSING, r.err)


# ---- children and ends -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('how', ['fork', '_exit', 'quiet', 'grandchild', 'clone', 'load'])
def test_no_call_in_a_forked_child(spy, how):
    """The made-up CUPTI aborts a child that calls it."""
    r = spy(e2e('forks'), how)
    assert r.status == 0 and 'fake CUPTI' not in r.err, r.err
    modes = collections.Counter(Work(f).mode for f in r.recordings)
    assert modes[CUPTI] == 1


@pytest.mark.parametrize('how', ['exec', 'spawn'])
def test_a_child_of_its_own_has_cupti(spy, how):
    r = spy(e2e('forks'), how)
    assert r.status == 0
    assert {Work(f).mode for f in r.recordings} == {CUPTI}


@pytest.mark.parametrize('how, status', [('return', 7), ('exit', 7), ('_exit', 7), ('abort', -signal.SIGABRT),
                                         ('kill', -signal.SIGKILL)])
def test_ends(spy, how, status):
    """Handlers that run fetch the last records; without them those of the last moments are missing."""
    r = spy(e2e('endings'), how)
    assert r.status == status
    work = Work(r.recording)
    done = len(work.all) + work.trouble['CUPTI_INVALID']
    assert done == 100 if how in ('return', 'exit') else done <= 100
    check_causes(work)
    assert ('flush', '1') in r.log or how not in ('return', 'exit')


@pytest.mark.parametrize('how', ['exit', '_exit'])
def test_ends_with_threads_inside_cuda(spy, how):
    r = spy(e2e('endings'), how, 4)
    assert r.status == 7
    assert all(w['cause'] for w in Work(r.recording).all)
